// SPDX-License-Identifier: GPL-2.0
// Records samples to files, and writes timelines.
#include "gpulens/cmd/record.hpp"

#include "gpulens/cmd/run.hpp"
#include "gpulens/cmd/signals.hpp"
#include "gpulens/out/timeline_out.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/output_file.hpp"
#include "lib/source/table/sources.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>

namespace tool {

namespace {

constexpr size_t PIECE_BYTES = 1 << 18; // of a recording, read at once

bool is_raw(const std::string &path)
{
	for (const char *end : {".csv", ".html", ".perfetto-trace", ".pftrace", ".perfetto"})
		if (path.ends_with(end))
			return false;
	return true;
}

void write_timeline(const Timeline &t, const std::string &path)
{
	OutputFile file(path);
	Sink sink = [&file](std::string_view bytes) { file.write(bytes); };

	if (path.ends_with(".csv"))
		write_csv(t, sink);
	else if (path.ends_with(".html"))
		write_html(t, sink);
	else
		write_perfetto(t, sink);
	file.commit();
}

// Returns a store for intervals in the folder of the first output file, because memory may not hold all of a long
// recording; in the default folder if the output is standard output or a device.
std::shared_ptr<TimelineStore> store_beside(const std::vector<std::string> &files)
{
	std::filesystem::path first = files.empty() ? "-" : files[0];
	std::error_code err;

	if (first == "-" || (std::filesystem::exists(first, err) && !std::filesystem::is_regular_file(first, err)))
		return std::make_shared<TimelineStore>("");
	return std::make_shared<TimelineStore>(first.has_parent_path() ? first.parent_path().string() : ".");
}

// Raw recordings, written while sampling, so that memory is bounded.
class RawFiles {
public:
	explicit RawFiles(const std::vector<std::string> &paths)
	{
		for (const std::string &path : paths)
			if (is_raw(path))
				files_.emplace_back(path);
	}

	RawFiles(const RawFiles &) = delete;
	RawFiles &operator=(const RawFiles &) = delete;
	~RawFiles()
	{
		try {
			commit();
		} catch (const Error &) { // the first error was reported
		}
	}

	void write(std::string_view bytes)
	{
		each([&](OutputFile &f) { f.write(bytes); });
	}

	void commit()
	{
		each([](OutputFile &f) { f.commit(); });
	}

private:
	// Applies f to all files. A file that cannot be written any more keeps what was written.
	template <typename F> void each(F f)
	{
		for (OutputFile &file : files_)
			try {
				f(file);
			} catch (const Error &e) {
				failed_ = e.what();
				file.keep();
			}
		if (!failed_.empty())
			throw Error(Error::Source, failed_);
	}

	std::string failed_; // error of the first file that could not be written
	std::deque<OutputFile> files_;
};

} // namespace

int record_samples(const Options &options, const RecordOptions &record_options)
{
	using clock = std::chrono::steady_clock;
	StopSignals stop;
	std::unique_ptr<SampleStream> samples =
		machine_source(options.sources)
			->samples(options.sources.gpus, {.period_us = record_options.period_us,
							 .runlists = record_options.runlists,
							 .tsgs = record_options.tsgs,
							 .with_snapshot = true});
	RawFiles raw(record_options.files);
	TimelineBuilder builder(store_beside(record_options.files));
	std::string error;

	auto take = [&](std::string_view bytes) {
		raw.write(bytes);
		builder.feed(bytes);
	};
	clock::time_point end = clock::now() + std::chrono::nanoseconds(record_options.for_ns);
	while (!stop.came() && (!record_options.for_ns || clock::now() < end)) {
		auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now()).count();
		try {
			take(samples->read(std::chrono::milliseconds(
				record_options.for_ns ? std::clamp<long>(left, 0, 100) : 100)));
		} catch (const Error &e) {
			// Keep what was recorded until now.
			error = e.what();
			break;
		}
	}
	if (error.empty())
		take(samples->finish());
	if (builder.begun())
		take(clocks_record(read_clocks()));
	raw.commit();
	Timeline t = builder.finish();
	for (const std::string &file : record_options.files)
		if (!is_raw(file))
			write_timeline(t, file);
	if (!print_text(timeline_text(t)))
		return EXIT_PART;
	if (!error.empty())
		std::fprintf(stderr, "gpulens: the recording ended early: %s\n", error.c_str());
	return error.empty() ? EXIT_DONE : EXIT_PART;
}

namespace {

Timeline timeline_of_file(const std::string &recording, const std::string &output)
{
	TimelineBuilder builder(store_beside({output}));
	std::unique_ptr<FILE, int (*)(FILE *)> in(
		recording == "-" ? fdopen(dup(STDIN_FILENO), "r") : fopen(recording.c_str(), "re"), fclose);
	std::string piece(PIECE_BYTES, 0);

	if (!in)
		throw Error(Error::Source, explain_file(errno, recording));
	try {
		while (size_t n = std::fread(piece.data(), 1, piece.size(), in.get()))
			builder.feed(std::string_view(piece).substr(0, n));
		if (std::ferror(in.get()))
			throw Error(Error::Source, std::strerror(errno));
		return builder.finish();
	} catch (const Error &e) {
		throw Error(Error::Source, recording + ": " + e.what());
	}
}

} // namespace

int write_report(const std::string &recording, std::vector<std::string> files)
{
	if (files.empty())
		files.push_back((recording == "-" ? "recording" : recording) + ".html");
	Timeline t = timeline_of_file(recording, files[0]);
	for (const std::string &file : files) {
		if (is_raw(file) && file != "-")
			throw Error(Error::Source, file + ": the name must end with .html, .csv or .perfetto-trace");
		write_timeline(t, file);
	}
	return print_text(timeline_text(t)) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
