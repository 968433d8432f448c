// SPDX-License-Identifier: GPL-2.0
// Pids are used again: the start time in the page identifies the process, and a pidfd reports its end. If one process of a
// task does not accept a hold, the whole task is released; an agent that does not answer loses its lease and releases by
// itself.
#include "lib/schedule/live/program_backend.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/monotonic.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tool::schedule {

namespace {

bool is_accepted(const AgentAnswer &answer)
{
	// A process without TSGs has nothing to hold; one that it makes later is held by the agent.
	return answer.status == 0 || answer.status == AgentPage::NOT_TRIED;
}

} // namespace

ProgramBackend::ProgramBackend(std::string folder, std::vector<ProgramTask> tasks, u64 lease_ns, AgentVerb hold)
	: folder_(std::move(folder)), tasks_(std::move(tasks)), hold_(hold), lease_ns_(lease_ns)
{
}

void ProgramBackend::hear_jobs()
{
	bell_ = std::make_unique<JobBell>(folder_);
}

ProgramBackend::~ProgramBackend()
{
	for (Program &p : programs_) {
		if (busy_poll_)
			p.link->page().busy_poll = 0;
		close(p.pidfd);
	}
}

/* -- processes -- */

void ProgramBackend::add_program(const std::string &file, bool tidy)
{
	const char *digits = file.c_str() + strlen(gpulens::AGENT_PAGE_PREFIX), *end = file.c_str() + file.size();
	std::string path = folder_ + "/" + file;
	Program p{.file = file};

	if (auto [rest, err] = std::from_chars(digits, end, p.pid); err != std::errc{} || rest != end || !p.pid)
		return;
	ProcessState process = read_process(p.pid);
	if (!process.state) {
		if (tidy)
			unlink(path.c_str());
		return;
	}
	try {
		p.link = std::make_unique<AgentLink>(path);
	} catch (const Error &) {
		return; // not yet a page
	}
	const AgentPage &page = p.link->page();
	if (page.pid != p.pid || (page.start_time && page.start_time != process.start_time))
		return;
	std::string task(page.task, strnlen(page.task, AgentPage::MAX_TASK));
	auto found = std::find_if(tasks_.begin(), tasks_.end(), [&](const ProgramTask &t) { return t.name == task; });
	if (found == tasks_.end()) {
		if (!task.empty())
			unknown_.insert(task);
		return;
	}
	p.task = static_cast<size_t>(found - tasks_.begin());
	p.pidfd = static_cast<int>(syscall(SYS_pidfd_open, p.pid, 0));
	if (p.pidfd >= 0)
		programs_.push_back(std::move(p));
}

void ProgramBackend::drop_program(size_t index)
{
	close(programs_[index].pidfd);
	programs_.erase(programs_.begin() + static_cast<ptrdiff_t>(index));
}

void ProgramBackend::drop_ended()
{
	std::vector<pollfd> fds;

	for (const Program &p : programs_)
		fds.push_back({.fd = p.pidfd, .events = POLLIN, .revents = 0});
	if (fds.empty() || poll(fds.data(), fds.size(), 0) <= 0)
		return;
	for (size_t i = fds.size(); i-- > 0;)
		if (fds[i].revents)
			drop_program(i);
}

void ProgramBackend::find_programs(bool tidy)
{
	std::error_code err;
	struct stat st {};

	drop_ended();
	unknown_.clear();
	for (size_t i = programs_.size(); i-- > 0;)
		if (!stat((folder_ + "/" + programs_[i].file).c_str(), &st) && st.st_ino != programs_[i].link->inode())
			drop_program(i); // the process made another page
	for (const auto &entry : std::filesystem::directory_iterator(folder_, err)) {
		std::string file = entry.path().filename().string();
		if (file.starts_with(gpulens::AGENT_PAGE_PREFIX) &&
		    std::none_of(programs_.begin(), programs_.end(), [&](const Program &p) { return p.file == file; }))
			add_program(file, tidy);
	}
	for (Program &p : programs_) {
		char state = read_process(p.pid).state;
		p.stopped = state == 'T' || state == 't';
		if (p.stopped)
			let_go(p);
	}
}

