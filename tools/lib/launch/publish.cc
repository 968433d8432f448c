// SPDX-License-Identifier: GPL-2.0
// See publish.hpp.
#include "lib/launch/publish.hpp"

#include "lib/base/write_fully.hpp"
#include "lib/launch/launch_hook.hpp"
#include "lib/launch/partition_page.hpp"

#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpulens {

namespace {

using tool::AppliedPage;

// Out of the way of programs that count on the lowest numbers.
constexpr int HIGH = 900;

struct Announced {
	std::mutex lock;
	std::string text;
	AppliedPage *page = nullptr; // of this process; mapped for ever, since launches count there
	int fd = -1;
	struct stat file {}; // what that was, as programs close numbers that they do not know and take them again
};

// Kept for ever, as the hook's masks are.
Announced &mine()
{
	static Announced &one = *new Announced;
	return one;
}

bool has_file(const Announced &a)
{
	struct stat now {};

	return a.page && !fstat(a.fd, &now) && now.st_dev == a.file.st_dev && now.st_ino == a.file.st_ino;
}

void make_page(Announced &a)
{
	int low = memfd_create(tool::APPLIED_FILE, MFD_CLOEXEC);
	void *mapped = MAP_FAILED;

	if (low < 0)
		return;
	int fd = fcntl(low, F_DUPFD_CLOEXEC, HIGH);
	if (fd >= 0)
		close(low);
	else
		fd = low;
	if (!ftruncate(fd, tool::APPLIED_TEXT_AT) && !fstat(fd, &a.file))
		mapped = mmap(nullptr, sizeof(AppliedPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) {
		close(fd);
		return;
	}
	auto *page = static_cast<AppliedPage *>(mapped);
	std::memcpy(page->magic, tool::APPLIED_MAGIC, sizeof(page->magic));
	page->pid = static_cast<u32>(getpid());
	if (a.page)
		page->launches = std::atomic_ref<u64>(a.page->launches).load(std::memory_order_relaxed);
	a.page = page;
	a.fd = fd;
	hook::count_into(&page->launches);
}

bool write_whole(int fd, const std::string &text)
{
	return !ftruncate(fd, static_cast<off_t>(tool::APPLIED_TEXT_AT + text.size())) &&
	       !tool::write_fully_at(fd, text, tool::APPLIED_TEXT_AT);
}

// With the lock held.
void write_page(Announced &a)
{
	if (!has_file(a))
		make_page(a);
	if (!has_file(a))
		return;
	std::atomic_ref<u32> version(a.page->version);
	version.fetch_add(1);
	a.page->length = write_whole(a.fd, a.text) ? a.text.size() : 0;
	version.fetch_add(1);
}

void before_fork()
{
	mine().lock.lock();
}

void after_fork()
{
	mine().lock.unlock();
}

// The parent's page is about the parent. The child gets one when it launches something: most never do.
void in_child()
{
	Announced &a = mine();

	if (has_file(a))
		close(a.fd);
	if (a.page)
		munmap(a.page, sizeof(AppliedPage));
	a.page = nullptr;
	a.fd = -1;
	hook::count_into(nullptr);
	a.lock.unlock();
}

void announce_again()
{
	std::lock_guard<std::mutex> hold(mine().lock);

	if (!mine().page)
		write_page(mine());
}

} // namespace

bool announce_over_fork()
{
	static const int failed = pthread_atfork(before_fork, after_fork, in_child);

	return !failed;
}

void announce(const std::string &text)
{
	bool over_fork = announce_over_fork();
	Announced &a = mine();
	std::lock_guard<std::mutex> hold(a.lock);

	a.text = text;
	write_page(a);
	if (over_fork)
		hook::on_uncounted(announce_again);
}

} // namespace gpulens
