// SPDX-License-Identifier: GPL-2.0
// See export.hpp.
#include "export.hpp"

#include "engine_clock.hpp"
#include "metrics.hpp"
#include "rm/from_rm.hpp"
#include "signals.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <httplib.h>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace tool {

namespace {

const char INDEX[] = "<!DOCTYPE html><title>gpulens</title><p>How NVIDIA GPUs schedule work, for Prometheus: "
		     "<a href=\"/metrics\">/metrics</a>\n";

// One place where a GPU is seen.
struct Source {
	SourceOptions options;
	std::string label;
	std::optional<unsigned> live; // the X of /proc/gpuX
};

std::vector<unsigned> numbers_of(const SourceOptions &all)
{
	return asks_rm(all) ? rm_gpus() : proc_gpus(all.proc);
}

// Each by itself, so that one that cannot be read hides no other.
std::vector<Source> sources_of(const SourceOptions &all)
{
	std::vector<Source> list;

	for (const std::string &file : all.files)
		list.push_back({{all.from, {file}, {}, all.proc}, file == "-" ? "standard input" : file, {}});
	if (all.files.empty() || !all.gpus.empty())
		for (unsigned x : all.gpus.empty() ? numbers_of(all) : all.gpus)
			list.push_back({{all.from, {}, {x}, all.proc},
					std::to_string(x),
					asks_rm(all) ? std::nullopt : std::optional(x)});
	return list;
}

class Exporter {
public:
	Exporter(const Options &options, const ExportOptions &how) : sources_(options.sources), how_(how)
	{
		start_clocks(sources_of(sources_));
	}

	// The text. All GPUs are read anew, by one caller at a time. whole: false when one could not be.
	std::string collect(bool &whole)
	{
		std::lock_guard lock(mutex_);
		Metrics metrics;
		std::vector<Source> sources = sources_of(sources_);

		start_clocks(sources);
		whole = true;
		metrics.gauge("gpulens_gpus", "GPUs that there are.").add({}, u64{sources.size()});
		for (const Source &s : sources)
			whole &= collect(metrics, s);
		return metrics.text();
	}

	size_t clocks() const { return clocks_.size(); }

private:
	bool sampling() const { return how_.listen ? !how_.no_sample : how_.for_ns != 0; }

	// Also of GPUs that came since.
	void start_clocks(const std::vector<Source> &sources)
	{
		for (const Source &s : sources)
			if (s.live && sampling() && !clocks_.count(*s.live))
				clocks_[*s.live] =
					std::make_unique<EngineClock>(sources_.proc, *s.live, how_.period_us);
	}

	bool collect(Metrics &metrics, const Source &s)
	{
		Family &up = metrics.gauge("gpulens_up", "1 when the GPU could be read.");
		bool read = false, whole = true;

		try {
			Gpu gpu = load_gpus(s.options).at(0);
			add_gpu(metrics, gpu, s.label);
			read = true;
			// Runlists that the reader may not see are missing from what is exported.
			for (const Failure &f : gpu.runlist_failures) {
				if (f.err != -EPERM)
					continue;
				std::fprintf(stderr, "gpulens: %s: %s: %s\n", gpu.name().c_str(), f.item.c_str(),
					     f.why().c_str());
				whole = false;
			}
		} catch (const SourceError &e) {
			std::fprintf(stderr, "gpulens: %s\n", e.what());
		}
		up.add({{"gpu", s.label}}, u64{read});
		if (!s.live)
			return read && whole;
		// A GPU that has gone still answers this.
		try {
			add_stats(metrics, read_whole(fmt::format("{}/gpu{}/stats", sources_.proc, *s.live), true),
				  s.label);
		} catch (const SourceError &e) {
			std::fprintf(stderr, "gpulens: %s\n", e.what());
			read = false;
		}
		auto clock = clocks_.find(*s.live);
		if (clock != clocks_.end()) {
			clock->second->add_to(metrics, s.label);
			read &= how_.listen || clock->second->up();
		}
		return read && whole;
	}

