// SPDX-License-Identifier: GPL-2.0
// Loads the module, and unloads it however this process ends.
#pragma once
#include "lib/base/child_process.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool {

class LoadedModule {
public:
	// words: the command that loads it, with the module's parameters. It is run by a process of its own, which is
	// in a session of its own, ignores signals, and unloads the module when this object or this process ends,
	// also by SIGKILL. Make it in a process with a single thread. Throws Error if the module was not loaded.
	explicit LoadedModule(const std::vector<std::string> &words);
	LoadedModule(const LoadedModule &) = delete;
	LoadedModule &operator=(const LoadedModule &) = delete;
	// As unload(), with the error on standard error.
	~LoadedModule();

	// Returns when it is unloaded. Throws Error if that failed.
	void unload();

private:
	int end_ = -1; // of a socket; the keeper unloads when it is closed
	std::optional<ChildProcess> keeper_;
};

} // namespace tool
