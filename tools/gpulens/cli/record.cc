// SPDX-License-Identifier: GPL-2.0
// The rows of record, report, top and export.
#include "gpulens/cmd/record.hpp"

#include "gpulens/cli/commands.hpp"
#include "gpulens/cli/options.hpp"
#include "gpulens/export/export.hpp"
#include "gpulens/top/top.hpp"
#include "lib/base/machine_name.hpp"

#include <fmt/format.h>
#include <memory>

namespace tool {

namespace {

// What record and report write besides files.
void add_timeline_output(CLI::App &parser, TimelineOutput &output, const char *about_machine)
{
	parser.add_option(
		      "--dataset", output.dataset,
		      "add CSV files below DIR, in folders named after day and machine, for SQL; no file is replaced")
		->type_name("DIR")
		->check(not_an_option());
	parser.add_option("--machine", output.machine, about_machine)
		->type_name("HOST")
		->check(check_that([](const std::string &name) {
			return is_machine_name(name)
				       ? ""
				       : "a machine's name has letters, digits, dots, hyphens and underscores, "
					 "at most 253, and no dot first: " +
						 name;
		}));
	add_choice<std::optional<TraceClock>>(
		parser, "--clock", output.clock,
		{{"boottime", TraceClock::Boottime}, {"realtime", TraceClock::Realtime}}, "CLOCK",
		"clock of FILE.perfetto-trace: boottime, for traces of the same machine, or "
		"realtime, for traces of other machines (default: boottime, or realtime "
		"for several recordings)");
}

// Returns why a name cannot be that of an output of record; empty: it can. A recording has any name but those of formats
// that somebody would expect to get.
std::string refuse_format(const std::string &name)
{
	for (const char *end : {".json", ".txt", ".svg", ".png", ".parquet"})
		if (name.ends_with(end))
			return fmt::format("{}: there is no output of that format; FILE.csv, FILE.html, "
					   "FILE.perfetto-trace, or FILE.rec for gpulens report",
					   name);
	return "";
}

void add_record(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<RecordOptions>();

	add_list(parser, "-o,--output", options->output.files, "FILE",
		 "FILE.perfetto-trace (ui.perfetto.dev), FILE.csv or FILE.html; any other name gets a recording for "
		 "gpulens "
		 "report");
	add_timeline_output(parser, options->output,
			    "name of this machine in recording and output (default: its host name)");
	add_duration(parser, "--for", options->for_ns, 1000000000, "recording time (default: until Ctrl-C)");
	add_period(parser, options->period_us, "sampling period (default: 100us)");
	add_list(parser, "--runlist", options->runlists, "Y", "record only the engines of this runlist")
		->check(number_of("a runlist"));
	parser.add_option("--tsgs", options->tsgs,
			  "output of gpulens run -o: names TSGs instead of channels when NVIDIA's driver is the source")
		->type_name("FILE");
	parser.callback([options, &line] {
		refuse_files(line.options, "record");
		if (options->output.files.empty() && options->output.dataset.empty())
			throw CLI::ValidationError("record", "name the output with -o FILE or --dataset DIR");
		for (const std::string &file : options->output.files)
			if (std::string why = refuse_format(file); !why.empty())
				throw CLI::ValidationError("-o", why);
		line.status = record_samples(line.options, *options);
	});
}

void add_report(CLI::App &parser, CommandLine &line)
{
	struct Arguments {
		std::vector<std::string> recordings;
		TimelineOutput output;
	};
	auto arguments = std::make_shared<Arguments>();

	parser.add_option("FILE", arguments->recordings, "recordings of gpulens record, of one or more machines")
		->type_name("")
		->required();
	add_list(parser, "-o,--output", arguments->output.files, "FILE",
		 "FILE.html, FILE.csv or FILE.perfetto-trace (default: the recording's name with .html appended)");
	add_timeline_output(parser, arguments->output,
			    "name of the machine of these recordings (default: the one that they have)");
	parser.callback([arguments, &line] {
		const TimelineOutput &output = arguments->output;
		refuse_gpus(line.options, "report");
		if (arguments->recordings.size() > 1 && output.files.empty() && output.dataset.empty())
			throw CLI::ValidationError(
				"report", "name the output of several recordings with -o FILE or --dataset DIR");
		if (arguments->recordings.size() > 1 && output.clock == TraceClock::Boottime)
			throw CLI::ValidationError("--clock",
						   "several recordings have no clock in common but realtime");
		line.status = write_report(line.options, arguments->recordings, output);
	});
}

void check_time(const char *name, u64 ns, u64 least, u64 greatest, const char *range)
{
	if (ns < least || ns > greatest)
		throw CLI::ValidationError(name, range);
}

void add_top(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<TopOptions>();

	add_duration(parser, "--every", options->every_ns, 1000,
		     "sampling period (default: 1ms; through NVIDIA's driver 30ms, and of several GPUs 80ms times "
		     "their number)");
	add_duration(parser, "--delay", options->delay_ns, 1000000000, "time between screens (default: 500ms)");
	add_duration(parser, "--window", options->window_ns, 1000000000,
		     "time span that a screen covers (default: 5s)");
	add_list(parser, "--runlist", options->runlists, "Y", "show only this runlist")->check(number_of("a runlist"));
	parser.add_option("--batch", options->batch, "print N screens as text and exit")
		->type_name("N")
		->check(in_range(1U, 0xffffffffU));
	parser.callback([options, &line] {
		if (options->every_ns)
			check_time("--every", options->every_ns, 10000, 1000000000, "from 10us to 1s");
		check_time("--delay", options->delay_ns, 50000000, 3600000000000, "from 50ms to 1h");
		check_time("--window", options->window_ns, 100000000, 3600000000000, "from 100ms to 1h");
		line.status = run_top(line.options, *options);
	});
}

void add_export(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<ExportOptions>();
	auto store_address = [options](const std::string &text) {
		options->listen = parse_listen(text);
		if (!options->listen)
			throw CLI::ValidationError("--listen",
						   "not ADDRESS:PORT, [ADDRESS]:PORT, :PORT or PORT: " + text);
	};

	parser.add_flag("--prometheus", options->prometheus, "Prometheus text format, the only format and the default");
	CLI::Option *output = parser.add_option("-o,--output", options->file,
						"file to replace atomically, for node_exporter's textfile collector "
						"(default: standard output)")
				      ->type_name("FILE");
	CLI::Option *time = add_duration(parser, "--for", options->for_ns, 1000000000,
					 "sample for this time first, to export the time of TSGs on engines");
	CLI::Option *listen = parser.add_option_function<std::string>(
					    "--listen", store_address,
					    "serve /metrics and /healthz, and sample, until Ctrl-C; :PORT is on every "
					    "address, PORT on 127.0.0.1")
				      ->type_name("ADDRESS:PORT")
				      ->excludes(output)
				      ->excludes(time);
	add_period(parser, options->period_us,
		   "sampling period (default: 1ms; through NVIDIA's driver with --listen 250ms times the number of "
		   "GPUs, 2s at most, else 30ms, and of several GPUs 80ms times their number)");
	add_duration(parser, "--keep-ended", options->keep_ended_ns, 1000000000,
		     "how long the series of a TSG stay after its end (default: 5m)")
		->needs(listen);
	parser.add_flag("--no-sample", options->no_sample, "do not sample: no time of TSGs on engines")->needs(listen);
	parser.callback([options, &line] { line.status = export_metrics(line.options.sources, *options); });
}

} // namespace

Commands record_commands()
{
	return {
		{"record",
		 "sample what runs on each engine, and write a timeline",
		 {"sudo gpulens record --for 2s -o timeline.html",
		  "sudo gpulens record --every 50us --runlist 0 -o run.rec -o run.csv",
		  "sudo gpulens record --for 10m --dataset /srv/gpulens    for SQL over many machines and days"},
		 add_record,
		 "-o FILE.csv has its times"},
		{"report",
		 "write a timeline and a table of time slices from a recording",
		 {"gpulens report run.rec           writes run.rec.html",
		  "gpulens report run.rec -o run.perfetto-trace",
		  "gpulens report node1.rec node2.rec -o fleet.perfetto-trace    machines side by side"},
		 add_report,
		 "-o FILE.csv has its times"},
	};
}

Commands top_commands()
{
	return {{"top",
		 "show live which TSG runs on each engine, and run times against time slices; press ? for keys",
		 {"sudo gpulens top", "sudo gpulens -g 0 top --every 100us --runlist 0",
		  "sudo gpulens -g 0 top --batch 1 --delay 2s    one screen as text"},
		 add_top,
		 "gpulens export and gpulens record -o FILE.csv have the times"}};
}

Commands export_commands()
{
	return {{"export",
		 "export metrics: TSGs, channels by state, hazards, cost of reading",
		 {"gpulens export -o /var/lib/prometheus/node-exporter/gpulens.prom",
		  "sudo gpulens export --for 1s    with the time of TSGs on engines",
		  "sudo gpulens export --listen :10835    on every address; 10835 is the port of its "
		  "systemd unit"},
		 add_export,
		 "it prints Prometheus' text format"}};
}

} // namespace tool
