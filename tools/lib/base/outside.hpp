// SPDX-License-Identifier: GPL-2.0
// Files that strangers name and write, which root looks at, too: what they are is known before they are opened, and what is in
// them is bounded.
#pragma once
#include "gpulens/gpu.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace tool {

// A file as a place (O_PATH), which opening has no effect on, whatever the file is; then, if it is a regular one, as a file.
class OutsideFile {
public:
	OutsideFile(int folder, const char *path, int flags); // flags: with O_PATH
	explicit OutsideFile(int place) : place_(place) {}
	OutsideFile(const OutsideFile &) = delete;
	OutsideFile &operator=(const OutsideFile &) = delete;
	~OutsideFile();

	// False: it is not there, or no regular file. Asks no file server.
	bool is_regular(struct stat &is) const;
	// For reading. False: not allowed.
	bool open_to_read();
	int fd() const { return fd_; }

private:
	int place_ = -1, fd_ = -1;
};

// path as the process of that folder in /proc sees it, in its own mount namespace and root folder.
OutsideFile file_of_process(const char *process, const char *path);

// JSON, nested at most so deep as what gpulens writes. Throws std::exception.
nlohmann::json parse_outside(std::string_view text);
// A whole number below the limit. Throws std::exception.
u32 outside_number(const nlohmann::json &j, u64 limit);
// At most so many of those.
std::vector<u32> outside_numbers(const nlohmann::json &j, u64 limit, size_t most);

} // namespace tool
