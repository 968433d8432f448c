// SPDX-License-Identifier: GPL-2.0
// Records samples to files, and writes timelines.
#include "gpulens/cmd/record.hpp"

#include "gpulens/cmd/run.hpp"
#include "gpulens/cmd/schedule_steps.hpp"
#include "gpulens/out/timeline_dataset.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/machine_name.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/signals.hpp"
#include "lib/model/recording.hpp"
#include "lib/source/driver/gpu_uuid.hpp"
#include "lib/source/table/sources.hpp"
#include "lib/timeline/recording_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <endian.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <map>
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

void write_timelines(std::span<const Timeline> all, const std::string &path, TraceClock clock)
{
	OutputFile file(path);
	Sink sink = [&file](std::string_view bytes) { file.write(bytes); };

	if (path.ends_with(".csv"))
		write_csv(all, sink);
	else if (path.ends_with(".html"))
		write_html(all, sink);
	else
		write_perfetto(all, sink, clock);
	file.commit();
}

// Returns a store for intervals in the folder of the first output file, because memory may not hold all of a long
// recording; in the default folder if the output is standard output or a device.
std::shared_ptr<TimelineStore> store_beside(const TimelineOutput &output)
{
	std::filesystem::path first = output.files.empty() ? "-" : output.files[0];
	std::error_code err;

	if (output.files.empty() && !output.dataset.empty())
		return std::make_shared<TimelineStore>(output.dataset);
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
	bool introduced = false; // its recording has the records of write_head()
	std::string error{};     // why it ended early; empty: it did not
};

// Returns the records with which a recording begins: the clocks, the machine and the GPU.
std::string write_head(const TimelineBuilder &builder, const std::string &machine, const std::string &proc)
{
	Clocks clocks = read_clocks();
	const std::optional<Gpu> &gpu = builder.closed().gpu;
	std::string bytes = clocks_record(clocks), uuid = read_gpu_uuid(proc, gpu ? gpu->chip.device : "");

	if (!machine.empty())
		append_text(bytes, clocks.monotonic_ns, RecordedText::Machine, machine);
	if (!uuid.empty())
		append_text(bytes, clocks.monotonic_ns, RecordedText::GpuUuid, uuid);
	return bytes;
}

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
					    .builder = TimelineBuilder(store_beside(record_options.output))});
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
	// machine: its name; empty: unknown. proc: "/proc". module: the source of the samples.
	Recorder(std::vector<RecordedGpu> gpus, RawFiles &raw, std::string machine, std::string proc, bool module)
		: gpus_(std::move(gpus)), raw_(raw), machine_(std::move(machine)), proc_(std::move(proc)),
		  steps_(numbers(), module)
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
		take_steps();
	}

	// Returns the timelines of all GPUs that have samples. Throws Error if none has.
	std::vector<Timeline> finish()
	{
		std::vector<Timeline> timelines;

		for (u32 i = 0; i < count(); i++) {
			if (!gpus_[i].samples)
				continue;
			std::string last;
			try {
				gpus_[i].samples->finish(last);
			} catch (const Error &e) {
				gpus_[i].error = e.what();
			}
			take(i, last);
		}
		take_steps();
		for (u32 i = 0; i < count(); i++)
			if (gpus_[i].builder.takes_record())
				add(i, clocks_record(read_clocks()));
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

	std::vector<unsigned> numbers() const
	{
		std::vector<unsigned> list;

		for (const RecordedGpu &gpu : gpus_)
			list.push_back(gpu.number);
		return list;
	}

	// What coordinators of gpulens schedule did. Those of a GPU that has no samples yet wait for these.
	void take_steps()
	{
		for (RecordedSteps::Steps &some : steps_.read()) {
			std::string &bytes = waiting_[some.place];
			for (const ScheduleRecord &r : some.records)
				append_record(bytes, le64toh(r.time_ns), &r);
			if (bytes.empty() || !gpus_[some.place].introduced || !gpus_[some.place].builder.takes_record())
				continue;
			add(some.place, bytes);
			bytes.clear();
		}
	}

	void take(u32 place, std::string_view bytes)
	{
		RecordedGpu &gpu = gpus_[place];

		if (bytes.empty())
			return;
		add(place, bytes);
		if (gpu.introduced || !gpu.builder.takes_record())
			return;
		add(place, write_head(gpu.builder, machine_, proc_));
		gpu.introduced = true;
	}

	void add(u32 place, std::string_view bytes)
	{
		raw_.write(piece_head(count(), place, static_cast<u32>(bytes.size())));
		raw_.write(bytes);
		gpus_[place].builder.feed(bytes);
	}

	std::vector<RecordedGpu> gpus_;
	RawFiles &raw_;
	std::string machine_, proc_;
	RecordedSteps steps_;
	std::map<u32, std::string> waiting_; // records of steps, by GPU
};

