// SPDX-License-Identifier: GPL-2.0
// Collects metrics, and serves or writes them.
#include "gpulens/export/export.hpp"

#include "gpulens/cmd/schedule_status.hpp"
#include "gpulens/export/engine_clock.hpp"
#include "gpulens/export/http_server.hpp"
#include "gpulens/export/privileges.hpp"
#include "gpulens/out/metrics.hpp"
#include "gpulens/out/slot_status.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/signals.hpp"
#include "lib/source/driver/gpu_uuid.hpp"
#include "lib/source/image/file_source.hpp"
#include "lib/source/table/sources.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tool {

namespace {

const char INDEX[] = "<!DOCTYPE html><title>gpulens</title><p>Scheduling of NVIDIA GPUs, for Prometheus: "
		     "<a href=\"/metrics\">/metrics</a>\n";

constexpr int SEND_BUFFER_BYTES = 1 << 16; // of the kernel, for a client that does not read
constexpr std::chrono::milliseconds CACHE_TIME{1000}, SWEEP_TIME{100};
constexpr std::chrono::minutes UUID_RETRY{1}; // reading it wakes a suspended GPU

// One GPU. GPUs are read separately, so that an unreadable GPU does not prevent the others from being exported.
struct ExportedGpu {
	std::shared_ptr<const Source> source;
	unsigned number;
	std::string label;
	bool recorded; // a file, not a GPU of this machine
};

// machine: the source that was used before, which knows what it read; null: none.
std::vector<ExportedGpu> list_gpus(const SourceOptions &options, std::shared_ptr<const Source> &machine)
{
	std::vector<ExportedGpu> list;

	for (const std::string &file : options.files)
		list.push_back({std::make_shared<FileSource>(file), 0, name_of_file(file), true});
	if (!options.files.empty() && options.gpus.empty())
		return list;
	if (!machine)
		machine = machine_source(options);
	try {
		for (unsigned x : options.gpus.empty() ? machine->numbers() : options.gpus)
			list.push_back({machine, x, std::to_string(x), false});
	} catch (const Error &) {
		machine = nullptr; // another one may be there next time
		throw;
	}
	return list;
}

class Exporter {
public:
	Exporter(const SourceOptions &sources, const ExportOptions &options) : sources_(sources), options_(options)
	{
		start_clocks(list_gpus(sources_, machine_));
	}

	// Reads all GPUs and returns the text. complete: set to false if a GPU could not be read.
	std::string collect(bool &complete)
	{
		Metrics metrics;
		std::vector<ExportedGpu> gpus = list_gpus(sources_, machine_);

		start_clocks(gpus);
		complete = true;
		metrics.gauge("gpulens_gpus", "Number of GPUs.").add({}, u64{gpus.size()});
		metrics.gauge("gpulens_build_info", "Version of gpulens; always 1.")
			.add({{"version", GPULENS_RELEASE}}, u64{1});
		for (const ExportedGpu &g : gpus)
			complete &= collect(metrics, g);
		if (machine_) {
			if (std::optional<nlohmann::ordered_json> status = read_schedule_status())
				add_schedule(metrics, *status);
			add_budgets(metrics);
			add_slots(metrics);
		}
		return metrics.text();
	}

	size_t clocks() const { return clocks_.size(); }
	// Whether processes are among the metrics.
	bool finds_owners() const { return machine_ && machine_->finds_owners(); }

private:
	bool sampling() const { return options_.listen ? !options_.no_sample : options_.for_ns != 0; }

	// Starts clocks for new GPUs, too.
	void start_clocks(const std::vector<ExportedGpu> &gpus)
	{
		for (const ExportedGpu &g : gpus)
			if (u32 period_us = options_.listen ? g.source->background_period_us(gpus.size())
							    : g.source->modest_period_us(gpus.size());
			    period_us && sampling() && !clocks_.count(g.number)) {
				SampleOptions samples{.period_us = options_.period_us ? options_.period_us : period_us,
						      .background = options_.listen.has_value()};
				clocks_[g.number] = std::make_unique<EngineClock>(
					g.source, g.number, samples, std::chrono::nanoseconds(options_.keep_ended_ns));
				if (options_.for_ns)
					add_first_snapshot(g);
			}
	}

	// Only what two snapshots say alike is counted for a process; with --for there would be one, at the end.
	void add_first_snapshot(const ExportedGpu &exported)
	{
		try {
			if (exported.source->finds_owners())
				clocks_[exported.number]->add_snapshot(exported.source->gpus({exported.number}).at(0));
		} catch (const Error &) { // collect() reports it
		}
	}

