// SPDX-License-Identifier: GPL-2.0
// Writes a file in pieces, and replaces the old one atomically at the end.
#pragma once
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace tool {

// A regular or new file is written as a draft with an unpredictable name beside it, which replaces it in commit(), with the
// old file's mode and, if permitted, owner. It is written in place if the folder does not permit new files, or if the file
// is a mount point. Anything else (a device, a FIFO, a link) is written to. "-" is standard output. All functions but the
// destructor throw Error.
class OutputFile {
public:
	enum class Existing {
		Replace,
		Refuse, // EEXIST, also if the file is made before commit(); not for "-"
	};

	explicit OutputFile(std::string path, Existing existing = Existing::Replace);
	OutputFile(const OutputFile &) = delete;
	OutputFile &operator=(const OutputFile &) = delete;
	~OutputFile(); // without commit(), the old file stays

	void write(std::string_view bytes);
	void commit(); // no effect after keep()
	void keep();   // after a failed write: replaces the file with what was written before

private:
	int open_draft(const struct stat *old);
	int publish_draft() const;
	void copy_draft();
	void flush();
	[[noreturn]] void fail(int err) const;

	std::string path_, draft_, buffer_;
	Existing existing_;
	int fd_ = -1;
};

} // namespace tool
