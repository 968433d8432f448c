// SPDX-License-Identifier: GPL-2.0
// See outside.hpp.
#include "lib/base/outside.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace tool {

namespace {

constexpr int DEEPEST = 4; // arrays and objects in each other

} // namespace

OutsideFile::OutsideFile(int folder, const char *path, int flags) : place_(openat(folder, path, flags))
{
}

OutsideFile::~OutsideFile()
{
	if (fd_ >= 0)
		close(fd_);
	if (place_ >= 0)
		close(place_);
}

bool OutsideFile::is_regular(struct stat &is) const
{
	struct statx told {};

	if (place_ < 0 || statx(place_, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &told))
		return false;
	is.st_dev = makedev(told.stx_dev_major, told.stx_dev_minor);
	is.st_ino = told.stx_ino;
	is.st_mode = told.stx_mode;
	is.st_uid = told.stx_uid;
	is.st_size = static_cast<off_t>(told.stx_size);
	return S_ISREG(told.stx_mode);
}

bool OutsideFile::open_to_read()
{
	fd_ = open(fmt::format("/proc/self/fd/{}", place_).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd_ >= 0;
}

OutsideFile file_of_process(const char *process, const char *path)
{
	struct open_how how {};
	int root = open(fmt::format("{}/root", process).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);

	how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
	long place = root < 0 ? -1 : syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (root >= 0)
		close(root);
	return OutsideFile(static_cast<int>(place));
}

nlohmann::json parse_outside(std::string_view text)
{
	return nlohmann::json::parse(text, [](int depth, nlohmann::json::parse_event_t, nlohmann::json &) {
		if (depth > DEEPEST)
			throw std::out_of_range("nested too deeply");
		return true;
	});
}

u32 outside_number(const nlohmann::json &j, u64 limit)
{
	if (!j.is_number_unsigned() || j.get<u64>() >= limit)
		throw std::out_of_range("not a number that can be");
	return j.get<u32>();
}

std::vector<u32> outside_numbers(const nlohmann::json &j, u64 limit, size_t most)
{
	std::vector<u32> list;

	if (!j.is_array() || j.size() > most)
		throw std::out_of_range("not a list that can be");
	list.reserve(j.size());
	for (const nlohmann::json &one : j)
		list.push_back(outside_number(one, limit));
	return list;
}

} // namespace tool
