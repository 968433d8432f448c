// SPDX-License-Identifier: GPL-2.0
// See step_log.hpp.
#include "lib/schedule/live/step_log.hpp"

#include "lib/base/monotonic.hpp"

#include <algorithm>
#include <cstring>
#include <endian.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

} // namespace

StepLog::StepLog(std::string path, u64 devices) : path_(std::move(path))
{
	unlink(path_.c_str()); // of a coordinator that was killed; readers have it mapped
	int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	void *at = fd < 0 || posix_fallocate(fd, 0, sizeof(StepRing))
			   ? MAP_FAILED
			   : mmap(nullptr, sizeof(StepRing), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED)
		return;
	ring_ = static_cast<StepRing *>(at);
	ring_->devices = devices;
	ring_->magic = StepRing::MAGIC;
}

StepLog::~StepLog()
{
	if (!ring_)
		return;
	add(ScheduleStep::End, now_ns());
	munmap(ring_, sizeof(StepRing));
	unlink(path_.c_str());
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
	int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat about {};

	if (fd < 0)
		return;
	bool whole = !fstat(fd, &about) && S_ISREG(about.st_mode) && about.st_size == sizeof(StepRing) &&
		     about.st_ino != inode_;
	void *at = whole ? mmap(nullptr, sizeof(StepRing), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
	close(fd);
	if (at == MAP_FAILED)
		return;
	const StepRing *ring = static_cast<StepRing *>(at);
	if (ring->magic != StepRing::MAGIC) {
		munmap(at, sizeof(StepRing));
		return;
	}
	unmap();
	ring_ = ring;
	inode_ = about.st_ino;
	read_ = 0;
	devices_ = ring_->devices;
}

void StepReader::unmap()
{
	if (ring_)
		munmap(const_cast<StepRing *>(ring_), sizeof(StepRing));
	ring_ = nullptr;
}

// The writer may be in the middle of the step that replaces the oldest one.
void StepReader::take(std::vector<ScheduleRecord> &steps)
{
	u64 written = ring_->written.load(std::memory_order_acquire), missing = 0;
	size_t first = steps.size();

	if (written < read_)
		read_ = written;
	for (u64 n = written > read_ + StepRing::STEPS ? written - StepRing::STEPS : read_; n < written; n++)
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
	return steps;
}

} // namespace tool::schedule
