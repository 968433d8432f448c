// SPDX-License-Identifier: GPL-2.0
// Times of records are converted from the GPU's timer by the shortest of several readings of both clocks, and by their
// drift. A record appears only when its switch has ended, so an empty read() proves nothing about the last LATEST_NS.
#include "lib/rm/context_switches.hpp"

#include "lib/base/monotonic.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace tool::rm {

namespace {

constexpr u32 RECORDS = SwitchRecords::COUNT;
constexpr size_t PAGE_BYTES = 4096;
// The timer was up to 16 ppm slower than CLOCK_MONOTONIC on an H100: 16 us in this time.
constexpr u64 CLOCK_EVERY_NS = 1000000000;
constexpr int CLOCK_TRIES = 8;
// A record is written when its switch has ended: after 0.1 ms, or when what must not be interrupted is over.
constexpr u64 LATEST_NS = 50000000;

// NV2080_CTRL_GR_FECS_BIND_REASON_CODE_*
const char *explain_reason(u32 reason)
{
	switch (reason) {
	case 1: return "the GPU is too old";
	case 2: return "they are not enabled on this GPU";
	case 3: return "they are not enabled";
	case 4: return "be root, or have CAP_PERFMON";
	case 5: return "the virtual GPU's host does not permit it";
	default: return "";
	}
}

// As the driver's osIsAdministrator().
bool is_administrator()
{
	__user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
	__user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};

	return !syscall(SYS_capget, &head, sets) && sets[0].effective >> CAP_SYS_ADMIN & 1;
}

} // namespace

ContextSwitches::ContextSwitches(Client &client, const Subdevice &gpu) : client_(client), gpu_(gpu)
{
	if (!is_administrator())
		throw Error(Error::Source, "be root: others do not see whose a context is");
	BindSwitches bind;
	EnableEvents enable;
	u32 status = 0;
	auto refuse = [&](const char *what) {
		std::string why = explain_reason(bind.reason);
		throw Error(Error::Source,
			    fmt::format("{}: {}{}{}", what, status_name(status), why.empty() ? "" : ": ", why));
	};

	try {
		header_handle_ = make_memory(PAGE_BYTES);
		records_handle_ = make_memory(sizeof(SwitchRecords));
		header_.reset(static_cast<const EventBufferHeader *>(client_.map(header_handle_, PAGE_BYTES)));
		records_.reset(static_cast<const SwitchRecords *>(client_.map(records_handle_, sizeof(SwitchRecords))));
		if ((status = client_.make(NV_EVENT_BUFFER,
					   EventBufferAlloc{.record_bytes = sizeof(SwitchRecord),
							    .records = RECORDS,
							    .subdevice = gpu_.handle,
							    .header = header_handle_,
							    .record_buffer = records_handle_},
					   buffer_)))
			refuse("NV_EVENT_BUFFER");
		bind.buffer = buffer_;
		if ((status = client_.query(gpu_, bind)))
			refuse(BindSwitches::NAME);
		if ((status = client_.query(buffer_, enable)))
			refuse(EnableEvents::NAME);
		update_clock();
	} catch (...) {
		unbind();
		throw;
	}
	get_ = header_->put < RECORDS ? header_->put : 0;
}

ContextSwitches::~ContextSwitches()
{
	unbind();
}

void ContextSwitches::unbind()
{
	for (u32 object : {buffer_, records_handle_, header_handle_})
		if (object)
			client_.free(object);
}

u32 ContextSwitches::make_memory(size_t bytes)
{
	MemoryAlloc memory{.size = bytes};
	u32 object = 0, status = client_.make(NV01_MEMORY_DEVICELESS, memory, object);

	if (status == NV_ERR_INVALID_PARAM_STRUCT)
		status = client_.make(NV01_MEMORY_DEVICELESS, memory, object, MemoryAlloc::OLD_SIZE);
	if (status)
		throw Error(Error::Source, fmt::format("NV01_MEMORY_DEVICELESS: {}", status_name(status)));
	return object;
}

// The shortest of several readings is the most exact one, to half of it. The drift is that between two updates.
void ContextSwitches::update_clock()
{
	u64 shortest = ~u64{0}, read = 0;
	int64_t ahead = 0;

	for (int i = 0; i < CLOCK_TRIES; i++) {
		TimerTime timer;
		u64 before = now_ns();
		u32 status = client_.query(gpu_, timer);
		u64 took = now_ns() - before;
		if (status)
			throw Error(Error::Source, explain_refusal(TimerTime::NAME, status, client_.version()));
		if (took >= shortest)
			continue;
		shortest = took;
		read = before + took / 2;
		ahead = static_cast<int64_t>(timer.ns - read);
	}
	double gained = 0; // since the last update, and not foreseen then
	if (clock_read_ns_) {
		double passed = static_cast<double>(read - clock_read_ns_);
		gained = static_cast<double>(ahead - ahead_ns_) - drift_ * passed;
		drift_ += gained / passed;
	}
	clock_error_ns_ = std::max(clock_error_ns_, shortest / 2 + static_cast<u64>(std::abs(gained)));
	clock_read_ns_ = read;
	ahead_ns_ = ahead;
}

u64 ContextSwitches::to_monotonic(u64 timer_ns) const
{
	u64 time = timer_ns - static_cast<u64>(ahead_ns_);

	return time - static_cast<u64>(static_cast<int64_t>(
			      static_cast<double>(static_cast<int64_t>(time - clock_read_ns_)) * drift_));
}

std::vector<ContextSwitch> ContextSwitches::read(u64 &complete_until)
{
	std::vector<ContextSwitch> switches;
	u64 now = now_ns();

	if (now > clock_read_ns_ + CLOCK_EVERY_NS)
		update_clock();
	now = now_ns();
	if (u32 status = client_.query(buffer_, FLUSH_EVENTS))
		throw Error(Error::Source, fmt::format("NV_EVENT_BUFFER_CTRL_CMD_FLUSH: {}", status_name(status)));
	u32 put = std::atomic_ref(const_cast<u32 &>(header_->put)).load(std::memory_order_acquire);
	for (; get_ != put && put < RECORDS; get_ = (get_ + 1) % RECORDS) {
		SwitchRecord r = records_->records[get_]; // the driver's memory, which it may overwrite meanwhile
		if (numbered_)
			lost_ += static_cast<u16>(r.number - number_ - 1);
		numbered_ = true;
		number_ = r.number;
		if (r.tag == SwitchRecord::INVALID_TIMESTAMP)
			lost_++;
		else if (r.tag == SwitchRecord::START || r.tag == SwitchRecord::END ||
			 r.tag == SwitchRecord::ENGINE_RESET) {
			last_ns_ = std::clamp(to_monotonic(r.time_ns), last_ns_, std::max(last_ns_, now));
			switches.push_back({.time_ns = last_ns_,
					    .starts = r.tag == SwitchRecord::START,
					    .pid = r.pid,
					    .context = r.context,
					    .lost = std::exchange(lost_, 0)});
		}
	}
	UpdateGet update{.get = get_};
	client_.query(buffer_, update);
	if (switches.empty())
		last_ns_ = std::max(last_ns_, now - LATEST_NS);
	complete_until = last_ns_;
	return switches;
}

} // namespace tool::rm
