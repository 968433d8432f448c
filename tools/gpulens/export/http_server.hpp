// SPDX-License-Identifier: GPL-2.0
// An HTTP server of short texts (libmicrohttpd), bounded against any client: GET and HEAD without a body, a limit on
// headers and connections, one request a connection, a deadline for the request and one for its answer.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tool {

struct HttpAnswer {
	unsigned status = 200;
	std::string type;
	std::shared_ptr<const std::string> body; // shared by all connections
};

// Returns the status that refuses a request, for any path; 0: it is not refused. length, encoding: the headers
// Content-Length and Transfer-Encoding; null if missing.
unsigned refusal_status(std::string_view method, const char *length, const char *encoding);

class HttpServer {
public:
	using Handler = std::function<HttpAnswer(std::string_view path)>;

	static constexpr size_t HEADER_BYTES = 8192; // also the memory per connection
	static constexpr unsigned MAX_CONNECTIONS = 128;
	// From this number on, a new connection ends the oldest one with an incomplete request.
	static constexpr unsigned EVICT_FROM = 112;
	static constexpr std::chrono::milliseconds REQUEST_TIME{2000}, ANSWER_TIME{5000};

	// listener: a listening socket, which the server closes. handler: called by one thread, for one request at a time;
	// its time is not part of a deadline. Throws std::runtime_error.
	HttpServer(int listener, Handler handler);
	HttpServer(const HttpServer &) = delete;
	HttpServer &operator=(const HttpServer &) = delete;
	~HttpServer(); // closes all connections

	// Ends connections beyond their deadline. Call it several times a second.
	void close_overdue();

private:
	struct State;
	std::unique_ptr<State> state_;
};

} // namespace tool
