// SPDX-License-Identifier: GPL-2.0
// Untrusted files, which other users name and write, and root may read: their type is checked before they are opened, and
// their content is bounded.
#pragma once
#include "gpulens/gpu.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace tool {

// A file that is first opened with O_PATH, which has no effect on any kind of file, and for reading if it is a regular one.
class OutsideFile {
public:
	OutsideFile(int folder, const char *path, int flags); // flags: include O_PATH
	explicit OutsideFile(int path_fd) : path_fd_(path_fd) {}
	OutsideFile(const OutsideFile &) = delete;
	OutsideFile &operator=(const OutsideFile &) = delete;
	~OutsideFile();

	// Returns false if it does not exist or is not a regular file. Queries no file server.
	bool is_regular(struct stat &status) const;
	// Opens it for reading, or for writing as well. Returns false if that is not permitted; errno says why.
	bool open_to_read() { return open(O_RDONLY); }
	bool open_to_write() { return open(O_RDWR); }
	int fd() const { return fd_; }

private:
	bool open(int access);

	int path_fd_ = -1, fd_ = -1;
};

// Opens a path in the mount namespace and root folder of a process. process: its folder in /proc.
OutsideFile file_of_process(const char *process, const char *path);

// Parses JSON with at most the depth of what gpulens writes. Throws std::exception.
nlohmann::json parse_outside(std::string_view text);
// Returns a whole number below the limit. Throws std::exception.
u32 outside_number(const nlohmann::json &j, u64 limit);
// Returns at most max_count of them.
std::vector<u32> outside_numbers(const nlohmann::json &j, u64 limit, size_t max_count);

} // namespace tool
