// SPDX-License-Identifier: GPL-2.0
// Measures which calls hold up whom, in a process of its own. Streams are made without CU_STREAM_NON_BLOCKING, as the thesis' were.
#include "gpulens/limit/child.hpp"
#include "lab/experiment/call_table.hpp"
#include "lab/experiment/device.hpp"
#include "lib/base/errors.hpp"
#include "lib/launch/symbol.hpp"

#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <thread>

namespace tool::experiment {

using gpulens::check;
using gpulens::cuda;
using json = nlohmann::ordered_json;

namespace {

// Decisions. So much memory comes from no pool of small blocks, and is page-locked in about a millisecond.
constexpr size_t MEMORY_BYTES = size_t{4} << 20;
constexpr unsigned TIMEOUT_S = 120;
constexpr u64 LONG_NS = static_cast<u64>(LONG_MS * 1e6), SHORT_NS = 1'000'000;

void *make_blocking_stream()
{
	void *stream = nullptr;

	check(cuda().make_stream(&stream, 0), "cuStreamCreate");
	return stream;
}

// Three streams and what runs in them.
class Stands {
public:
	Stands() : records_(allocate(3 * sizeof(Record)))
	{
		if (!gpulens::find_symbol(cuda().library, "cuCtxSynchronize", synchronize_))
			throw Error(Error::Missing, "libcuda.so.1 has no cuCtxSynchronize");
		long_ = make_blocking_stream();
		other_ = make_blocking_stream();
	}

	std::string gpu() const { return device_.name(); }

	CallTimes probe(const std::string &call)
	{
		CallTimes times;

		prepare(call);
		times.alone = time_ms([&] { make(call); });
		wait();
		prepare(call);
		std::exception_ptr failure[2];
		s64 origin = host_now();
		spin(long_, 0, LONG_NS);
		std::thread launcher([&] {
			try {
				gpulens::make_current(0);
				sleep_until(origin, LAUNCH_AT_MS);
				times.launch_at = to_ms(host_now() - origin);
				times.launch = time_ms([&] { spin(other_, 1, SHORT_NS); });
			} catch (...) {
				failure[0] = std::current_exception();
			}
		});
		try {
			sleep_until(origin, CALL_AT_MS);
			times.call_at = to_ms(host_now() - origin);
			times.call = time_ms([&] { make(call); });
		} catch (...) {
			failure[1] = std::current_exception();
		}
		launcher.join();
		for (const std::exception_ptr &f : failure)
			if (f)
				std::rethrow_exception(f);
		wait();
		Record found[3] = {};
		check(cuda().copy(found, records_, sizeof(found)), "cuMemcpyDtoH");
		times.kernel_at = to_ms(static_cast<s64>(found[1].begin - found[0].begin));
		times.long_ms = to_ms(static_cast<s64>(found[0].end - found[0].begin));
		return times;
	}

private:
	struct Record { // of a block of the kernel spin
		u64 begin, end, sm;
	};

	template <typename F> static double time_ms(F function)
	{
		s64 begin = host_now();

		function();
		return to_ms(host_now() - begin);
	}
	static void sleep_until(s64 origin, double ms)
	{
		std::this_thread::sleep_for(std::chrono::nanoseconds(origin + static_cast<s64>(ms * 1e6) - host_now()));
	}

	void spin(void *stream, u64 record, u64 ns) const
	{
		uint64_t to = records_ + record * sizeof(Record);
		void *parameters[] = {&to, &ns};

		check(cuda().launch(spin_, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), "cuLaunchKernel");
	}
	void wait() const
	{
		for (void *stream : {long_, other_, static_cast<void *>(nullptr)})
			check(cuda().wait(stream), "cuStreamSynchronize");
	}

	// What the call needs, and what its last run left.
	void prepare(const std::string &call)
	{
		if (memory_)
			check(cuda().free(memory_), "cuMemFree");
		memory_ = 0;
		if (call == "cuMemFree" || call == "cuMemcpyDtoH")
			memory_ = allocate(MEMORY_BYTES);
		wait();
	}
	void make(const std::string &call)
	{
		void *unused = nullptr;

		if (call == "cuMemAlloc")
			check(cuda().alloc(&memory_, MEMORY_BYTES), "cuMemAlloc");
		else if (call == "cuMemFree") {
			check(cuda().free(memory_), "cuMemFree");
			memory_ = 0;
		} else if (call == "cuMemHostAlloc")
			check(driver().host_alloc(&unused, MEMORY_BYTES, 0), "cuMemHostAlloc");
		else if (call == "cuLaunchKernel, legacy stream")
			spin(nullptr, 2, SHORT_NS);
		else if (call == "cuCtxSynchronize")
			check(synchronize_(), "cuCtxSynchronize");
		else if (call == "cuStreamCreate")
			make_blocking_stream();
		else if (call == "cuMemcpyDtoH")
			check(cuda().copy(host_, memory_, sizeof(host_)), "cuMemcpyDtoH");
	}

	Device device_;
	void *spin_ = device_.function("spin");
	uint64_t records_, memory_ = 0;
	void *long_ = nullptr, *other_ = nullptr;
	int (*synchronize_)() = nullptr;
	char host_[4096] = "";
};

std::string run_probes()
{
	Stands stands;
	json rows = json::array();

	stands.probe("none"); // warms up
	for (const CallProbe &probe : call_probes()) {
		CallTimes t = stands.probe(probe.call);
		rows.push_back({t.alone, t.call, t.launch, t.call_at, t.launch_at, t.kernel_at, t.long_ms});
	}
	return json{{"gpu", stands.gpu()}, {"rows", rows}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace

CallTable measure_calls()
{
	json answer = json::parse(gpulens::run_in_child(TIMEOUT_S, run_probes));
	CallTable table{.gpu = answer.at("gpu")};

	for (const json &row : answer.at("rows")) {
		auto t = row.get<std::vector<double>>();
		table.rows.push_back({t.at(0), t.at(1), t.at(2), t.at(3), t.at(4), t.at(5), t.at(6)});
	}
	return table;
}

} // namespace tool::experiment