	const SourceOptions sources_;
	const ExportOptions how_;
	std::mutex mutex_;
	std::map<unsigned, std::unique_ptr<EngineClock>> clocks_;
};

int export_once(const Options &options, const ExportOptions &how)
{
	StopSignals stop;
	Exporter exporter(options, how);
	bool whole = false;

	if (how.for_ns && !exporter.clocks())
		throw SourceError("--for samples a GPU of this machine, and a recorded one is of one instant");
	stop.wait_until(std::chrono::steady_clock::now() + std::chrono::nanoseconds(how.for_ns));
	std::string text = exporter.collect(whole);
	write_whole(how.file.empty() ? "-" : how.file, text);
	return whole ? EXIT_DONE : EXIT_PART;
}

void answer(Exporter &exporter, httplib::Response &response)
{
	bool whole = false;

	try {
		response.set_content(exporter.collect(whole), "text/plain; version=0.0.4; charset=utf-8");
	} catch (const SourceError &e) {
		response.status = 503;
		response.set_content(std::string(e.what()) + '\n', "text/plain; charset=utf-8");
	}
}

// Bound, or it throws. SO_REUSEPORT, which the library would set, lets two servers share a port unnoticed.
int bind_to(httplib::Server &server, const ListenAddress &at)
{
	server.set_socket_options([](int fd) {
		int yes = 1;
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	});
	errno = 0;
	int port = at.port ? (server.bind_to_port(at.host.c_str(), at.port) ? at.port : -1)
			   : server.bind_to_any_port(at.host.c_str());
	if (port < 0)
		throw SourceError(fmt::format(
			"{}:{}: cannot listen there: {}{}", at.host, at.port,
			errno ? std::strerror(errno) : "no such address",
			errno == EADDRINUSE ? "; another program does: ss -ltnp says which, --listen names another port"
					    : ""));
	return port;
}

int serve(const Options &options, const ExportOptions &how)
{
	StopSignals stop;
	httplib::Server server;
	const ListenAddress &at = *how.listen;

	for (const std::string &file : options.sources.files)
		if (file == "-")
			throw SourceError("standard input can be read once only: name a file with -i");
	int port = bind_to(server, at);
	Exporter exporter(options, how);
	server.new_task_queue = [] { return new httplib::ThreadPool(4); };
	server.set_keep_alive_timeout(1);
	server.set_read_timeout(2);
	server.Get("/metrics", [&](const httplib::Request &, httplib::Response &r) { answer(exporter, r); });
	server.Get("/", [](const httplib::Request &, httplib::Response &r) { r.set_content(INDEX, "text/html"); });
	std::thread thread([&] { server.listen_after_bind(); });
	std::fprintf(stderr, "gpulens: metrics at http://%s:%d/metrics\n",
		     at.host.find(':') == at.host.npos ? at.host.c_str() : ('[' + at.host + ']').c_str(), port);
	// A server that does not listen yet cannot be stopped.
	for (int i = 0; i < 1000 && !server.is_running(); i++)
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	stop.wait_until(std::chrono::steady_clock::time_point::max());
	server.stop();
	thread.join();
	return EXIT_DONE;
}

} // namespace

std::optional<ListenAddress> parse_listen(const std::string &text)
{
	ListenAddress at{"127.0.0.1", 0};
	size_t colon = text.rfind(':');
	std::string_view port = std::string_view(text).substr(colon == text.npos ? 0 : colon + 1);
	std::from_chars_result r = std::from_chars(port.data(), port.data() + port.size(), at.port);

	if (r.ec != std::errc() || r.ptr != port.data() + port.size() || at.port < 0 || at.port > 65535)
		return std::nullopt;
	if (colon == text.npos)
		return at;
	at.host = text.substr(0, colon);
	if (at.host.size() > 2 && at.host.front() == '[' && at.host.back() == ']')
		at.host = at.host.substr(1, at.host.size() - 2);
	else if (at.host.find(':') != at.host.npos)
		return std::nullopt;
	return at.host.empty() ? std::nullopt : std::optional(at);
}

int export_metrics(const Options &options, const ExportOptions &how)
{
	return how.listen ? serve(options, how) : export_once(options, how);
}

} // namespace tool
