// SPDX-License-Identifier: GPL-2.0
// Checks the options, and prints screens as text for --batch. screen.cc has the terminal.
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

int run_batch(const Options &options, const TopOptions &top_options, unsigned index)
{
	using clock = std::chrono::steady_clock;
	StopSignals stop;
	TopFeed feed(options.sources.proc, index, top_options);
	bool readable = feed.refresh(); // starts sampling

	for (u32 i = 0; i < top_options.batch && readable; i++) {
		clock::time_point end = clock::now() + std::chrono::nanoseconds(top_options.delay_ns);
		while (!stop.came() && clock::now() < end) {
			feed.drain();
			std::this_thread::sleep_for(
				std::min<clock::duration>(std::chrono::milliseconds(20), end - clock::now()));
		}
		if (stop.came())
			return EXIT_DONE;
		readable = feed.refresh();
		std::string text = top_batch_text(feed.picture(), {}, top_options.delay_ns, feed.no_samples());
		if (readable && !(print_text(i ? "\n" : "") && print_text(text)))
			return EXIT_PART;
	}
	if (!readable)
		std::fprintf(stderr, "gpulens: %s\n", feed.refresh_error().c_str());
	return readable ? EXIT_DONE : EXIT_PART;
}

} // namespace

int run_top(const Options &options, const TopOptions &top_options)
{
	if (!options.sources.files.empty()) {
		std::fprintf(stderr, "gpulens: top needs a live GPU in /proc; it cannot show a recorded one\n");
		return EXIT_USAGE;
	}
	if (options.sources.source && !options.sources.source->make(options.sources)->samples_continuously()) {
		std::fprintf(stderr,
			     "gpulens: top needs the kernel module; to sample through NVIDIA's driver, use gpulens "
			     "--source rm record\n");
		return EXIT_USAGE;
	}
	if (!top_options.batch && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))) {
		std::fprintf(stderr, "gpulens: top needs a terminal; use --batch N to print N screens as text\n");
		return EXIT_USAGE;
	}
	std::vector<unsigned> gpus = proc_gpus(options.sources.proc);
	unsigned first = options.sources.gpus.empty() ? gpus[0] : options.sources.gpus[0];
	// Report an unreadable GPU before the screen is taken over.
	load_live(options.sources.proc, first);
	return top_options.batch ? run_batch(options, top_options, first) : run_screen(options, top_options, first);
}

} // namespace tool
