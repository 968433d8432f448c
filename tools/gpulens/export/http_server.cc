// SPDX-License-Identifier: GPL-2.0
// Serves texts with libmicrohttpd, and closes overdue connections.
#include "gpulens/export/http_server.hpp"

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
constexpr unsigned IDLE_SECONDS = 5;

struct Client {
	int fd;
	clock::time_point until;
	bool complete = false; // the request is
	bool ended = false;    // shut down, and not yet closed
};

// libmicrohttpd sees the end of the stream and closes the socket.
void end_connection(Client &c)
{
	c.ended = true;
	shutdown(c.fd, SHUT_RDWR);
}

const char *get_header(MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

HttpAnswer plain_answer(unsigned status, const char *text)
{
	return {status, "text/plain; charset=utf-8", std::make_shared<const std::string>(text)};
}

HttpAnswer refusal_answer(unsigned status)
{
	return plain_answer(status, status == 405 ? "GET and HEAD only\n" : "requests must not have a body\n");
}

MHD_Result send_answer(MHD_Connection *connection, const HttpAnswer &answer)
{
	auto kept = std::make_unique<std::shared_ptr<const std::string>>(answer.body);
	// libmicrohttpd does not write to it.
	void *bytes = const_cast<char *>(answer.body->data());
	MHD_Response *r = MHD_create_response_from_buffer_with_free_callback_cls(
		answer.body->size(), bytes,
		[](void *body) { delete static_cast<std::shared_ptr<const std::string> *>(body); }, kept.get());

	if (!r)
		return MHD_NO;
	(void)kept.release(); // owned by the response
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
	std::mutex mutex;          // protects the following members
	std::list<Client> clients; // oldest first
	bool handling = false;
	MHD_Daemon *daemon = nullptr;

	static MHD_Result on_request(void *cls, MHD_Connection *connection, const char *url, const char *method,
				     const char *, const char *, size_t *, void **);
	static void on_connection(void *cls, MHD_Connection *connection, void **context,
				  MHD_ConnectionNotificationCode code);
	HttpAnswer handle(std::string_view path);
	void evict_client();
};

// Extends the deadlines of waiting clients by the handler's time.
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
		answer = plain_answer(500, "internal error\n");
	}
	std::lock_guard lock(mutex);
	handling = false;
	for (Client &c : clients)
		c.until += clock::now() - begun;
	return answer;
}

// Called when the headers are complete. Answering here closes the connection without reading a body.
MHD_Result HttpServer::State::on_request(void *cls, MHD_Connection *connection, const char *url, const char *method,
					 const char *, const char *, size_t *, void **)
{
	State *self = static_cast<State *>(cls);
	const MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	unsigned status = refusal_status(method, get_header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH),
					 get_header(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING));

	if (!status) {
		std::lock_guard lock(self->mutex);
		if (info && info->socket_context)
			static_cast<Client *>(info->socket_context)->complete = true;
	}
	HttpAnswer answer = status ? refusal_answer(status) : self->handle(url);
	if (info && info->socket_context) {
		std::lock_guard lock(self->mutex);
		static_cast<Client *>(info->socket_context)->until = clock::now() + ANSWER_TIME;
	}
	return send_answer(connection, answer);
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
	self->evict_client();
	self->clients.push_back({info->connect_fd, clock::now() + REQUEST_TIME});
	*context = &self->clients.back();
}

// Ends the oldest connection, preferably one without a complete request, if there are too many.
void HttpServer::State::evict_client()
{
	auto open = [](const Client &c) { return !c.ended; };

	if (std::count_if(clients.begin(), clients.end(), open) < EVICT_FROM)
		return;
	auto at = std::find_if(clients.begin(), clients.end(), [](const Client &c) { return !c.ended && !c.complete; });
	if (at == clients.end())
		at = std::find_if(clients.begin(), clients.end(), open);
	end_connection(*at);
}

unsigned refusal_status(std::string_view method, const char *length, const char *encoding)
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
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_NOTIFY_CONNECTION, &State::on_connection, state_.get(), MHD_OPTION_END);
	if (!state_->daemon) {
		close(listener);
		throw std::runtime_error("the HTTP server cannot start: out of memory, threads or file descriptors");
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
			end_connection(c);
}

} // namespace tool
