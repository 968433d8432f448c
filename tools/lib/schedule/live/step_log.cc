// SPDX-License-Identifier: GPL-2.0
// The writer never waits for readers. A reader copies the steps first and reads the count again afterwards: steps that were
// overwritten meanwhile, and the one that may be half written, are dropped from the copy.
#include "lib/schedule/live/step_log.hpp"

#include "lib/base/monotonic.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <endian.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace tool::schedule {

namespace {

ScheduleRecord make_record(ScheduleStep step, u64 time, u32 task, u64 value, const std::string &name)
{
	ScheduleRecord r{};

	r.type = htole16(RECORD_SCHEDULE);
	r.step = static_cast<u8>(step);
	r.task = htole32(task);
	r.time_ns = htole64(time);
	r.value = htole64(value);
	std::copy_n(name.data(), std::min(name.size(), sizeof(r.name)), r.name);
	return r;
}

// Whether a coordinator has the file.
bool is_locked(const std::string &path)
{
	int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

} // namespace

StepLog::StepLog(std::string path, u64 devices) : path_(std::move(path))
{
	ring_ = gpulens::map_file<StepRing>(path_.c_str(), O_CREAT | O_EXCL | O_TRUNC);
	if (!ring_)
		return;
	lock_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	flock(lock_, LOCK_EX);
	ring_->devices = devices;
	ring_->magic = StepRing::MAGIC;
}

StepLog::~StepLog()
{
	if (!ring_)
		return;
	add(ScheduleStep::End, now_ns());
	unlink(path_.c_str());
	if (lock_ >= 0)
		close(lock_);
}

void StepLog::add(ScheduleStep step, u64 time, u32 task, u64 value, const std::string &name)
{
	if (!ring_)
		return;
	u64 n = ring_->written;
	ring_->steps[n % StepRing::STEPS] = make_record(step, time, task, value, name);
	ring_->written.store(n + 1, std::memory_order_release);
}

void StepReader::map()
{
	ino_t inode = 0;
	gpulens::Mapped<const StepRing> ring = gpulens::map_file<const StepRing>(path_.c_str(), 0, &inode);

	if (!ring || inode == inode_ || ring->magic != StepRing::MAGIC || !is_locked(path_))
		return;
	ring_ = std::move(ring);
	inode_ = inode;
	read_ = 0;
	devices_ = ring_->devices;
}

// The writer may be in the middle of the step that replaces the oldest one.
void StepReader::take(std::vector<ScheduleRecord> &steps)
{
	u64 written = ring_->written.load(std::memory_order_acquire), missing = 0;
	size_t first = steps.size();

	if (written < read_)
		read_ = written;
	for (u64 n = written - std::min(written - read_, StepRing::STEPS); n < written; n++)
		steps.push_back(ring_->steps[n % StepRing::STEPS]);
	std::atomic_thread_fence(std::memory_order_acquire);
	u64 now = std::max<u64>(ring_->written, written); // another process' memory: it may say anything
	u64 overwritten = now >= StepRing::STEPS ? now - StepRing::STEPS + 1 : 0;
	if (overwritten > read_) {
		missing = std::min(overwritten, written) - read_;
		size_t torn = steps.size() - first - (written - std::min(overwritten, written));
		steps.erase(steps.begin() + static_cast<ptrdiff_t>(first),
			    steps.begin() + static_cast<ptrdiff_t>(first + torn));
		steps.push_back(make_record(ScheduleStep::Missing, now_ns(), 0, missing, ""));
	}
	read_ = written;
}

std::vector<ScheduleRecord> StepReader::read()
{
	std::vector<ScheduleRecord> steps;

	if (ring_)
		take(steps);
	map(); // another coordinator's
	if (ring_)
		take(steps);
	if (ring_ && !is_locked(path_)) {
		if (steps.empty() || steps.back().step != static_cast<u8>(ScheduleStep::End))
			steps.push_back(make_record(ScheduleStep::End, now_ns(), 0, 0, ""));
		ring_ = nullptr;
	}
	return steps;
}

} // namespace tool::schedule