std::string timelines_text(std::span<const Timeline> all, const Style &style)
{
	std::string text;

	for (const Timeline &t : all)
		text += (text.empty() ? "" : "\n") + timeline_text(t, style);
	return text;
}

} // namespace

int record_samples(const Options &options, const RecordOptions &record_options)
{
	using clock = std::chrono::steady_clock;
	StopSignals stop;
	bool all = true;
	const TimelineOutput &output = record_options.output;
	std::string machine = output.machine.empty() ? this_machine() : output.machine;

	if (!output.dataset.empty()) {
		check_dataset(output.dataset);
		if (machine.empty())
			throw Error(Error::Source,
				    "this machine's name cannot be the name of a folder; give another one "
				    "with --machine HOST");
	}
	std::vector<RecordedGpu> gpus = start_samples(options, record_options, all);
	RawFiles raw(output.files);
	bool module = !options.sources.source || options.sources.source->name != std::string("rm");
	Recorder recorder(std::move(gpus), raw, machine, options.sources.proc, module);

	clock::time_point end = clock::now() + std::chrono::nanoseconds(record_options.for_ns);
	while (!stop.came() && recorder.any_left() && (!record_options.for_ns || clock::now() < end)) {
		auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now()).count();
		recorder.read(std::chrono::milliseconds(record_options.for_ns ? std::clamp<long>(left, 0, 100) : 100));
	}
	std::vector<Timeline> timelines = recorder.finish();
	for (const std::string &file : output.files)
		if (!is_raw(file))
			write_timelines(timelines, file, output.clock.value_or(TraceClock::Boottime));
	if (!output.dataset.empty())
		add_to_dataset(timelines, output.dataset, "the recording");
	if (!print_text(timelines_text(timelines, options.style())))
		return EXIT_PART;
	return recorder.report_errors() && all ? EXIT_DONE : EXIT_PART;
}

namespace {

std::vector<Timeline> timelines_of_file(const std::string &recording, const TimelineOutput &output)
{
	RecordingReader reader([&output] { return store_beside(output); });
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

int write_report(const Options &options, const std::vector<std::string> &recordings, TimelineOutput output)
{
	bool several = recordings.size() > 1;
	std::vector<Timeline> all;

	if (output.files.empty() && output.dataset.empty())
		output.files.push_back((recordings[0] == "-" ? "recording" : recordings[0]) + ".html");
	for (const std::string &file : output.files)
		if (is_raw(file) && file != "-")
			throw Error(Error::Input, file + ": the name must end with .html, .csv or .perfetto-trace");
	if (!output.dataset.empty())
		check_dataset(output.dataset);
	for (const std::string &recording : recordings) {
		std::vector<Timeline> timelines = timelines_of_file(recording, output);
		for (Timeline &t : timelines) {
			if (!output.machine.empty())
				t.machine = output.machine;
			if (several)
				t.label = t.machine.empty() ? recording : t.machine;
		}
		if (!output.dataset.empty())
			add_to_dataset(timelines, output.dataset, recording);
		std::move(timelines.begin(), timelines.end(), std::back_inserter(all));
	}
	for (const std::string &file : output.files)
		write_timelines(all, file,
				output.clock.value_or(several ? TraceClock::Realtime : TraceClock::Boottime));
	return print_text(timelines_text(all, options.style())) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