std::vector<ProgramBackend::Found> ProgramBackend::programs() const
{
	std::vector<Found> list;

	for (const Program &p : programs_)
		list.push_back({p.pid, p.task, p.link->page().devices, p.link->page().jobs_begun != 0, p.stopped,
				p.link->page().gated != 0, p.link->page().slice_us});
	return list;
}

std::vector<ProgramBackend::Program *> ProgramBackend::running(size_t task)
{
	std::vector<Program *> list;

	for (Program &p : programs_)
		if (p.task == task && !p.stopped)
			list.push_back(&p);
	return list;
}

/* -- verbs -- */

// The first failure; NoEffect: a process did not answer.
Answer ProgramBackend::ask(const std::vector<Program *> &programs, AgentVerb verb, u64 argument)
{
	Answer first;
	u64 now = now_ns(), end = now + ANSWER_NS;
	auto fail = [&first](Outcome outcome, std::string reason) {
		if (first.outcome == Outcome::Done)
			first = {outcome, std::move(reason), first.driver_ns};
	};

	// A look that waits for several agents in turn takes longer than a lease.
	if (now <= lease_end_)
		renew_lease(now);
	std::vector<Program *> asked;
	for (Program *p : programs) {
		bool answers = p->link->is_answered();
		p->link->page().busy_poll = busy_poll_;
		if (answers || verb == AgentVerb::Release)
			p->link->post(verb, argument, lease_end_);
		if (answers)
			asked.push_back(p);
		else
			fail(Outcome::NoEffect, fmt::format("process {} does not answer", p->pid));
	}
	for (Program *p : asked) {
		AgentAnswer answer = p->link->wait_until(end);
		first.driver_ns = std::max(first.driver_ns, answer.took_ns);
		if (!answer.answered)
			fail(Outcome::NoEffect, fmt::format("process {} does not answer", p->pid));
		else if (answer.status == AgentPage::SETTING_UP)
			fail(Outcome::NoEffect, fmt::format("process {} is not set up yet", p->pid));
		else if (!is_accepted(answer))
			fail(Outcome::Refused,
			     fmt::format("the driver refused it ({:#x}) to process {}", answer.status, p->pid));
		else if (gpulens::is_hold(verb) && !p->link->page().held_since)
			fail(Outcome::NoEffect, fmt::format("process {} released it", p->pid));
	}
	return first;
}

// The agent releases when it next looks, even if it gets no request.
void ProgramBackend::let_go(Program &program)
{
	if (program.held)
		program.link->set_lease(0);
	program.held = false;
}

Answer ProgramBackend::hold(size_t task)
{
	std::vector<Program *> programs = running(task), asked;

	if (programs.empty())
		return {Outcome::Refused, "no program of it runs"};
	for (Program *p : programs)
		if (!p->held || !p->link->page().held_since)
			asked.push_back(p);
	for (Program *p : asked)
		p->held = true;
	Answer answer = ask(asked, hold_);
	if (answer.outcome != Outcome::Done) // a task that is held in part runs
		release(task);
	return answer;
}

Answer ProgramBackend::release(size_t task)
{
	std::vector<Program *> asked;

	for (Program *p : running(task)) {
		if (p->held || p->link->page().held_since)
			asked.push_back(p);
		let_go(*p);
	}
	Answer answer = ask(asked, AgentVerb::Release);
	// Without a lease, an agent that is late releases before it does anything else.
	return answer.outcome == Outcome::NoEffect ? Answer{.driver_ns = answer.driver_ns} : answer;
}

Answer ProgramBackend::release_all()
{
	Answer first;

	for (size_t i = 0; i < tasks_.size(); i++) {
		Answer answer = release(i);
		if (first.outcome == Outcome::Done)
			first = answer;
	}
	return first;
}

Answer ProgramBackend::set_slice(size_t task, u32 us)
{
	return ask(running(task), AgentVerb::SetSlice, us);
}

/* -- state -- */

