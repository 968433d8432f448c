// SPDX-License-Identifier: GPL-2.0
// See announce.hpp.
#include "announce.hpp"

#include "applied_page.hpp"
#include "hook.hpp"

#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace gpulens {

namespace {

// Out of the way of programs that count on the lowest numbers.
constexpr int HIGH = 900;

tool::AppliedPage *make_page()
{
	int low = memfd_create(tool::APPLIED_FILE, MFD_CLOEXEC);
	void *page = MAP_FAILED;

	if (low < 0)
		return nullptr;
	int fd = fcntl(low, F_DUPFD_CLOEXEC, HIGH);
	if (fd >= 0)
		close(low);
	else
		fd = low;
	if (!ftruncate(fd, sizeof(tool::AppliedPage)))
		page = mmap(nullptr, sizeof(tool::AppliedPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		close(fd);
		return nullptr;
	}
	std::memcpy(static_cast<tool::AppliedPage *>(page)->magic, tool::APPLIED_MAGIC, 8);
	hook::count_into(&static_cast<tool::AppliedPage *>(page)->launches);
	return static_cast<tool::AppliedPage *>(page);
}

} // namespace

void announce(const std::string &text)
{
	static std::mutex lock;
	std::lock_guard<std::mutex> hold(lock);
	static tool::AppliedPage *page = make_page();

	if (page && text.size() < sizeof(page->text))
		std::memcpy(page->text, text.c_str(), text.size() + 1);
}

} // namespace gpulens
