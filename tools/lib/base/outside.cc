// SPDX-License-Identifier: GPL-2.0
// Opens and parses untrusted files.
#include "lib/base/outside.hpp"

#include <fmt/format.h>
#include <linux/openat2.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace tool {

namespace {

constexpr int MAX_NESTING = 4; // of arrays and objects

} // namespace

OutsideFile::OutsideFile(int folder, const char *path, int flags) : path_fd_(openat(folder, path, flags))
{
}

OutsideFile::~OutsideFile()
{
	if (fd_ >= 0)
		close(fd_);
	if (path_fd_ >= 0)
		close(path_fd_);
}

bool OutsideFile::is_regular(struct stat &status) const
{
	struct statx found {};

	if (path_fd_ < 0 || statx(path_fd_, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &found))
		return false;
	status.st_dev = makedev(found.stx_dev_major, found.stx_dev_minor);
	status.st_ino = found.stx_ino;
	status.st_mode = found.stx_mode;
	status.st_uid = found.stx_uid;
	status.st_size = static_cast<off_t>(found.stx_size);
	return S_ISREG(found.stx_mode);
}

bool OutsideFile::open(int access)
{
	fd_ = ::open(fmt::format("/proc/self/fd/{}", path_fd_).c_str(), access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd_ >= 0;
}

OutsideFile file_of_process(const char *process, const char *path)
{
	struct open_how request {};
	int root = open(fmt::format("{}/root", process).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);

	request.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	request.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
	long path_fd = root < 0 ? -1 : syscall(SYS_openat2, root, path, &request, sizeof(request));
	if (root >= 0)
		close(root);
	return OutsideFile(static_cast<int>(path_fd));
}

nlohmann::json parse_outside(std::string_view text)
{
	return nlohmann::json::parse(text, [](int depth, nlohmann::json::parse_event_t, nlohmann::json &) {
		if (depth > MAX_NESTING)
			throw std::out_of_range("nested too deeply");
		return true;
	});
}

u32 outside_number(const nlohmann::json &j, u64 limit)
{
	if (!j.is_number_unsigned() || j.get<u64>() >= limit)
		throw std::out_of_range("not a valid number");
	return j.get<u32>();
}

std::vector<u32> outside_numbers(const nlohmann::json &j, u64 limit, size_t max_count)
{
	std::vector<u32> list;

	if (!j.is_array() || j.size() > max_count)
		throw std::out_of_range("not a valid list");
	list.reserve(j.size());
	for (const nlohmann::json &number : j)
		list.push_back(outside_number(number, limit));
	return list;
}

} // namespace tool
