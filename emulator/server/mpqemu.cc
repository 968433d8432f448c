// SPDX-License-Identifier: GPL-2.0
// The device's end of QEMU's multi-process protocol; messages in mpqemu.hpp.
#include "server/mpqemu.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace emu {

namespace {

enum Command : uint32_t { SYNC_SYSMEM, RET, PCI_CFGWRITE, PCI_CFGREAD, BAR_WRITE, BAR_READ, SET_IRQFD, DEVICE_RESET };

constexpr size_t MAX_FDS = 8, HEADER = 16, SYSMEM_SIZE = 3 * MAX_FDS * 8, CONFIG_SIZE = 12, BAR_SIZE = 24;

struct Reply {
	int32_t command;
	uint32_t padding;
	uint64_t size, value;
};
static_assert(sizeof(Reply) == HEADER + 8);

template <class T> T load(const uint8_t *at)
{
	T v;
	std::memcpy(&v, at, sizeof(v));
	return v;
}

} // namespace

uint8_t *GuestMemory::at(uint64_t addr, uint64_t len)
{
	for (const Region &r : regions_)
		if (addr >= r.gpa && addr - r.gpa < r.size && len <= r.size - (addr - r.gpa))
			return r.base + (addr - r.gpa);
	return nullptr;
}

void GuestMemory::clear()
{
	for (const Region &r : regions_)
		munmap(r.base, r.size);
	regions_.clear();
}

bool GuestMemory::add(uint64_t gpa, uint64_t size, uint64_t offset, int fd)
{
	void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off_t(offset));
	if (p == MAP_FAILED)
		return false;
	regions_.push_back({gpa, size, static_cast<uint8_t *>(p)});
	return true;
}

QemuLink::QemuLink(Gpu &gpu, int fd, std::FILE *log) : gpu_(gpu), fd_(fd), log_(log), config_(gpu.profile())
{
	gpu_.set_sysmem(&memory_);
}

QemuLink::~QemuLink()
{
	gpu_.set_sysmem(nullptr);
	for (int fd : fds_)
		close(fd);
}

bool QemuLink::serve()
{
	iovec iov{buffer_ + filled_, sizeof(buffer_) - filled_};
	alignas(cmsghdr) char control[CMSG_SPACE(MAX_FDS * sizeof(int))];
	msghdr msg{};
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = control;
	msg.msg_controllen = sizeof(control);
	ssize_t n = recvmsg(fd_, &msg, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0)
		return false;
	filled_ += size_t(n);
	for (cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++)
				fds_.push_back(load<int>(CMSG_DATA(c) + i * sizeof(int)));

	size_t used = 0;
	while (filled_ - used >= HEADER) {
		uint32_t command = load<uint32_t>(buffer_ + used);
		uint64_t size = load<uint64_t>(buffer_ + used + 8);
		if (size > sizeof(buffer_) - HEADER)
			return false;
		if (filled_ - used < HEADER + size)
			break;
		if (!handle(command, buffer_ + used + HEADER, size))
			return false;
		used += HEADER + size;
	}
	if (used) {
		filled_ -= used;
		std::memmove(buffer_, buffer_ + used, filled_);
	}
	return true;
}

bool QemuLink::reply(uint64_t value)
{
	Reply r{RET, 0, sizeof(r.value), value};
	return send(fd_, &r, sizeof(r), MSG_NOSIGNAL) == ssize_t(sizeof(r));
}

uint64_t QemuLink::bar_access(bool write, uint64_t addr, uint64_t value, unsigned size)
{
	auto hit = config_.find(addr);
	bool sane = size == 1 || size == 2 || size == 4 || size == 8;
	if (!hit || !sane)
		return ~0ull;
	if (uint64_t ns = gpu_.faults().slow_ns) {
		timespec t{time_t(ns / 1'000'000'000), long(ns % 1'000'000'000)};
		nanosleep(&t, nullptr);
	}
	if (write)
		gpu_.write(hit->bar, hit->offset, size, value);
	else
		value = gpu_.read(hit->bar, hit->offset, size);
	if (log_)
		std::fprintf(log_, "%c bar%d %#08" PRIx64 " %u %#" PRIx64 "\n", write ? 'w' : 'r', hit->bar,
			     hit->offset, size, value);
	return value;
}

void QemuLink::take_sysmem(const uint8_t *payload)
{
	memory_.clear();
	for (size_t i = 0; i < fds_.size() && i < MAX_FDS; i++) {
		uint64_t gpa = load<uint64_t>(payload + 8 * i), size = load<uint64_t>(payload + 8 * (MAX_FDS + i)),
			 offset = load<uint64_t>(payload + 8 * (2 * MAX_FDS + i));
		if (size && !memory_.add(gpa, size, offset, fds_[i]))
			std::fprintf(stderr, "gpulens-emulator: cannot map guest memory at %#" PRIx64 ": %s\n", gpa,
				     std::strerror(errno));
	}
}

bool QemuLink::handle(uint32_t command, const uint8_t *p, size_t size)
{
	bool ok = true;
	switch (command) {
	case BAR_READ:
	case BAR_WRITE:
		if (size != BAR_SIZE)
			return false;
		return reply(bar_access(command == BAR_WRITE, load<uint64_t>(p), load<uint64_t>(p + 8),
					load<uint32_t>(p + 16)));
	case PCI_CFGREAD:
		if (size != CONFIG_SIZE)
			return false;
		// a GPU that fell off the bus answers nowhere; shifting by 64 would be undefined
		if (gpu_.faults().all_ones)
			return reply(~uint64_t{0} >> (64 - 8 * std::clamp<uint32_t>(load<uint32_t>(p + 8), 1, 8)));
		return reply(config_.read(load<uint32_t>(p), load<uint32_t>(p + 8)));
	case PCI_CFGWRITE:
		if (size != CONFIG_SIZE)
			return false;
		config_.write(load<uint32_t>(p), load<uint32_t>(p + 8), load<uint32_t>(p + 4));
		gpu_.set_asleep(config_.asleep());
		return reply(0);
	case SYNC_SYSMEM:
		ok = size == SYSMEM_SIZE;
		if (ok)
			take_sysmem(p);
		break;
	case SET_IRQFD: // no interrupts are raised
		break;
	case DEVICE_RESET: // the chip goes on as its driver left it; only the PCI side starts anew
		config_.reset();
		gpu_.set_asleep(false);
		return reply(0);
	default: ok = false;
	}
	for (int fd : fds_)
		close(fd);
	fds_.clear();
	return ok;
}

} // namespace emu
