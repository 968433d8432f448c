// SPDX-License-Identifier: GPL-2.0
// Starts the probe program's load, and ends it by the end of its standard input.
#include "gpulens/measure/neighbour.hpp"

#include "gpulens/measure/probe.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/base/signals.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace tool::measure {

using std::chrono::steady_clock;

namespace {

constexpr unsigned START_S = 120, STOP_S = 30; // CUDA's initialization, and the kernels that were launched
constexpr size_t MAX_TEXT = 65536;
const std::string READY = "ready", LAUNCHES = "launches", END = "end";

struct Pipe {
	int ends[2] = {-1, -1};

	Pipe()
	{
		if (pipe2(ends, O_CLOEXEC))
			throw Error(Error::Source, fmt::format("no pipe: {}", std::strerror(errno)));
	}
};

} // namespace

const std::vector<NeighbourKind> NEIGHBOURS = {
	{"compute", "matrix products without end"},
	{"memory", "copies from memory to memory, beyond the L2 cache, by kernels"},
	{"copies", "copies between the CPU's memory and the GPU's, in both directions, by copy engines"},
};

Neighbour::Neighbour(const std::string &probe, const gpulens::VerifiedLimit *limit, const std::string &kind)
{
	Pipe in, out;

	input_ = in.ends[1];
	output_ = out.ends[0];
	program_ = std::make_unique<LimitedProgram>(std::vector<std::string>{probe, "load", "0", kind}, limit,
						    in.ends[0], out.ends[1]);
	close(in.ends[0]);
	close(out.ends[1]);
	if (!read_until(READY, START_S).empty())
		return;
	std::optional<int> status = program_->poll();
	stop();
	throw Error(Error::Failed,
		    fmt::format("{} load {}: {}", probe, kind,
				status ? end_text(*status) : fmt::format("not ready within {} s", START_S)));
}

Neighbour::~Neighbour()
{
	stop();
}

std::string Neighbour::read_until(const std::string &word, unsigned timeout_s)
{
	steady_clock::time_point end = steady_clock::now() + std::chrono::seconds(timeout_s);
	char piece[4096];

	for (;;) {
		for (size_t newline; (newline = text_.find('\n')) != text_.npos;) {
			std::string line = text_.substr(0, newline);
			text_.erase(0, newline + 1);
			if (line.compare(0, word.size(), word) == 0)
				return line;
		}
		auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now()).count();
		pollfd readable{output_, POLLIN, 0};
		if (left <= 0 || text_.size() > MAX_TEXT || ::poll(&readable, 1, static_cast<int>(left)) <= 0)
			return "";
		ssize_t got = read(output_, piece, sizeof(piece));
		if (got <= 0) {
			program_->wait(); // so that its status is known
			return "";
		}
		text_.append(piece, static_cast<size_t>(got));
	}
}

std::optional<unsigned long> Neighbour::stop()
{
	std::optional<unsigned long> launches;

	if (input_ < 0)
		return launches;
	close(input_);
	input_ = -1;
	std::string line = read_until(LAUNCHES, STOP_S);
	if (!line.empty())
		launches = std::strtoul(line.c_str() + LAUNCHES.size(), nullptr, 10);
	if (launches)
		read_until(END, STOP_S); // a pipe that is closed earlier ends the program by SIGPIPE
	close(output_);
	program_->stop();
	return launches;
}

int neighbour_command(const Options &options, const NeighbourOptions &neighbour_options)
{
	std::optional<gpulens::VerifiedLimit> limit;
	StopSignals signals;

	std::string path = probe_path_of(neighbour_options.probe);
	require_preloadable({path});
	if (const std::optional<Limit> &wanted = neighbour_options.limit) {
		limit = gpulens::verify_limit(named_gpu(options), wanted->tpcs);
		if (wanted->planned)
			check_plan(*wanted->planned, *limit);
	} else if (std::optional<unsigned> gpu = named_gpu(options))
		limit = gpulens::whole_gpu(*gpu);
	Neighbour neighbour(path, limit ? &*limit : nullptr, neighbour_options.kind);
	fmt::print(stderr, "gpulens: {} neighbour runs on {}\n", neighbour_options.kind,
		   !limit          ? "the whole GPU"
		   : limit->masked ? fmt::format("TPCs {} of {}", format_ranges(limit->tpcs), limit->pci)
				   : "the whole GPU " + limit->pci);
	steady_clock::time_point begin = steady_clock::now();
	steady_clock::time_point end = begin + std::chrono::nanoseconds(neighbour_options.for_ns);
	while (neighbour.is_running() && !signals.came() && (!neighbour_options.for_ns || steady_clock::now() < end))
		signals.wait_until(steady_clock::now() + std::chrono::milliseconds(20));
	bool ended = !neighbour.is_running();
	double seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
	std::optional<unsigned long> launches = neighbour.stop();
	if (ended && !signals.came())
		throw Error(Error::Failed, fmt::format("{} load {}: it ended by itself", path, neighbour_options.kind));
	if (options.json)
		return print_text(json_text({{"version", 1},
					     {"command", "neighbour"},
					     {"kind", neighbour_options.kind},
					     {"seconds", seconds},
					     {"launches", launches ? nlohmann::ordered_json(*launches)
								   : nlohmann::ordered_json(nullptr)}}))
			       ? EXIT_DONE
			       : EXIT_PART;
	return print_text(fmt::format("{}: {} in {:.1f} s\n", neighbour_options.kind,
				      launches ? fmt::format("{} launches", *launches) : "number of launches unknown",
				      seconds))
		       ? EXIT_DONE
		       : EXIT_PART;
}

} // namespace tool::measure