	// Returns the UUID of a GPU of this machine; empty: unknown.
	const std::string &uuid_of(const std::string &device)
	{
		Uuid &known = uuids_[device];
		std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();

		if (known.value.empty() && now >= known.retry) {
			known.value = read_gpu_uuid(sources_.proc, device);
			known.retry = now + UUID_RETRY;
		}
		return known.value;
	}

	bool collect(Metrics &metrics, const ExportedGpu &exported)
	{
		Family &up = metrics.gauge("gpulens_up", "1 if the GPU could be read.");
		bool read = false, complete = true;

		try {
			Gpu gpu = options_.listen ? exported.source->reread_gpu(exported.number)
						  : exported.source->gpus({exported.number}).at(0);
			add_gpu(metrics, gpu, exported.label, exported.recorded ? "" : uuid_of(gpu.chip.device));
			if (EngineClock *clock = clock_of(exported))
				clock->add_snapshot(gpu);
			read = true;
			// Without the privilege, the metrics of runlists are missing.
			for (const Failure &f : gpu.runlist_failures) {
				if (f.err != -EPERM)
					continue;
				std::fprintf(stderr, "gpulens: %s: %s: %s\n", gpu.name().c_str(), f.item.text().c_str(),
					     f.text().c_str());
				complete = false;
			}
		} catch (const Error &e) {
			std::fprintf(stderr, "gpulens: %s\n", e.what());
		}
		up.add({{"gpu", exported.label}}, u64{read});
		// The counters are still readable after the GPU was removed.
		try {
			if (std::optional<std::string> stats = exported.source->stats(exported.number))
				add_stats(metrics, *stats, exported.label);
		} catch (const Error &e) {
			std::fprintf(stderr, "gpulens: %s\n", e.what());
			read = false;
		}
		if (EngineClock *clock = clock_of(exported)) {
			clock->add_to(metrics, exported.label);
			read &= options_.listen || clock->up();
		}
		return read && complete;
	}

	// Returns null for a GPU that is not sampled.
	EngineClock *clock_of(const ExportedGpu &exported)
	{
		auto clock = exported.source->modest_period_us(1) ? clocks_.find(exported.number) : clocks_.end();

		return clock == clocks_.end() ? nullptr : clock->second.get();
	}

	struct Uuid {
		std::string value;                             // empty: not known yet
		std::chrono::steady_clock::time_point retry{}; // when to ask again
	};

	const SourceOptions sources_;
	std::shared_ptr<const Source> machine_; // of this machine's GPUs
	const ExportOptions options_;
	std::map<unsigned, std::unique_ptr<EngineClock>> clocks_;
	std::map<std::string, Uuid> uuids_; // by PCI address
};

int export_once(const SourceOptions &sources, const ExportOptions &options)
{
	StopSignals stop;
	Exporter exporter(sources, options);
	bool complete = false;

	if (options.for_ns && !exporter.clocks())
		throw Error(Error::Source, "--for needs a GPU of this machine; a recorded GPU has no samples");
	stop.wait_until(std::chrono::steady_clock::now() + std::chrono::nanoseconds(options.for_ns));
	std::string text = exporter.collect(complete);
	write_file(options.file.empty() ? "-" : options.file, text);
	return complete ? EXIT_DONE : EXIT_PART;
}

// Keeps the last text for CACHE_TIME, so that frequent scrapes do not read the GPUs more often.
class CachedMetrics {
public:
	explicit CachedMetrics(Exporter &exporter) : exporter_(exporter) {}

