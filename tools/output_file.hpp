// SPDX-License-Identifier: GPL-2.0
// A file that is written piece by piece, and is complete or not there under its name.
#pragma once
#include <string>
#include <string_view>

namespace tool {

// A regular file, or a new one, is written under another name beside it, which nobody else can have made, and takes its
// place in commit(), with the old one's mode. Anything else (a device, a FIFO, a link, what another process substituted)
// is written to. "-" is standard output. All but the destructor throw SourceError.
class OutputFile {
public:
	explicit OutputFile(std::string path);
	OutputFile(const OutputFile &) = delete;
	OutputFile &operator=(const OutputFile &) = delete;
	~OutputFile(); // without commit(): what was there before stays

	void write(std::string_view bytes);
	void commit();

private:
	void flush();
	[[noreturn]] void fail(int err) const;

	std::string path_, draft_, buffer_;
	int fd_ = -1;
};

} // namespace tool
