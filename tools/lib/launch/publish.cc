// SPDX-License-Identifier: GPL-2.0
// Writes the memory file, and follows fork().
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

using tool::PartitionPage;

// Lowest number of the file's descriptor: programs may rely on getting the lowest ones.
constexpr int MIN_FD = 900;

struct Published {
	std::mutex lock;
	std::string text;
	PartitionPage *page = nullptr; // of this process; never unmapped, because launches count there
	int fd = -1;
	bool (*take)(const char *mask) = nullptr; // null: takes no requests
	struct stat file {}; // of fd: programs may close descriptors that they did not open, and reuse them
};

// Never destroyed, like the masks of launch_hook.cc.
Published &published()
{
	static Published &state = *new Published;
	return state;
}

bool owns_file(const Published &a)
{
	struct stat file {};

	return a.page && !fstat(a.fd, &file) && file.st_dev == a.file.st_dev && file.st_ino == a.file.st_ino;
}

void make_page(Published &a)
{
	int low = memfd_create(tool::PARTITION_FILE, MFD_CLOEXEC);
	void *mapped = MAP_FAILED;

	if (low < 0)
		return;
	int fd = fcntl(low, F_DUPFD_CLOEXEC, MIN_FD);
	if (fd >= 0)
		close(low);
	else
		fd = low;
	if (!ftruncate(fd, tool::PARTITION_TEXT_OFFSET) && !fstat(fd, &a.file))
		mapped = mmap(nullptr, sizeof(PartitionPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) {
		close(fd);
		return;
	}
	auto *page = static_cast<PartitionPage *>(mapped);
	std::memcpy(page->magic, tool::PARTITION_MAGIC, sizeof(page->magic));
	page->pid = static_cast<u32>(getpid());
	if (a.page)
		page->launches = std::atomic_ref<u64>(a.page->launches).load(std::memory_order_relaxed);
	a.page = page;
	a.fd = fd;
	hook::count_into(&page->launches);
}

bool write_text(int fd, const std::string &text)
{
	return !ftruncate(fd, static_cast<off_t>(tool::PARTITION_TEXT_OFFSET + text.size())) &&
	       !tool::write_fully_at(fd, text, tool::PARTITION_TEXT_OFFSET);
}

// Of what another process may be writing: ends with 0.
template <size_t N> std::string copy_text(const char (&text)[N])
{
	return {text, strnlen(text, N)};
}

// The caller holds the lock.
void write_page(Published &a)
{
	if (!owns_file(a))
		make_page(a);
	if (!owns_file(a))
		return;
	a.page->takes_requests = a.take ? 1 : 0;
	hook::watch_requests(a.take ? &a.page->asked : nullptr, answer_request);
	std::atomic_ref<u32> version(a.page->version);
	version.fetch_add(1);
	a.page->length = write_text(a.fd, a.text) ? a.text.size() : 0;
	version.fetch_add(1);
}

void lock_before_fork()
{
	published().lock.lock();
}

void unlock_after_fork()
{
	published().lock.unlock();
}

// The parent's page describes the parent. The child makes its own at its first launch.
void reset_in_child()
{
	Published &a = published();

	if (owns_file(a))
		close(a.fd);
	if (a.page)
		munmap(a.page, sizeof(PartitionPage));
	a.page = nullptr;
	a.fd = -1;
	hook::count_into(nullptr);
	hook::watch_requests(nullptr, nullptr);
	a.lock.unlock();
}

void publish_in_child()
{
	std::lock_guard<std::mutex> hold(published().lock);

	if (!published().page)
		write_page(published());
}

} // namespace

bool publish_over_fork()
{
	static const int failed = pthread_atfork(lock_before_fork, unlock_after_fork, reset_in_child);

	return !failed;
}

uint32_t answer_request()
{
	Published &a = published();
	std::lock_guard<std::mutex> hold(a.lock);
	PartitionPage *page = a.page; // write_page() may make another one
	if (!page || !a.take)
		return 0;
	std::atomic_ref<u32> asked(page->asked);
	u32 now = asked.load(std::memory_order_acquire);
	std::string mask = copy_text(page->mask), text = copy_text(page->text);

	if (now == page->answered || now % 2 || asked.load(std::memory_order_acquire) != now)
		return page->answered;
	if (a.take(mask.c_str())) {
		a.text = text;
		write_page(a);
	} else {
		page->refused = now;
	}
	std::atomic_ref<u32>(page->answered).store(now, std::memory_order_release);
	return now;
}

void publish(const std::string &text)
{
	publish_on_request(text, nullptr);
}

void publish_on_request(const std::string &text, bool (*take)(const char *mask))
{
	bool over_fork = publish_over_fork();
	Published &a = published();
	std::lock_guard<std::mutex> hold(a.lock);

	a.text = text;
	a.take = take;
	write_page(a);
	if (over_fork)
		hook::on_uncounted(publish_in_child);
}

} // namespace gpulens
