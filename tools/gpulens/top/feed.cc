// SPDX-License-Identifier: GPL-2.0
// See feed.hpp.
#include "gpulens/top/feed.hpp"

#include "lib/base/errors.hpp"
#include "lib/source/module/module_source.hpp"
#include "lib/source/module/proc.hpp"

#include <fmt/format.h>

namespace tool {

namespace {

// What the module takes.
constexpr u64 SHORTEST_NS = 10000, LONGEST_NS = 1000000000;

} // namespace

TopFeed::TopFeed(const std::string &proc, unsigned index, const TopOptions &how)
	: proc_(proc), index_(index), period_ns_(how.every_ns), runlists_(how.runlists),
	  model_(how.window_ns, how.runlists)
{
	picture_.title = fmt::format("gpu{}", index);
}

std::string TopFeed::folder() const
{
	return fmt::format("{}/gpu{}/", proc_, index_);
}

void TopFeed::open()
{
	again_ = false;
	model_.restart_samples();
	try {
		stream_ = ModuleSource(proc_).samples(
			{index_}, {.period_us = static_cast<u32>(period_ns_ / 1000), .runlists = runlists_});
		no_samples_.clear();
	} catch (const SourceError &e) {
		stream_ = nullptr;
		no_samples_ = e.what();
	}
}

void TopFeed::drain()
{
	if (!stream_)
		return;
	try {
		// Not for ever: it may come as fast as it is read.
		for (int i = 0; i < 16; i++) {
			std::string_view bytes = stream_->read(std::chrono::milliseconds(0));
			if (bytes.empty())
				return;
			model_.samples(bytes);
			again_ = true;
		}
	} catch (const SourceError &e) {
		stream_ = nullptr;
		model_.restart_samples();
		no_samples_ = e.what();
	}
}

bool TopFeed::refresh()
{
	try {
		gpu_ = load_live(proc_, index_);
	} catch (const SourceError &e) {
		trouble_ = e.what();
		// When it comes back, its samples begin anew.
		stream_ = nullptr;
		again_ = true;
		return false;
	}
	trouble_.clear();
	if (!stream_ && again_)
		open();
	drain();
	model_.snapshot(*gpu_);
	picture_ = model_.picture();
	return true;
}

bool TopFeed::change_period(bool longer)
{
	u64 wanted = longer ? period_ns_ * 2 : period_ns_ / 2;

	if (!stream_ || wanted < SHORTEST_NS || wanted > LONGEST_NS)
		return false;
	period_ns_ = wanted;
	stream_ = nullptr;
	open();
	return true;
}

} // namespace tool
