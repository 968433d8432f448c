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
#include "lib/timeline/recording_reader.hpp"

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

void write_timelines(std::span<const Timeline> all, const std::string &path)
{
	OutputFile file(path);
	Sink sink = [&file](std::string_view bytes) { file.write(bytes); };

	if (path.ends_with(".csv"))
		write_csv(all, sink);
	else if (path.ends_with(".html"))
		write_html(all, sink);
	else
		write_perfetto(all, sink);
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

namespace {

// One of the GPUs that are recorded.
struct RecordedGpu {
	unsigned number;
	std::unique_ptr<SampleStream> samples; // null: it has ended
	TimelineBuilder builder;
	std::string error{}; // why it ended early; empty: it did not
};

// Starts to sample the named GPUs, or all. Those that were not named may fail, as long as one does not: that is printed,
// and all is false. Throws Error.
std::vector<RecordedGpu> start_samples(const Options &options, const RecordOptions &record_options, bool &all)
{
	std::unique_ptr<Source> source = machine_source(options.sources);
	bool named = !options.sources.gpus.empty();

	if (!record_options.tsgs.empty() && !source->takes_tsgs())
		throw Error(Error::Source, "--tsgs is for --source rm; the module reads TSGs itself");
	std::vector<unsigned> numbers = named ? options.sources.gpus : source->numbers();
	std::vector<RecordedGpu> gpus;
	std::vector<std::string> errors;

	std::sort(numbers.begin(), numbers.end());
	numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
	for (unsigned number : numbers)
		try {
			gpus.emplace_back(
				RecordedGpu{.number = number,
					    .samples = source->samples({number}, {.period_us = record_options.period_us,
										  .runlists = record_options.runlists,
										  .tsgs = record_options.tsgs,
										  .with_snapshot = true}),
					    .builder = TimelineBuilder(store_beside(record_options.files))});
		} catch (const Error &e) {
			if (named || numbers.size() == 1)
				throw;
			errors.push_back(fmt::format("gpu{}: {}", number, e.what()));
		}
	if (gpus.empty())
		throw Error(Error::Source, errors.at(0));
	all = errors.empty();
	for (const std::string &error : errors)
		std::fprintf(stderr, "gpulens: %s\n", error.c_str());
	return gpus;
}

// Reads the samples of all GPUs into files and timelines.
class Recorder {
public:
	Recorder(std::vector<RecordedGpu> gpus, RawFiles &raw) : gpus_(std::move(gpus)), raw_(raw)
	{
		raw_.write(recording_head(count()));
	}

	bool any_left() const
	{
		return std::any_of(gpus_.begin(), gpus_.end(),
				   [](const RecordedGpu &gpu) { return gpu.samples != nullptr; });
	}

	// Waits so long for the first GPU's samples; the sources keep those of the others meanwhile.
	void read(std::chrono::milliseconds time)
	{
		bool waited = false;

		for (u32 i = 0; i < count(); i++) {
			if (!gpus_[i].samples)
				continue;
			try {
				take(i, gpus_[i].samples->read(waited ? std::chrono::milliseconds(0) : time));
				waited = true;
			} catch (const Error &e) {
				// What was recorded so far is worth more than nothing.
				gpus_[i].error = e.what();
				gpus_[i].samples = nullptr;
			}
		}
	}

	// Returns the timelines of all GPUs that have samples. Throws Error if none has.
	std::vector<Timeline> finish()
	{
		std::vector<Timeline> timelines;

		for (u32 i = 0; i < count(); i++)
			if (gpus_[i].samples)
				take(i, gpus_[i].samples->finish());
		for (u32 i = 0; i < count(); i++)
			if (gpus_[i].builder.begun())
				take(i, clocks_record(read_clocks()));
		raw_.commit();
		for (RecordedGpu &gpu : gpus_)
			if (gpu.builder.begun())
				timelines.push_back(gpu.builder.finish());
		if (timelines.empty())
			throw Error(Error::Source, gpus_[0].error.empty()
							   ? "the recording ended before the first sample"
							   : gpus_[0].error);
		return timelines;
	}

	// Prints why GPUs ended early. Returns whether none did.
	bool report_errors() const
	{
		bool complete = true;

		for (const RecordedGpu &gpu : gpus_) {
			if (gpu.error.empty())
				continue;
			complete = false;
			std::fprintf(stderr, "gpulens: the recording%s ended early: %s\n",
				     count() == 1 ? "" : fmt::format(" of gpu{}", gpu.number).c_str(),
				     gpu.error.c_str());
		}
		return complete;
	}

private:
	u32 count() const { return static_cast<u32>(gpus_.size()); }

	void take(u32 place, std::string_view bytes)
	{
		if (bytes.empty())
			return;
		raw_.write(piece_head(count(), place, static_cast<u32>(bytes.size())));
		raw_.write(bytes);
		gpus_[place].builder.feed(bytes);
	}

	std::vector<RecordedGpu> gpus_;
	RawFiles &raw_;
};

std::string timelines_text(std::span<const Timeline> all)
{
	std::string text;

	for (const Timeline &t : all)
		text += (text.empty() ? "" : "\n") + timeline_text(t);
	return text;
}

} // namespace

int record_samples(const Options &options, const RecordOptions &record_options)
{
	using clock = std::chrono::steady_clock;
	StopSignals stop;
	bool all = true;
	std::vector<RecordedGpu> gpus = start_samples(options, record_options, all);
	RawFiles raw(record_options.files);
	Recorder recorder(std::move(gpus), raw);

	clock::time_point end = clock::now() + std::chrono::nanoseconds(record_options.for_ns);
	while (!stop.came() && recorder.any_left() && (!record_options.for_ns || clock::now() < end)) {
		auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now()).count();
		recorder.read(std::chrono::milliseconds(record_options.for_ns ? std::clamp<long>(left, 0, 100) : 100));
	}
	std::vector<Timeline> timelines = recorder.finish();
	for (const std::string &file : record_options.files)
		if (!is_raw(file))
			write_timelines(timelines, file);
	if (!print_text(timelines_text(timelines)))
		return EXIT_PART;
	return recorder.report_errors() && all ? EXIT_DONE : EXIT_PART;
}

namespace {

std::vector<Timeline> timelines_of_file(const std::string &recording, const std::string &output)
{
	RecordingReader reader([&output] { return store_beside({output}); });
	std::unique_ptr<FILE, int (*)(FILE *)> in(
		recording == "-" ? fdopen(dup(STDIN_FILENO), "r") : fopen(recording.c_str(), "re"), fclose);
	std::string piece(PIECE_BYTES, 0);

	if (!in)
		throw Error(Error::Source, explain_file(errno, recording));
	try {
		while (size_t n = std::fread(piece.data(), 1, piece.size(), in.get()))
			reader.feed(std::string_view(piece).substr(0, n));
		if (std::ferror(in.get()))
			throw Error(Error::Source, std::strerror(errno));
		return reader.finish();
	} catch (const Error &e) {
		throw Error(Error::Source, recording + ": " + e.what());
	}
}

} // namespace

int write_report(const std::string &recording, std::vector<std::string> files)
{
	if (files.empty())
		files.push_back((recording == "-" ? "recording" : recording) + ".html");
	std::vector<Timeline> timelines = timelines_of_file(recording, files[0]);
	for (const std::string &file : files) {
		if (is_raw(file) && file != "-")
			throw Error(Error::Source, file + ": the name must end with .html, .csv or .perfetto-trace");
		write_timelines(timelines, file);
	}
	return print_text(timelines_text(timelines)) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
