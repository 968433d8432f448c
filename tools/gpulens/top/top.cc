// SPDX-License-Identifier: GPL-2.0
// See top.hpp. Text again and again; what is on a terminal is top_screen.cc.
#include "gpulens/top/top.hpp"

#include "gpulens/cmd/signals.hpp"
#include "gpulens/top/feed.hpp"
#include "gpulens/top/screen.hpp"
#include "lib/source/module/proc.hpp"

#include <chrono>
#include <cstdio>
#include <thread>
#include <unistd.h>

namespace tool {

namespace {

int batch(const Options &options, const TopOptions &how, unsigned index)
{
	using clock = std::chrono::steady_clock;
	StopSignals stop;
	TopFeed feed(options.sources.proc, index, how);
	bool whole = feed.refresh(); // from here on there are samples

	for (u32 i = 0; i < how.batch && whole; i++) {
		clock::time_point end = clock::now() + std::chrono::nanoseconds(how.delay_ns);
		while (!stop.came() && clock::now() < end) {
			feed.drain();
			std::this_thread::sleep_for(
				std::min<clock::duration>(std::chrono::milliseconds(20), end - clock::now()));
		}
		if (stop.came())
			return EXIT_DONE;
		whole = feed.refresh();
		std::string text = top_batch_text(feed.picture(), {}, how.delay_ns, feed.no_samples());
		if (whole && !(print(i ? "\n" : "") && print(text)))
			return EXIT_PART;
	}
	if (!whole)
		std::fprintf(stderr, "gpulens: %s\n", feed.trouble().c_str());
	return whole ? EXIT_DONE : EXIT_PART;
}

} // namespace

int top(const Options &options, const TopOptions &how)
{
	if (!options.sources.files.empty()) {
		std::fprintf(stderr, "gpulens: a recorded GPU does not move: top shows /proc/gpuX only\n");
		return EXIT_USAGE;
	}
	if (options.sources.source && !options.sources.source->make(options.sources)->samples_for_days()) {
		std::fprintf(stderr,
			     "gpulens: top shows what the module samples; through NVIDIA's driver there is gpulens "
			     "--source rm record\n");
		return EXIT_USAGE;
	}
	if (!how.batch && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))) {
		std::fprintf(stderr, "gpulens: top wants a terminal; --batch N prints N screens as text\n");
		return EXIT_USAGE;
	}
	std::vector<unsigned> there = proc_gpus(options.sources.proc);
	unsigned first = options.sources.gpus.empty() ? there[0] : options.sources.gpus[0];
	// Here, while there is an ordinary terminal to say it on.
	load_live(options.sources.proc, first);
	return how.batch ? batch(options, how, first) : top_screen(options, how, first);
}

} // namespace tool
