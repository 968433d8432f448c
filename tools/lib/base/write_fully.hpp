// SPDX-License-Identifier: GPL-2.0
// Writing of all bytes, whatever a single system call takes of them. Header only: libgpulens-confine.so has it, too.
#pragma once
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <sys/types.h>
#include <unistd.h>

namespace tool {

// write_some(bytes, done) is called until all are written: done are already; it returns as write(2) does. 0 or the errno;
// ENOSPC where nothing was taken without an error.
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

// From that place of the file on, in bytes.
inline int write_fully_at(int fd, std::string_view bytes, off_t at)
{
	return write_fully(bytes, [fd, at](std::string_view rest, size_t done) {
		return pwrite(fd, rest.data(), rest.size(), at + static_cast<off_t>(done));
	});
}

} // namespace tool
