// SPDX-License-Identifier: GPL-2.0
// Opens, drains and reopens the sample stream.
#include "gpulens/top/feed.hpp"

#include "lib/base/errors.hpp"

#include <fmt/format.h>

namespace tool {

namespace {

// The sampling periods that sources support.
constexpr u64 MIN_PERIOD_NS = 10000, MAX_PERIOD_NS = 1000000000;

} // namespace

TopFeed::TopFeed(std::shared_ptr<const Source> source, unsigned index, const TopOptions &options)
	: source_(std::move(source)), index_(index),
	  period_ns_(options.every_ns ? options.every_ns : u64{source_->modest_period_us(1)} * 1000),
	  runlists_(options.runlists), model_(options.window_ns, options.runlists)
{
	picture_.title = picture_.short_title = fmt::format("gpu{}", index);
}

void TopFeed::open()
{
	try_samples_ = false;
	model_.restart_samples();
	try {
		stream_ = source_->samples({index_},
					   {.period_us = static_cast<u32>(period_ns_ / 1000), .runlists = runlists_});
		no_samples_.clear();
	} catch (const Error &e) {
		stream_ = nullptr;
		no_samples_ = e.what();
	}
}

void TopFeed::drain()
{
	if (!stream_)
		return;
	try {
		// Bounded: samples may arrive as fast as they are read.
		for (int i = 0; i < 16; i++) {
			std::string_view bytes = stream_->read(std::chrono::milliseconds(0));
			if (bytes.empty())
				return;
			model_.add_samples(bytes);
			try_samples_ = true;
		}
	} catch (const Error &e) {
		stream_ = nullptr;
		model_.restart_samples();
		no_samples_ = e.what();
	}
}

bool TopFeed::refresh()
{
	try {
		gpu_ = source_->snapshot(index_);
	} catch (const Error &e) {
		refresh_error_ = e.what();
		// Reopen the samples when the GPU comes back.
		stream_ = nullptr;
		try_samples_ = true;
		return false;
	}
	refresh_error_.clear();
	if (!stream_ && try_samples_)
		open();
	drain();
	model_.add_snapshot(*gpu_);
	picture_ = model_.make_picture();
	return true;
}

bool TopFeed::change_period(bool longer)
{
	u64 wanted = longer ? period_ns_ * 2 : period_ns_ / 2;

	if (!stream_ || wanted < MIN_PERIOD_NS || wanted > MAX_PERIOD_NS)
		return false;
	period_ns_ = wanted;
	stream_ = nullptr;
	open();
	return true;
}

} // namespace tool
