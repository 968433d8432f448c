// SPDX-License-Identifier: GPL-2.0
// The control socket: a listening AF_UNIX stream; each line a client sends is one JSON command, each answer one
// line. The commands are in control/commands.cc.
#pragma once
#include "control/emulated_gpu.hpp"

#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace emu {

class ControlSocket {
public:
	// Replaces a socket of that name without a listener; throws std::system_error for anything else of that name.
	ControlSocket(EmulatedGpu &gpu, const std::string &path);
	~ControlSocket();

	void add_to(std::vector<pollfd> &fds) const;
	void serve(const std::vector<pollfd> &fds);

private:
	// Takes no more commands from a client that does not read its answers.
	struct Client {
		int fd;
		std::string line, answers; // not yet taken
	};
	bool serve(Client &c, short events);
	static bool send_answers(Client &c);

	EmulatedGpu &gpu_;
	std::string path_;
	int listen_ = -1;
	struct stat bound_ {}; // what path_ named after bind()
	std::vector<Client> clients_;
};

} // namespace emu