	const HttpAnswer &get()
	{
		using clock = std::chrono::steady_clock;
		bool complete = false;

		if (last_.body && clock::now() < until_)
			return last_;
		try {
			last_ = {200, "text/plain; version=0.0.4; charset=utf-8",
				 std::make_shared<const std::string>(exporter_.collect(complete))};
		} catch (const std::exception &e) {
			last_ = {503, "text/plain; charset=utf-8",
				 std::make_shared<const std::string>(std::string(e.what()) + '\n')};
		}
		until_ = clock::now() + CACHE_TIME;
		return last_;
	}

private:
	Exporter &exporter_;
	HttpAnswer last_;
	std::chrono::steady_clock::time_point until_;
};

HttpAnswer answer_request(CachedMetrics &metrics, std::string_view path)
{
	static const auto index = std::make_shared<const std::string>(INDEX);
	static const auto nothing = std::make_shared<const std::string>("not found; see /metrics and /healthz\n");
	static const auto healthy = std::make_shared<const std::string>("ok\n");

	if (path == "/metrics")
		return metrics.get();
	if (path == "/healthz")
		return {200, "text/plain; charset=utf-8", healthy};
	if (path == "/")
		return {200, "text/html", index};
	return {404, "text/plain; charset=utf-8", nothing};
}

struct Listener {
	int fd;
	ListenAddress at;
};

// Returns a listening socket and its address. Throws Error.
Listener listen_at(const ListenAddress &at)
{
	addrinfo hints{}, *found = nullptr;
	std::string error = "no such address";

	hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
	hints.ai_socktype = SOCK_STREAM;
	if (getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &hints, &found))
		found = nullptr;
	std::unique_ptr<addrinfo, void (*)(addrinfo *)> list(found, [](addrinfo *a) {
		if (a)
			freeaddrinfo(a);
	});
	for (const addrinfo *a = found; a; a = a->ai_next) {
		sockaddr_storage bound{};
		socklen_t size = sizeof(bound);
		int yes = 1, no = 0, unread = SEND_BUFFER_BYTES;
		int fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
		// Not SO_REUSEPORT: with it two servers would share a port unnoticed.
		if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) &&
		    !setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &unread, sizeof(unread)) &&
		    // [::] includes IPv4, whatever net.ipv6.bindv6only is.
		    (a->ai_family != AF_INET6 || !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no))) &&
		    !bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, SOMAXCONN) &&
		    !getsockname(fd, reinterpret_cast<sockaddr *>(&bound), &size)) {
			// The port has the same offset in IPv4 and IPv6 addresses.
			return {fd, {at.host, ntohs(reinterpret_cast<sockaddr_in *>(&bound)->sin_port)}};
		}
		error = std::strerror(errno);
		if (errno == EADDRINUSE)
			error += "; find the other program with ss -ltnp, or choose another port with --listen";
		if (fd >= 0)
			close(fd);
	}
	throw Error(Error::Source, fmt::format("{}:{}: cannot listen: {}", at.host, at.port, error));
}

// Listens on every address, of IPv4 only if the machine has no IPv6.
Listener listen_everywhere(int port)
{
	try {
		return listen_at({"::", port});
	} catch (const Error &) {
		return listen_at({"0.0.0.0", port});
	}
}

// Returns the capabilities that reading requires. Files are opened again for each collection, so access to files of other
// owners is kept, too.
std::vector<cap_value_t> needed_capabilities(const SourceOptions &sources)
{
	std::vector<cap_value_t> caps;
	cap_flag_value_t perfmon = CAP_CLEAR;
	cap_t now = cap_get_proc();

	if (now && CAP_IS_SUPPORTED(CAP_PERFMON))
		cap_get_flag(now, CAP_PERFMON, CAP_PERMITTED, &perfmon);
	cap_free(now);
	caps.push_back(perfmon == CAP_SET ? CAP_PERFMON : CAP_SYS_ADMIN);
	if (!sources.files.empty() || geteuid())
		caps.push_back(CAP_DAC_READ_SEARCH);
	return caps;
}

int serve_metrics(const SourceOptions &sources, const ExportOptions &options)
{
	StopSignals stop;
	const ListenAddress &at = *options.listen;

	for (const std::string &file : sources.files)
		if (file == "-")
			throw Error(Error::Source, "standard input can be read only once; name a file with -i");
	Listener listener = at.host.empty() ? listen_everywhere(at.port) : listen_at(at);
	keep_capabilities(needed_capabilities(sources));
	Exporter exporter(sources, options);
	CachedMetrics metrics(exporter);
	HttpServer server(listener.fd, [&](std::string_view path) { return answer_request(metrics, path); });
	const std::string &host = listener.at.host;
	std::fprintf(stderr, "gpulens: metrics at http://%s:%d/metrics\n",
		     host.find(':') == host.npos ? host.c_str() : ('[' + host + ']').c_str(), listener.at.port);
	if (exporter.finds_owners())
		std::fprintf(stderr,
			     "gpulens: processes are those that NVIDIA's driver names; what programs of gpulens run "
			     "report is not read: that needs CAP_SYS_PTRACE and, of other users, "
			     "CAP_DAC_READ_SEARCH, which the exporter gives up\n");
	while (!stop.came()) {
		stop.wait_until(std::chrono::steady_clock::now() + SWEEP_TIME);
		server.close_overdue();
	}
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
	if (at.host.empty())
		return at;
	if (at.host.size() > 2 && at.host.front() == '[' && at.host.back() == ']')
		at.host = at.host.substr(1, at.host.size() - 2);
	else if (at.host.find(':') != at.host.npos)
		return std::nullopt;
	return at;
}

int export_metrics(const SourceOptions &sources, const ExportOptions &options)
{
	return options.listen ? serve_metrics(sources, options) : export_once(sources, options);
}

} // namespace tool
