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

static constexpr size_t LINE_LIMIT = 16u << 20;

ControlSocket::ControlSocket(Gpu &gpu, const std::string &path) : gpu_(gpu), path_(path)
{
	sockaddr_un addr{};
	addr.sun_family = AF_UNIX;
	if (path.size() >= sizeof(addr.sun_path))
		throw std::system_error(ENAMETOOLONG, std::generic_category(), path);
	std::memcpy(addr.sun_path, path.c_str(), path.size() + 1);
	unlink(path.c_str());
	listen_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listen_ < 0 || bind(listen_, reinterpret_cast<sockaddr *>(&addr), sizeof(addr)) || listen(listen_, 8))
		throw std::system_error(errno, std::generic_category(), path);
}

ControlSocket::~ControlSocket()
{
	for (auto &c : clients_)
		close(c.fd);
	close(listen_);
	unlink(path_.c_str());
}

void ControlSocket::add_to(std::vector<pollfd> &fds) const
{
	fds.push_back({listen_, POLLIN, 0});
	for (const auto &c : clients_)
		fds.push_back({c.fd, POLLIN, 0});
}

void ControlSocket::serve(const std::vector<pollfd> &fds)
{
	for (const pollfd &p : fds) {
		if (!p.revents)
			continue;
		if (p.fd == listen_) {
			int fd = accept4(listen_, nullptr, nullptr, SOCK_CLOEXEC);
			if (fd >= 0)
				clients_.push_back({fd, {}});
			continue;
		}
		auto c = std::find_if(clients_.begin(), clients_.end(), [&](const Client &x) { return x.fd == p.fd; });
		if (c != clients_.end() && !read_lines(*c)) {
			close(c->fd);
			clients_.erase(c);
		}
	}
}

static bool send_all(int fd, const std::string &s)
{
	for (size_t at = 0; at < s.size();) {
		ssize_t n = send(fd, s.data() + at, s.size() - at, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		at += size_t(n);
	}
	return true;
}

bool ControlSocket::read_lines(Client &c)
{
	char chunk[65536];
	ssize_t n = recv(c.fd, chunk, sizeof(chunk), MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0 || c.line.size() + size_t(n) > LINE_LIMIT)
		return false;
	c.line.append(chunk, size_t(n));
	for (size_t end; (end = c.line.find('\n')) != std::string::npos; c.line.erase(0, end + 1)) {
		auto command = nlohmann::json::parse(c.line.begin(), c.line.begin() + long(end), nullptr, false);
		nlohmann::json answer = command.is_discarded() ? nlohmann::json{{"ok", false}, {"error", "not JSON"}}
							       : gpu_.control(command);
		if (!send_all(c.fd, answer.dump() + "\n"))
			return false;
	}
	return true;
}

} // namespace emu
