// SPDX-License-Identifier: GPL-2.0
// See channel_backend.hpp.
#include "lib/schedule/live/channel_backend.hpp"

#include "lib/base/errors.hpp"
#include "lib/source/module/proc.hpp"
#include "parse.h"

#include <algorithm>
#include <cstring>
#include <ctime>
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

void ModulePort::leave_holds()
{
	if (holds_ >= 0)
		close(holds_);
	holds_ = -1;
}

u64 ModulePort::now()
{
	timespec t{};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<u64>(t.tv_sec) * 1000000000 + static_cast<u64>(t.tv_nsec);
}

std::string ChannelPort::id_text(u64 channel) const
{
	u32 runlist = static_cast<u32>(channel >> 32), id = static_cast<u32>(channel);

	return per_runlist_ ? fmt::format("{}:{}", runlist, id) : std::to_string(id);
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
			if (t.id == ref.id && (ref.runlist == LENS_NONE || rl.id == static_cast<u32>(ref.runlist)) &&
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

/* -- verbs -- */

ChannelBackend::ChannelBackend(GpuPort &gpu, HoldTable &table, bool per_runlist, u64 lease_ns,
			       const std::vector<u64> &tsgs, std::function<void()> check)
	: gpu_(gpu), port_(gpu, per_runlist), writer_(table, port_, lease_ns), check_(std::move(check))
{
	for (u64 id : tsgs)
		tasks_.push_back({.id = id});
}

const Tsg *ChannelBackend::find(const Gpu &gpu, const TaskTsg &task) const
{
	const Runlist *rl = gpu.runlist(static_cast<u32>(task.id >> 32));
	const Tsg *found = nullptr;

	for (size_t i = 0; rl && !rl->err && i < rl->tsgs.size(); i++)
		if (const Tsg &t = rl->tsgs[i]; t.id == static_cast<u32>(task.id))
			if (!found || t.channels.size() > found->channels.size())
				found = &t;
	return found;
}

std::vector<TaskState> ChannelBackend::account()
{
	Gpu gpu = gpu_.read_gpu();

	last_.assign(tasks_.size(), {});
	for (size_t i = 0; i < tasks_.size(); i++) {
		const Tsg *tsg = find(gpu, tasks_[i]);
		TaskState &s = last_[i];
		if (!tsg)
			continue;
		tasks_[i].channels.clear();
		s.present = true;
		s.held = !tsg->channels.empty();
		for (const Channel &c : tsg->channels) {
			tasks_[i].channels.push_back(make_key(c.runlist, c.id));
			s.ready |= !c.err && c.state.busy && !c.faulted();
			s.running |= !c.err && c.on_engine();
			s.held &= !c.err && !c.state.enable;
		}
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
	TaskTsg &t = tasks_[task];

	if (t.channels.empty())
		return {Outcome::Refused, "it has no channels"};
	check_();
	for (u64 channel : t.channels) {
		int err = writer_.hold(channel);
		if (err == EALREADY) // disabled by somebody else, who is to enable it
			continue;
		if (err)
			return undo_hold(task, Outcome::Refused, std::strerror(err));
		if (std::find(t.held.begin(), t.held.end(), channel) == t.held.end())
			t.held.push_back(channel);
	}
	// A disabled channel goes on until its TSG leaves the engine.
	if (account()[task].running) {
		check_();
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
	TaskTsg &t = tasks_[task];
	int first = 0;

	for (u64 channel : t.held) {
		int err = writer_.release(channel);
		if (err && err != ENOENT)
			first = first ? first : err;
	}
	if (!first)
		t.held.clear();
	return answer_status(first);
}

Answer ChannelBackend::release_all()
{
	int err = writer_.release_all();

	for (TaskTsg &t : tasks_)
		if (!err)
			t.held.clear();
	return answer_status(err == ENOENT ? 0 : err);
}

Answer ChannelBackend::evict(size_t task)
{
	int err = gpu_.write_file("preempt_tsg", port_.id_text(tasks_[task].id));

	// While a preempt of the driver is pending, nothing was written: once more.
	if (err == EBUSY)
		err = gpu_.write_file("preempt_tsg", port_.id_text(tasks_[task].id));
	return answer_status(err);
}

Answer ChannelBackend::set_slice(size_t task, u32 us)
{
	return answer_status(
		gpu_.write_file("tsg_timeslice", fmt::format("{} {}", port_.id_text(tasks_[task].id), us)));
}

Answer ChannelBackend::commit()
{
	int first = 0;
	std::vector<u64> done;

	for (const TaskTsg &t : tasks_) {
		u64 runlist = t.id >> 32;
		if (std::find(done.begin(), done.end(), runlist) != done.end())
			continue;
		done.push_back(runlist);
		int err = gpu_.write_file("resubmit_runlist", std::to_string(runlist));
		first = first ? first : err;
	}
	return answer_status(first);
}

Answer ChannelBackend::gate(size_t, bool)
{
	return {Outcome::Refused, "only a program itself can stop its launches"};
}

} // namespace tool::schedule