void ProgramBackend::account_work(size_t task, TaskState &state)
{
	std::vector<Program *> programs = running(task);
	bool announced = false, working = false;
	u32 least_us = ~0U, most_us = 0;

	for (const Program *p : programs) {
		const AgentPage &page = p->link->page();
		u32 begun = page.jobs_begun, slice_us = page.slice_us;
		least_us = std::min(least_us, slice_us);
		most_us = std::max(most_us, slice_us);
		announced |= begun != 0;
		working |= begun != page.jobs_ended;
		state = {.present = true,
			 .held = page.held_since && (state.held || !state.present),
			 .job = begun,
			 .began = page.job_began,
			 .ended = page.job_ended,
			 .deadline = page.job_deadline};
	}
	if (state.present && least_us) {
		state.least_slice_us = least_us;
		state.most_slice_us = most_us;
	}
	state.ready = announced ? working : state.present && !tasks_[task].only_jobs;
	state.running = state.ready && !state.held;
	if (programs.size() > 1 || !announced) // jobs of several processes are not told apart
		state.job = state.began = state.ended = state.deadline = 0;
}

std::vector<TaskState> ProgramBackend::account()
{
	std::vector<TaskState> states(tasks_.size());

	heard_ = bell_ ? bell_->count() : 0; // before the look at what the programs announced
	if (now_ns() >= next_scan_) {
		find_programs(true);
		next_scan_ = now_ns() + SCAN_NS;
	}
	drop_ended();
	for (size_t i = 0; i < tasks_.size(); i++)
		account_work(i, states[i]);
	return states;
}

void ProgramBackend::charge_by_turns(unsigned gpu)
{
	try {
		turns_ = std::make_unique<rm::EngineTurns>(gpu);
	} catch (const Error &e) {
		why_no_turns_ = e.what();
	}
}

std::string ProgramBackend::charging() const
{
	return turns_ ? "context switches" : why_no_turns_.empty() ? "" : "decisions: " + why_no_turns_;
}

std::vector<TaskTurn> ProgramBackend::take_turns()
{
	std::vector<TaskTurn> found;

	try {
		for (const rm::EngineTurn &turn : turns_ ? turns_->read() : std::vector<rm::EngineTurn>())
			for (const Program &p : programs_)
				if (p.pid == turn.pid)
					found.push_back({p.task, turn.begin_ns, turn.end_ns});
	} catch (const Error &e) {
		turns_ = nullptr;
		why_no_turns_ = e.what();
	}
	return found;
}

bool ProgramBackend::extend_lease()
{
	u64 now = now_ns();
	bool over = lease_end_ && now > lease_end_;

	if (over) {
		release_all();
		now = now_ns(); // which waits for agents; nothing is held, so that another lease begins
	}
	// Otherwise now is from before the comparison: a lease that this process slept through is not extended.
	renew_lease(now);
	return !over;
}

void ProgramBackend::renew_lease(u64 now)
{
	lease_end_ = now + lease_ns_;
	for (Program &p : programs_)
		if (p.held)
			p.link->set_lease(lease_end_);
}

u64 ProgramBackend::now()
{
	return now_ns();
}

void ProgramBackend::sleep_until(u64 time)
{
	if (bell_)
		bell_->wait(heard_, time, busy_poll_);
	else
		Backend::sleep_until(time);
}

/* -- one coordinator -- */

CoordinatorLock::CoordinatorLock(const std::string &path, const std::string &who)
{
	char text[16] = "";
	std::error_code ignored;

	std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
	fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd_ < 0)
		throw Error(Error::Source, fmt::format("{}: {}", path, std::strerror(errno)));
	if (flock(fd_, LOCK_EX | LOCK_NB)) {
		ssize_t n = pread(fd_, text, sizeof(text) - 1, 0);
		close(fd_);
		throw Error(Error::Taken,
			    fmt::format("{} a coordinator already: process {} ({})", who, n > 0 ? text : "?", path));
	}
	std::string mine = std::to_string(getpid());
	if (ftruncate(fd_, 0) || pwrite(fd_, mine.data(), mine.size(), 0) < 0) {
		int err = errno;
		close(fd_);
		throw Error(Error::Source, fmt::format("{}: {}", path, std::strerror(err)));
	}
}

CoordinatorLock::~CoordinatorLock()
{
	close(fd_);
}

} // namespace tool::schedule
