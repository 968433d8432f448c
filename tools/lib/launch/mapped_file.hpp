// SPDX-License-Identifier: GPL-2.0
// Files of one structure that processes share by mapping them. Header only and without exceptions, for preloaded libraries.
#pragma once
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <type_traits>
#include <unistd.h>

namespace gpulens {

template <typename T> struct Unmap {
	void operator()(T *at) const { munmap(const_cast<std::remove_const_t<T> *>(at), sizeof(T)); }
};
template <typename T> using Mapped = std::unique_ptr<T, Unmap<T>>;

// Maps an open file, a regular one of this size or a larger one, as map_file(). Returns null with errno; EINVAL: not such a file.
template <typename T> Mapped<T> map_descriptor(int fd)
{
	constexpr int PROTECTION = std::is_const_v<T> ? PROT_READ : PROT_READ | PROT_WRITE;
	struct stat about {};

	if (fstat(fd, &about))
		return nullptr;
	if (!S_ISREG(about.st_mode) || about.st_size < static_cast<off_t>(sizeof(T))) {
		errno = EINVAL;
		return nullptr;
	}
	void *at = mmap(nullptr, sizeof(T), PROTECTION, MAP_SHARED, fd, 0);
	return Mapped<T>(at == MAP_FAILED ? nullptr : static_cast<T *>(at));
}

// Maps the file for reading and writing, or for reading if T is const. flags: 0 for a file that is there, a regular one of
// just this size; O_CREAT to make it if there is none; O_CREAT | O_EXCL to make it, with O_TRUNC instead of one that is there.
// A new file has mode 0600. inode: of the file. Returns null with errno; EINVAL: not such a file.
template <typename T> Mapped<T> map_file(const char *path, int flags = 0, ino_t *inode = nullptr)
{
	constexpr int ACCESS = std::is_const_v<T> ? O_RDONLY : O_RDWR;
	struct stat about {};
	Mapped<T> mapped;

	if (flags & O_TRUNC)
		unlink(path); // who has it mapped keeps it
	// By system call: open() may be another preloaded library's.
	int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path,
					  (flags & ~O_TRUNC) | ACCESS | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
	if (fd < 0)
		return nullptr;
	int err = fstat(fd, &about) ? errno : S_ISREG(about.st_mode) ? 0 : EINVAL;
	// With all its room: a store for which a full file system has none would be a SIGBUS.
	if (!err && flags & O_CREAT)
		err = posix_fallocate(fd, 0, sizeof(T));
	else if (!err && about.st_size != sizeof(T))
		err = EINVAL;
	if (!err && !(mapped = map_descriptor<T>(fd)))
		err = errno;
	syscall(SYS_close, fd);
	if (err && flags & O_EXCL)
		unlink(path);
	if (inode)
		*inode = about.st_ino;
	if (err)
		errno = err;
	return mapped;
}

} // namespace gpulens
