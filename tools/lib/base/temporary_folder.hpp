// SPDX-License-Identifier: GPL-2.0
// Temporary files and folders of one command.
#pragma once
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace tool {

// Returns the path of a temporary file of this name, in TMPDIR; in /tmp where that is another user's.
inline std::string temporary_path(const std::string &name)
{
	std::error_code err;
	std::filesystem::path folder = std::filesystem::temp_directory_path(err);
	return (err || access(folder.c_str(), W_OK | X_OK) ? "/tmp" : folder) / name;
}

// Exists as long as this object, with what is in it.
class TemporaryFolder {
public:
	// prefix: the path, to which six characters are added. Throws Error (Source).
	explicit TemporaryFolder(const std::string &prefix) : path_(prefix + "XXXXXX")
	{
		if (!mkdtemp(path_.data()))
			throw Error(Error::Source, explain_file(errno, path_, true));
	}
	TemporaryFolder(const TemporaryFolder &) = delete;
	TemporaryFolder &operator=(const TemporaryFolder &) = delete;
	~TemporaryFolder()
	{
		std::error_code err;
		std::filesystem::remove_all(path_, err);
	}

	const std::string &path() const { return path_; }

private:
	std::string path_;
};

} // namespace tool
