// SPDX-License-Identifier: GPL-2.0
// A stream of samples that a thread of its own reads, for streams that sample only while they are read.
#pragma once
#include "lib/source/source.hpp"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tool {

class BackgroundSamples : public SampleStream {
public:
	// piece: how long the inner stream samples before its bytes are passed on; the thread wakes up once in that time at least.
	BackgroundSamples(std::unique_ptr<SampleStream> inner, std::chrono::milliseconds piece);
	~BackgroundSamples() override; // ends the thread, which takes a piece at most

	// What the thread has read since the last call. An error of the inner stream is thrown once that has been returned.
	std::string_view read(std::chrono::milliseconds time) override;
	void finish(std::string &last) override;

private:
	void run();
	void end();

	const std::unique_ptr<SampleStream> inner_;
	const std::chrono::milliseconds piece_;
	std::mutex mutex_; // of the next five
	std::condition_variable changed_;
	std::string filled_; // by the thread
	std::string error_;  // why the thread has ended; empty: it has not
	bool stop_ = false;
	std::string taken_;  // what the last call returned
	std::thread thread_; // last: it uses the others
};

} // namespace tool
