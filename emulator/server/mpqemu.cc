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

enum Message : u32 { SYNC_SYSMEM, RET, PCI_CFGWRITE, PCI_CFGREAD, BAR_WRITE, BAR_READ, SET_IRQFD, DEVICE_RESET };

constexpr size_t MAX_FDS = 8, HEADER = 16, SYSMEM_SIZE = 3 * MAX_FDS * 8, CONFIG_SIZE = 12, BAR_SIZE = 24;

struct Reply {
	int32_t command;
	u32 padding;
	u64 size, value;
};
static_assert(sizeof(Reply) == HEADER + 8);

template <class T> T load_field(const u8 *at)
{
	T v;
	std::memcpy(&v, at, sizeof(v));
	return v;
}

} // namespace

u8 *GuestMemory::at(u64 addr, u64 len)
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

bool GuestMemory::add(u64 gpa, u64 size, u64 offset, int fd)
{
	void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off_t(offset));
	if (p == MAP_FAILED)
		return false;
	regions_.push_back({gpa, size, static_cast<u8 *>(p)});
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
				fds_.push_back(load_field<int>(CMSG_DATA(c) + i * sizeof(int)));

	size_t used = 0;
	while (filled_ - used >= HEADER) {
		u32 command = load_field<u32>(buffer_ + used);
		u64 size = load_field<u64>(buffer_ + used + 8);
		if (size > sizeof(buffer_) - HEADER)
			return false;
		if (filled_ - used < HEADER + size)
			break;
		if (!handle_message(command, buffer_ + used + HEADER, size))
			return false;
		used += HEADER + size;
	}
	if (used) {
		filled_ -= used;
		std::memmove(buffer_, buffer_ + used, filled_);
	}
	return true;
}

bool QemuLink::send_reply(u64 value)
{
	Reply r{RET, 0, sizeof(r.value), value};
	return send(fd_, &r, sizeof(r), MSG_NOSIGNAL) == ssize_t(sizeof(r));
}

u64 QemuLink::access_bar(bool write, u64 addr, u64 value, unsigned size)
{
	auto hit = config_.find_bar(addr);
	bool sane = size == 1 || size == 2 || size == 4 || size == 8;
	if (!hit || !sane)
		return ~0ull;
	if (u64 ns = gpu_.faults().slow_ns) {
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

void QemuLink::map_memory(const u8 *payload)
{
	memory_.clear();
	for (size_t i = 0; i < fds_.size() && i < MAX_FDS; i++) {
		u64 gpa = load_field<u64>(payload + 8 * i), size = load_field<u64>(payload + 8 * (MAX_FDS + i)),
		    offset = load_field<u64>(payload + 8 * (2 * MAX_FDS + i));
		if (size && !memory_.add(gpa, size, offset, fds_[i]))
			std::fprintf(stderr, "gpulens-emulator: cannot map guest memory at %#" PRIx64 ": %s\n", gpa,
				     std::strerror(errno));
	}
}

bool QemuLink::handle_message(u32 command, const u8 *p, size_t size)
{
	bool ok = true;
	switch (command) {
	case BAR_READ:
	case BAR_WRITE:
		if (size != BAR_SIZE)
			return false;
		return send_reply(access_bar(command == BAR_WRITE, load_field<u64>(p), load_field<u64>(p + 8),
					     load_field<u32>(p + 16)));
	case PCI_CFGREAD:
		if (size != CONFIG_SIZE)
			return false;
		// a GPU that fell off the bus does not answer here either; shifting by 64 would be undefined
		if (gpu_.faults().all_ones)
			return send_reply(~u64{0} >> (64 - 8 * std::clamp<u32>(load_field<u32>(p + 8), 1, 8)));
		return send_reply(config_.read(load_field<u32>(p), load_field<u32>(p + 8)));
	case PCI_CFGWRITE:
		if (size != CONFIG_SIZE)
			return false;
		config_.write(load_field<u32>(p), load_field<u32>(p + 8), load_field<u32>(p + 4));
		gpu_.set_asleep(config_.is_asleep());
		return send_reply(0);
	case SYNC_SYSMEM:
		ok = size == SYSMEM_SIZE;
		if (ok)
			map_memory(p);
		break;
	case SET_IRQFD: // no interrupts are raised through it: --irq does that
		break;
	case DEVICE_RESET: // the chip keeps its state; only the PCI side is reset
		config_.reset();
		gpu_.set_asleep(false);
		return send_reply(0);
	default: ok = false;
	}
	for (int fd : fds_)
		close(fd);
	fds_.clear();
	return ok;
}

} // namespace emu
