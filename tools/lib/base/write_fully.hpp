// SPDX-License-Identifier: GPL-2.0
// Writes all bytes with as many system calls as needed. Header only, because libgpulens-confine.so uses it, too.
#pragma once
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <sys/types.h>
#include <unistd.h>

namespace tool {

// Calls write_some(bytes, done) until all bytes are written. done: number of bytes written before; it returns like write(2).
// Returns 0 or an errno; ENOSPC if write_some() wrote nothing and gave no error.
template <typename F> int write_fully(std::string_view bytes, F write_some)
{
	for (size_t done = 0; done < bytes.size();) {
		ssize_t n = write_some(bytes.substr(done), done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : ENOSPC;
		done += static_cast<size_t>(n);
	}
	return 0;
}

inline int write_fully(int fd, std::string_view bytes)
{
	return write_fully(bytes,
			   [fd](std::string_view rest, size_t) { return ::write(fd, rest.data(), rest.size()); });
}

// Writes at an offset of the file.
inline int write_fully_at(int fd, std::string_view bytes, off_t offset)
{
	return write_fully(bytes, [fd, offset](std::string_view rest, size_t done) {
		return pwrite(fd, rest.data(), rest.size(), offset + static_cast<off_t>(done));
	});
}

} // namespace tool
