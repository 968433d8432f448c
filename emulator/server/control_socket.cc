// SPDX-License-Identifier: GPL-2.0
// Line-based JSON over AF_UNIX; see control_socket.hpp.
#include "server/control_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace emu {

namespace {

constexpr size_t LINE_LIMIT = 16u << 20;

// Removes a socket without a listener, as a killed emulator leaves it.
void remove_stale(const std::string &path, const sockaddr_un &addr)
{
	struct stat st;
	int fd = -1;

	if (lstat(path.c_str(), &st))
		return;
	if (!S_ISSOCK(st.st_mode))
		throw std::system_error(EEXIST, std::generic_category(), path + ": not a socket");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool listens = fd < 0 || !connect(fd, reinterpret_cast<const sockaddr *>(&addr), sizeof(addr)) ||
		       errno != ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	if (listens)
		throw std::system_error(EADDRINUSE, std::generic_category(), path);
	unlink(path.c_str());
}

} // namespace

ControlSocket::ControlSocket(EmulatedGpu &gpu, const std::string &path) : gpu_(gpu), path_(path)
{
	sockaddr_un addr{};
	addr.sun_family = AF_UNIX;
	if (path.size() >= sizeof(addr.sun_path))
		throw std::system_error(ENAMETOOLONG, std::generic_category(), path);
	std::memcpy(addr.sun_path, path.c_str(), path.size() + 1);
	remove_stale(path, addr);
	listen_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listen_ < 0 || bind(listen_, reinterpret_cast<sockaddr *>(&addr), sizeof(addr)) || listen(listen_, 8) ||
	    lstat(path.c_str(), &bound_))
		throw std::system_error(errno, std::generic_category(), path);
}

ControlSocket::~ControlSocket()
{
	struct stat now;

	for (auto &c : clients_)
		close(c.fd);
	close(listen_);
	if (!lstat(path_.c_str(), &now) && now.st_dev == bound_.st_dev && now.st_ino == bound_.st_ino)
		unlink(path_.c_str());
}

void ControlSocket::add_to(std::vector<pollfd> &fds) const
{
	fds.push_back({listen_, POLLIN, 0});
	for (const auto &c : clients_)
		fds.push_back({c.fd, static_cast<short>(c.answers.empty() ? POLLIN : POLLOUT), 0});
}

void ControlSocket::serve(const std::vector<pollfd> &fds)
{
	for (const pollfd &p : fds) {
		if (!p.revents)
			continue;
		if (p.fd == listen_) {
			int fd = accept4(listen_, nullptr, nullptr, SOCK_CLOEXEC);
			if (fd >= 0)
				clients_.push_back({fd, {}, {}});
			continue;
		}
		auto c = std::find_if(clients_.begin(), clients_.end(), [&](const Client &x) { return x.fd == p.fd; });
		if (c != clients_.end() && !serve(*c, p.revents)) {
			close(c->fd);
			clients_.erase(c);
		}
	}
}

// Sends as much as the client takes without waiting. False: the client is gone.
bool ControlSocket::send_answers(Client &c)
{
	while (!c.answers.empty()) {
		ssize_t n = send(c.fd, c.answers.data(), c.answers.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		c.answers.erase(0, size_t(n));
	}
	return true;
}

bool ControlSocket::serve(Client &c, short events)
{
	if (c.answers.empty() || !(events & POLLOUT)) {
		char chunk[65536];
		ssize_t n = recv(c.fd, chunk, sizeof(chunk), MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (n == 0 || c.line.size() + size_t(n) > LINE_LIMIT)
			return false;
		c.line.append(chunk, size_t(n));
	}
	if (!send_answers(c))
		return false;
	for (size_t end; c.answers.empty() && (end = c.line.find('\n')) != std::string::npos;
	     c.line.erase(0, end + 1)) {
		auto command = nlohmann::json::parse(c.line.begin(), c.line.begin() + long(end), nullptr, false);
		nlohmann::json answer = command.is_discarded() ? nlohmann::json{{"ok", false}, {"error", "not JSON"}}
							       : gpu_.control(command);
		c.answers = answer.dump() + "\n";
		if (!send_answers(c))
			return false;
	}
	return true;
}

} // namespace emu
