// SPDX-License-Identifier: GPL-2.0
// A file that is written piece by piece, and is complete or not there under its name.
#pragma once
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace tool {

// A regular file, or a new one, is written under another name beside it, which nobody can know before, and takes its
// place in commit(), with the old one's mode and where allowed its owner; where the folder takes no other file, and where
// the file is mounted by itself, it is written in place. Anything else (a device, a FIFO, a link, what another process substituted)
// is written to. "-" is standard output. All but the destructor throw Error.
class OutputFile {
public:
	explicit OutputFile(std::string path);
	OutputFile(const OutputFile &) = delete;
	OutputFile &operator=(const OutputFile &) = delete;
	~OutputFile(); // without commit(): what was there before stays

	void write(std::string_view bytes);
	void commit(); // nothing after keep()
	void keep();   // after a failed write: what was written before it takes the file's place

private:
	int open_draft(const struct stat *old);
	void copy_draft();
	void flush();
	[[noreturn]] void fail(int err) const;

	std::string path_, draft_, buffer_;
	int fd_ = -1;
};

} // namespace tool
