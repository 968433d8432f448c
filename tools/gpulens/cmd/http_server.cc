// SPDX-License-Identifier: GPL-2.0
// See http_server.hpp.
#include "gpulens/cmd/http_server.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <list>
#include <microhttpd.h>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace tool {

namespace {

using clock = std::chrono::steady_clock;

// A connection without any traffic ends by itself, even if close_overdue() is not called.
constexpr unsigned SILENCE_SECONDS = 5;

struct Client {
	int fd;
	clock::time_point until;
	bool asked = false; // its request is whole
	bool ended = false; // shut down, and not yet closed
};

// libmicrohttpd sees the end of the stream and closes the socket.
void end(Client &c)
{
	c.ended = true;
	shutdown(c.fd, SHUT_RDWR);
}

const char *header(MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

HttpAnswer plain(unsigned status, const char *text)
{
	return {status, "text/plain; charset=utf-8", std::make_shared<const std::string>(text)};
}

HttpAnswer refused(unsigned status)
{
	return plain(status, status == 405 ? "GET and HEAD only\n" : "a request has no body here\n");
}

MHD_Result send(MHD_Connection *connection, const HttpAnswer &answer)
{
	auto kept = std::make_unique<std::shared_ptr<const std::string>>(answer.body);
	// It is only read.
	void *bytes = const_cast<char *>(answer.body->data());
	MHD_Response *r = MHD_create_response_from_buffer_with_free_callback_cls(
		answer.body->size(), bytes,
		[](void *body) { delete static_cast<std::shared_ptr<const std::string> *>(body); }, kept.get());

	if (!r)
		return MHD_NO;
	(void)kept.release(); // the response's
	MHD_add_response_header(r, "Connection", "close");
	MHD_add_response_header(r, "Content-Type", answer.type.c_str());
	if (answer.status == 405)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	MHD_Result queued = MHD_queue_response(connection, answer.status, r);
	MHD_destroy_response(r);
	return queued;
}

} // namespace

struct HttpServer::State {
	Handler handler;
	std::mutex mutex;          // of what follows
	std::list<Client> clients; // the oldest first
	bool handling = false;
	MHD_Daemon *daemon = nullptr;

	static MHD_Result on_request(void *cls, MHD_Connection *connection, const char *url, const char *method,
				     const char *, const char *, size_t *, void **);
	static void on_connection(void *cls, MHD_Connection *connection, void **context,
				  MHD_ConnectionNotificationCode code);
	HttpAnswer handle(std::string_view path);
	void make_room();
};

// Clients that wait meanwhile are not late.
HttpAnswer HttpServer::State::handle(std::string_view path)
{
	clock::time_point begun = clock::now();
	HttpAnswer answer;

	{
		std::lock_guard lock(mutex);
		handling = true;
	}
	try {
		answer = handler(path);
	} catch (const std::exception &e) {
		answer = plain(500, "internal error\n");
	}
	std::lock_guard lock(mutex);
	handling = false;
	for (Client &c : clients)
		c.until += clock::now() - begun;
	return answer;
}

// Called with the headers, before a body is read. To answer then is to close without reading one.
MHD_Result HttpServer::State::on_request(void *cls, MHD_Connection *connection, const char *url, const char *method,
					 const char *, const char *, size_t *, void **)
{
	State *self = static_cast<State *>(cls);
	const MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	unsigned status = refusal_of(method, header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH),
				     header(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING));

	if (!status) {
		std::lock_guard lock(self->mutex);
		if (info && info->socket_context)
			static_cast<Client *>(info->socket_context)->asked = true;
	}
	HttpAnswer answer = status ? refused(status) : self->handle(url);
	if (info && info->socket_context) {
		std::lock_guard lock(self->mutex);
		static_cast<Client *>(info->socket_context)->until = clock::now() + ANSWER_TIME;
	}
	return send(connection, answer);
}

void HttpServer::State::on_connection(void *cls, MHD_Connection *connection, void **context,
				      MHD_ConnectionNotificationCode code)
{
	State *self = static_cast<State *>(cls);
	const MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	std::lock_guard lock(self->mutex);

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		self->clients.remove_if([context](const Client &c) { return &c == *context; });
		return;
	}
	self->make_room();
	self->clients.push_back({info->connect_fd, clock::now() + REQUEST_TIME});
	*context = &self->clients.back();
}

void HttpServer::State::make_room()
{
	auto open = [](const Client &c) { return !c.ended; };

	if (std::count_if(clients.begin(), clients.end(), open) < EVICT_FROM)
		return;
	auto at = std::find_if(clients.begin(), clients.end(), [](const Client &c) { return !c.ended && !c.asked; });
	if (at == clients.end())
		at = std::find_if(clients.begin(), clients.end(), open);
	end(*at);
}

unsigned refusal_of(std::string_view method, const char *length, const char *encoding)
{
	if (method != "GET" && method != "HEAD")
		return 405;
	return encoding || (length && std::strcmp(length, "0") != 0) ? 413 : 0;
}

HttpServer::HttpServer(int listener, Handler handler) : state_(std::make_unique<State>())
{
	state_->handler = std::move(handler);
	state_->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD, 0, nullptr, nullptr, &State::on_request, state_.get(),
		MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, MAX_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADER_BYTES, MHD_OPTION_CONNECTION_MEMORY_INCREMENT, size_t{1024},
		MHD_OPTION_CONNECTION_TIMEOUT, SILENCE_SECONDS, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_NOTIFY_CONNECTION, &State::on_connection, state_.get(), MHD_OPTION_END);
	if (!state_->daemon) {
		close(listener);
		throw std::runtime_error("the HTTP server cannot begin: no memory, threads or file descriptors left");
	}
}

HttpServer::~HttpServer()
{
	MHD_stop_daemon(state_->daemon);
}

void HttpServer::close_overdue()
{
	std::lock_guard lock(state_->mutex);
	clock::time_point now = clock::now();

	if (state_->handling)
		return;
	for (Client &c : state_->clients)
		if (!c.ended && c.until < now)
			end(c);
}

} // namespace tool
