// SPDX-License-Identifier: GPL-2.0
// A disabled channel goes on until its TSG leaves the engine: hold() disables all channels, then preempts, then checks the
// effect. If this process slept through its lease, all holds are released and not extended.
#include "lib/schedule/live/channel_backend.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/monotonic.hpp"
#include "lib/source/module/proc.hpp"
#include "parse.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace tool::schedule {

namespace {

u64 make_key(u32 runlist, u32 id)
{
	return u64{runlist} << 32 | id;
}

// err: an errno or 0.
Answer answer_status(int err)
{
	return err ? Answer{Outcome::Refused, std::strerror(err)} : Answer{};
}

} // namespace

/* -- the module -- */

Gpu ModulePort::read_gpu()
{
	return load_live(proc_, index_);
}

std::string ModulePort::path(const char *file) const
{
	return fmt::format("{}/gpu{}/{}", proc_, index_, file);
}

int ModulePort::write_file(const char *file, const std::string &text)
{
	return write_control(path(file), text);
}

int ModulePort::hold_channel(const std::string &text)
{
	if (holds_ < 0)
		holds_ = open(path("hold_channel").c_str(), O_WRONLY | O_CLOEXEC);
	return holds_ < 0 || write(holds_, text.data(), text.size()) < 0 ? errno : 0;
}

ModulePort::~ModulePort()
{
	if (holds_ >= 0)
		close(holds_);
}

u64 ModulePort::now()
{
	return now_ns();
}

u64 find_tsg(const Gpu &gpu, const std::string &text, const std::string &where)
{
	lens_ref ref{};
	std::vector<u64> found;
	std::string lists;

	if (text.find('\n') != text.npos || lens_parse_ref(text.data(), text.size(), &ref))
		throw Error(Error::Input, fmt::format("{}: tsg \"{}\" is not an id, such as 3 or 0:3", where, text));
	for (const Runlist &rl : gpu.runlists)
		for (const Tsg &t : rl.tsgs)
			if (!rl.err && t.id == ref.id &&
			    (ref.runlist == LENS_NONE || rl.id == static_cast<u32>(ref.runlist)) &&
			    (found.empty() || found.back() >> 32 != rl.id)) {
				found.push_back(make_key(rl.id, t.id));
				lists += fmt::format("{}{}:{}", lists.empty() ? "" : ", ", rl.id, t.id);
			}
	if (found.empty())
		throw Error(Error::Absent,
			    fmt::format("{}: TSG {} is on no runlist of GPU {}", where, text, gpu.index));
	if (found.size() > 1)
		throw Error(Error::Input,
			    fmt::format("{}: TSG {} is on several runlists; name one of {}", where, text, lists));
	return found[0];
}

const Tsg *tsg_of(const Gpu &gpu, u64 id)
{
	const Runlist *rl = gpu.runlist(static_cast<u32>(id >> 32));
	const Tsg *found = nullptr;

	for (size_t i = 0; rl && !rl->err && i < rl->tsgs.size(); i++)
		if (const Tsg &t = rl->tsgs[i]; t.id == static_cast<u32>(id))
			if (!found || t.channels.size() > found->channels.size())
				found = &t;
	return found;
}

/* -- verbs -- */

ChannelBackend::ChannelBackend(GpuPort &gpu, bool per_runlist, u64 lease_ns, const std::vector<std::vector<u64>> &tsgs)
	: gpu_(gpu), per_runlist_(per_runlist), lease_ns_(lease_ns), tasks_(tsgs.size())
{
	for (size_t i = 0; i < tsgs.size(); i++)
		for (u64 id : tsgs[i])
			tasks_[i].push_back({.id = id});
}

std::string ChannelBackend::id_text(u64 id) const
{
	return per_runlist_ ? fmt::format("{}:{}", id >> 32, static_cast<u32>(id))
			    : std::to_string(static_cast<u32>(id));
}

u64 ChannelBackend::lease_ms() const
{
	return std::clamp<u64>((lease_ns_ + 999999) / 1000000, 1, LENS_HOLD_MS_MAX);
}

bool ChannelBackend::extend_lease()
{
	u64 now = gpu_.now();
	bool lost = lease_end_ && now > lease_end_;

	auto has_held = [](const std::vector<TaskTsg> &task) {
		return std::any_of(task.begin(), task.end(), [](const TaskTsg &t) { return !t.held.empty(); });
	};

	if (!lost && std::any_of(tasks_.begin(), tasks_.end(), has_held))
		lost = gpu_.hold_channel(fmt::format("* {}", lease_ms())) != 0;
	if (lost)
		release_all();
	// now is from before: a lease that this process slept through is not extended
	lease_end_ = now + lease_ns_;
	return !lost;
}

