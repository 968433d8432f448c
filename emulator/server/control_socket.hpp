// SPDX-License-Identifier: GPL-2.0
// The control socket: a listening AF_UNIX stream; each line a client sends is one JSON command, each answer one
// line. What the commands do is model/control.cc's.
#pragma once
#include "model/gpu.hpp"

#include <poll.h>
#include <string>
#include <vector>

namespace emu {

class ControlSocket {
public:
	ControlSocket(Gpu &gpu, const std::string &path); // throws std::system_error
	~ControlSocket();

	void add_to(std::vector<pollfd> &fds) const;
	void serve(const std::vector<pollfd> &fds);

private:
	struct Client {
		int fd;
		std::string line;
	};
	bool read_lines(Client &c);

	Gpu &gpu_;
	std::string path_;
	int listen_;
	std::vector<Client> clients_;
};

} // namespace emu
