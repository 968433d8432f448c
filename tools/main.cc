// SPDX-License-Identifier: GPL-2.0
// gpulens: arguments in, output and exit status out. What is printed is in commands.cc and json.cc.
#include "commands.hpp"

#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

enum Exit { EXIT_OK, EXIT_UNDECODED, EXIT_USAGE, EXIT_FILE };

const char USAGE[] = "usage: gpulens --image FILE COMMAND [--json]\n";

const char HELP[] =
	"Shows how an NVIDIA GPU schedules work, from a recording of it.\n"
	"\n"
	"  --image FILE  what /proc/gpuX/image printed on the machine with the GPU; - is standard input\n"
	"  --json        one JSON object instead of text; its keys are stable within \"version\": 1\n"
	"  --help        this text\n"
	"\n"
	"Commands, and the file of /proc/gpuX that prints the same:\n"
	"  chip          which chip it is (chip)\n"
	"  engines       its engines and their runlists (device_info)\n"
	"  runlist Y     the TSGs and channels on runlist Y (runlistY)\n"
	"  channels      all channels on all runlists, one line each\n"
	"  copy          which physical copy engines serve which logical one (copy_topology)\n"
	"  gpcs          units of the die, set bits are disabled ones (num_gpcs, gpc_mask, gpcX_tpc_mask, tpc_map)\n"
	"\n"
	"What cannot be decoded is named on standard error with the addresses that were not recorded; the rest is "
	"shown.\n"
	"\n"
	"Exit status: 0 all was decoded, 1 something could not be, 2 wrong usage, 3 the file is not a sound image.\n";

struct Arguments {
	std::string image;
	tool::Command command;
	bool json = false, help = false;
	std::string error;
};

bool parse_id(const std::string &s, u32 &id)
{
	const char *end = s.data() + s.size();
	bool hex = s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	std::from_chars_result r = std::from_chars(s.data() + (hex ? 2 : 0), end, id, hex ? 16 : 10);

	return r.ec == std::errc() && r.ptr == end;
}

Arguments parse_arguments(const std::vector<std::string> &words)
{
	Arguments a;
	std::vector<std::string> rest;

	for (size_t i = 0; i < words.size(); i++) {
		const std::string &w = words[i];
		if (w == "--help" || w == "-h") {
			a.help = true;
			return a;
		}
		if (w == "--json") {
			a.json = true;
		} else if (w == "--image" && i + 1 < words.size()) {
			a.image = words[++i];
		} else if (w.substr(0, 8) == "--image=") {
			a.image = w.substr(8);
		} else if (w.size() > 1 && w[0] == '-') {
			a.error = w == "--image" ? "--image needs a file" : "unknown option " + w;
			return a;
		} else {
			rest.push_back(w);
		}
	}
	if (rest.empty()) {
		a.error = "which command?";
		return a;
	}
	std::optional<tool::What> what = tool::command_by_name(rest[0]);
	size_t want = what == tool::What::Runlist ? 2 : 1;
	if (!what)
		a.error = "unknown command " + rest[0];
	else if (rest.size() < want)
		a.error = "runlist needs the number of one";
	else if (rest.size() > want)
		a.error = "too many arguments: " + rest[want];
	else if (want == 2 && !parse_id(rest[1], a.command.runlist))
		a.error = "not the number of a runlist: " + rest[1];
	else if (a.image.empty())
		a.error = "which file? Say --image FILE";
	a.command.what = what.value_or(tool::What::Chip);
	return a;
}

int run(const Arguments &a)
{
	const std::string name = a.image == "-" ? "standard input" : a.image;
	tool::ImageResult loaded = tool::load_image(a.image == "-" ? "/dev/stdin" : a.image);

	if (!loaded.image) {
		if (loaded.error.line)
			std::fprintf(stderr, "gpulens: %s: line %zu: %s\n", name.c_str(), loaded.error.line,
				     loaded.error.text.c_str());
		else
			std::fprintf(stderr, "gpulens: %s: %s\n", name.c_str(), loaded.error.text.c_str());
		return EXIT_FILE;
	}
	tool::Decoder decoder(*loaded.image);
	tool::Output out = a.json ? tool::json_output(decoder, a.command) : tool::text_output(decoder, a.command);
	bool written = std::fwrite(out.text.data(), 1, out.text.size(), stdout) == out.text.size();
	if (std::fflush(stdout) || !written) {
		std::perror("gpulens: standard output");
		return EXIT_UNDECODED;
	}
	for (const tool::Failure &f : out.failures)
		std::fprintf(stderr, "%s: %s\n", f.item.c_str(), f.why().c_str());
	return out.failures.empty() ? EXIT_OK : EXIT_UNDECODED;
}

} // namespace

int main(int argc, char **argv)
{
	try {
		Arguments a = parse_arguments(std::vector<std::string>(argv + 1, argv + argc));
		if (a.help) {
			std::printf("%s%s", USAGE, HELP);
			return EXIT_OK;
		}
		if (!a.error.empty()) {
			std::fprintf(stderr, "gpulens: %s\n%sgpulens --help says more.\n", a.error.c_str(), USAGE);
			return EXIT_USAGE;
		}
		return run(a);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "gpulens: %s\n", e.what());
		return EXIT_FILE;
	}
}
