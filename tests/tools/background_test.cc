// SPDX-License-Identifier: GPL-2.0
// A stream that a thread reads: what is returned when the stream has failed meanwhile.
#include "lib/source/background.hpp"

#include <future>
#include <gtest/gtest.h>
#include <memory>

namespace {

using std::chrono::milliseconds;

// Has three bytes, then fails.
class FailingSamples : public tool::SampleStream {
public:
	explicit FailingSamples(std::promise<void> failing) : failing_(std::move(failing)) {}

	std::string_view read(milliseconds) override
	{
		if (!returned_) {
			returned_ = true;
			return "abc";
		}
		failing_.set_value();
		throw tool::Error(tool::Error::Source, "the GPU was removed");
	}
	void finish(std::string &last) override { last += "not reached"; }

private:
	bool returned_ = false;
	std::promise<void> failing_;
};

// A GPU is removed at the end of a recording, after the last read(): the recording has what came before, and is not complete.
// Seen failing without the throw.
TEST(BackgroundSamples, AnErrorThatNobodyReadIsThrownAtTheEnd)
{
	std::promise<void> failing;
	std::future<void> failed = failing.get_future();
	tool::BackgroundSamples samples(std::make_unique<FailingSamples>(std::move(failing)), milliseconds(1));
	std::string last = "-", message;

	failed.wait();
	try {
		samples.finish(last);
	} catch (const tool::Error &e) {
		message = e.what();
	}
	EXPECT_EQ(last, "-abc");
	EXPECT_EQ(message, "the GPU was removed");
}

} // namespace
