// SPDX-License-Identifier: GPL-2.0
// Checks the options, and prints screens as text for --batch. screen.cc has the terminal.
#include "gpulens/top/top.hpp"

#include "gpulens/cmd/schedule_status.hpp"
#include "gpulens/out/slot_status.hpp"
#include "gpulens/top/feed.hpp"
#include "gpulens/top/screen.hpp"
#include "lib/base/signals.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <unistd.h>

namespace tool {

namespace {

// Prints why GPUs cannot be read. Returns how many can.
size_t print_errors(const TopFeeds &feeds)
{
	size_t readable = 0;

	for (const std::unique_ptr<TopFeed> &feed : feeds) {
		readable += feed->refresh_error().empty();
		if (!feed->refresh_error().empty())
			std::fprintf(stderr, "gpulens: %s\n", feed->refresh_error().c_str());
	}
	return readable;
}

int run_batch(const TopOptions &options, const TopFeeds &feeds)
{
	using clock = std::chrono::steady_clock;
	StopSignals stop;
	size_t readable = feeds.size();

	for (u32 i = 0; i < options.batch; i++) {
		clock::time_point end = clock::now() + std::chrono::nanoseconds(options.delay_ns);
		while (!stop.came() && clock::now() < end) {
			for (const std::unique_ptr<TopFeed> &feed : feeds)
				feed->drain();
			std::this_thread::sleep_for(std::min<clock::duration>(options.read_period, end - clock::now()));
		}
		if (stop.came())
			return EXIT_DONE;
		std::vector<TopPart> parts;
		for (const std::unique_ptr<TopFeed> &feed : feeds) {
			feed->refresh();
			parts.push_back(feed->part());
		}
		readable = print_errors(feeds);
		if (!readable)
			break;
		if (!(print_text(i ? "\n" : "") &&
		      print_text(top_batch_text(parts, {}, options.delay_ns) + schedule_status_text() + slots_text())))
			return EXIT_PART;
	}
	return readable == feeds.size() ? EXIT_DONE : EXIT_PART;
}

// Reads each GPU and starts to sample it. Throws Error if none can be read, before the screen is taken over.
TopFeeds start_feeds(const std::shared_ptr<const Source> &source, const std::vector<unsigned> &gpus,
		     const TopOptions &options)
{
	TopFeeds feeds;

	for (unsigned x : gpus)
		feeds.push_back(std::make_unique<TopFeed>(source, x, options));
	if (std::count_if(feeds.begin(), feeds.end(), [](const auto &feed) { return feed->refresh(); }) == 0)
		throw Error(Error::Source, feeds.at(0)->refresh_error());
	return feeds;
}

} // namespace

int run_top(const Options &options, const TopOptions &top_options)
{
	if (!options.sources.files.empty()) {
		std::fprintf(stderr, "gpulens: top needs a GPU of this machine; it cannot show a recorded one\n");
		return EXIT_USAGE;
	}
	if (!top_options.batch && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))) {
		std::fprintf(stderr, "gpulens: top needs a terminal; use --batch N to print N screens as text\n");
		return EXIT_USAGE;
	}
	std::shared_ptr<const Source> source = machine_source(options.sources);
	std::vector<unsigned> gpus = options.sources.gpus.empty() ? source->numbers() : options.sources.gpus;
	TopOptions chosen = top_options;
	chosen.read_period = source->read_period();
	if (!chosen.every_ns)
		chosen.every_ns = u64{source->modest_period_us(gpus.size())} * 1000;
	TopFeeds feeds = start_feeds(source, gpus, chosen);
	return chosen.batch ? run_batch(chosen, feeds) : run_screen(options, chosen, source, std::move(feeds));
}

} // namespace tool
