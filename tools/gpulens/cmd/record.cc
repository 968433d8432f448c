// SPDX-License-Identifier: GPL-2.0
// See record.hpp.
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

constexpr size_t PIECE = 1 << 18; // bytes of a recording read at once

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

// Intervals that memory shall not hold lie where what is made of them is written. A device has no folder for files.
std::shared_ptr<TimelineStore> store_beside(const std::vector<std::string> &files)
{
	std::filesystem::path first = files.empty() ? "-" : files[0];
	std::error_code err;

	if (first == "-" || (std::filesystem::exists(first, err) && !std::filesystem::is_regular_file(first, err)))
		return std::make_shared<TimelineStore>("");
	return std::make_shared<TimelineStore>(first.has_parent_path() ? first.parent_path().string() : ".");
}

// A raw recording, written as it comes so that a long one takes no memory.
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
		} catch (const Error &) { // whatever ended the recording has been told
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
	// What a file took stays, also of one that takes no more: an hour's recording is worth more than none.
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

	std::string failed_; // the first file that took no more
	std::deque<OutputFile> files_;
};

} // namespace

int record(const Options &options, const RecordOptions &how)
{
	using clock = std::chrono::steady_clock;
	StopSignals stop;
	std::unique_ptr<SampleStream> samples = machine_source(options.sources)
							->samples(options.sources.gpus, {.period_us = how.period_us,
											 .runlists = how.runlists,
											 .tsgs = how.tsgs,
											 .with_snapshot = true});
	RawFiles raw(how.files);
	TimelineBuilder builder(store_beside(how.files));
	std::string why;

	auto take = [&](std::string_view bytes) {
		raw.write(bytes);
		builder.feed(bytes);
	};
	clock::time_point end = clock::now() + std::chrono::nanoseconds(how.for_ns);
	while (!stop.came() && (!how.for_ns || clock::now() < end)) {
		auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now()).count();
		try {
			take(samples->read(
				std::chrono::milliseconds(how.for_ns ? std::clamp<long>(left, 0, 100) : 100)));
		} catch (const Error &e) {
			// What there is by now is worth more than nothing.
			why = e.what();
			break;
		}
	}
	if (why.empty())
		take(samples->finish());
	raw.commit();
	Timeline t = builder.finish();
	for (const std::string &file : how.files)
		if (!is_raw(file))
			write_timeline(t, file);
	if (!print(timeline_text(t)))
		return EXIT_PART;
	if (!why.empty())
		std::fprintf(stderr, "gpulens: the recording ended early: %s\n", why.c_str());
	return why.empty() ? EXIT_DONE : EXIT_PART;
}

namespace {

Timeline timeline_of_file(const std::string &recording, const std::string &output)
{
	TimelineBuilder builder(store_beside({output}));
	std::unique_ptr<FILE, int (*)(FILE *)> in(
		recording == "-" ? fdopen(dup(STDIN_FILENO), "r") : fopen(recording.c_str(), "re"), fclose);
	std::string piece(PIECE, 0);

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

int report(const Options &, const std::string &recording, std::vector<std::string> files)
{
	if (files.empty())
		files.push_back((recording == "-" ? "recording" : recording) + ".html");
	Timeline t = timeline_of_file(recording, files[0]);
	for (const std::string &file : files) {
		if (is_raw(file) && file != "-")
			throw Error(Error::Source, file + ": its name ends with none of .html, .csv, .perfetto-trace");
		write_timeline(t, file);
	}
	return print(timeline_text(t)) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