const Tsg *ChannelBackend::find_again(const Gpu &gpu, TaskTsg &task) const
{
	const Tsg *tsg = tsg_of(gpu, task.id);
	std::set<std::pair<u32, u64>> found;

	task.channels.clear();
	task.running = false;
	if (!tsg)
		return nullptr;
	for (const Channel &c : tsg->channels)
		found.insert({c.id, c.inst});
	// Drivers use ids again: this TSG is another program's.
	if (!task.known.empty() && !found.empty() &&
	    std::none_of(found.begin(), found.end(), [&](const auto &c) { return task.known.contains(c); })) {
		task.held.clear();
		return nullptr;
	}
	task.known = found;
	return tsg;
}

std::vector<TaskState> ChannelBackend::account()
{
	Gpu gpu = gpu_.read_gpu();

	last_.assign(tasks_.size(), {});
	for (size_t i = 0; i < tasks_.size(); i++) {
		TaskState &s = last_[i];
		bool disabled = false, enabled = false;
		for (TaskTsg &t : tasks_[i]) {
			const Tsg *tsg = find_again(gpu, t);
			if (!tsg)
				continue;
			s.present = true;
			for (const Channel &c : tsg->channels) {
				t.channels.push_back(make_key(c.runlist, c.id));
				t.running |= !c.err && c.on_engine();
				s.ready |= !c.err && c.state.busy && !c.faulted();
				(!c.err && !c.state.enable ? disabled : enabled) = true;
			}
			s.running |= t.running;
		}
		s.held = disabled && !enabled;
	}
	return last_;
}

// A hold that was refused or did nothing is none: the task runs.
Answer ChannelBackend::undo_hold(size_t task, Outcome outcome, std::string reason)
{
	release(task);
	return {outcome, std::move(reason)};
}

Answer ChannelBackend::hold(size_t task)
{
	size_t channels = 0;

	for (TaskTsg &t : tasks_[task]) {
		channels += t.channels.size();
		for (u64 channel : t.channels) {
			int err = gpu_.now() > lease_end_
					  ? ETIME
					  : gpu_.hold_channel(fmt::format("{} {}", id_text(channel), lease_ms()));
			if (err == EALREADY) // disabled by somebody else, who is to enable it
				continue;
			if (err)
				return undo_hold(task, Outcome::Refused, std::strerror(err));
			if (std::find(t.held.begin(), t.held.end(), channel) == t.held.end())
				t.held.push_back(channel);
		}
	}
	if (!channels)
		return {Outcome::Refused, "it has no channels"};
	// A disabled channel goes on until its TSG leaves the engine.
	if (account()[task].running) {
		if (Answer answer = evict(task); answer.outcome != Outcome::Done)
			return undo_hold(task, answer.outcome, answer.reason);
		account();
	}
	const TaskState &s = last_[task];
	if (s.present && (!s.held || s.running))
		return undo_hold(task, Outcome::NoEffect, "its channels still run");
	return {};
}

Answer ChannelBackend::release(size_t task)
{
	int first = 0;

	for (TaskTsg &t : tasks_[task])
		for (u64 channel : t.held) {
			int err = gpu_.write_file("enable_channel", id_text(channel));
			// A channel that is not there any more is held by nobody.
			if (err && err != ENOENT)
				first = first ? first : err;
		}
	for (TaskTsg &t : tasks_[task])
		if (!first)
			t.held.clear();
	return answer_status(first);
}

Answer ChannelBackend::release_all()
{
	Answer first;

	for (size_t i = 0; i < tasks_.size(); i++)
		if (Answer answer = release(i); first.outcome == Outcome::Done)
			first = answer;
	return first;
}

Answer ChannelBackend::evict(size_t task)
{
	for (const TaskTsg &t : tasks_[task]) {
		if (!t.running)
			continue;
		int err = gpu_.write_file("preempt_tsg", id_text(t.id));
		// While a preempt of the driver is pending, nothing was written: once more.
		if (err == EBUSY)
			err = gpu_.write_file("preempt_tsg", id_text(t.id));
		if (err)
			return answer_status(err);
	}
	return {};
}

Answer ChannelBackend::set_slice(size_t task, u32 us)
{
	return answer_status(gpu_.write_file("tsg_timeslice", fmt::format("{} {}", id_text(tasks_[task][0].id), us)));
}

} // namespace tool::schedule
