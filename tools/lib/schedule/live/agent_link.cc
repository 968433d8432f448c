// SPDX-License-Identifier: GPL-2.0
// post() counts the request up after all its fields are written, because the agent reads them when the number changes.
// find_agents() also compares start times, because pids are used again.
#include "lib/schedule/live/agent_link.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/monotonic.hpp"
#include "lib/base/process_info.hpp"
#include "lib/launch/busy_wait.hpp"

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tool::schedule {

AgentLink::AgentLink(const std::string &path)
{
	page_ = gpulens::map_file<AgentPage>(path.c_str(), 0, &inode_);
	if (!page_ && errno != EINVAL)
		throw Error(Error::Source, fmt::format("{}: {}", path, std::strerror(errno)));
	if (!page_ || page_->magic != AgentPage::MAGIC)
		throw Error(Error::Source, path + ": not the page of an agent");
	number_ = page_->request;
}

void AgentLink::post(AgentVerb verb, u64 argument, u64 lease_end)
{
	page_->verb = static_cast<u32>(verb);
	page_->argument = argument;
	if (gpulens::is_hold(verb))
		page_->lease_end = lease_end;
	number_ = ++page_->request;
	syscall(SYS_futex, &page_->request, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

AgentAnswer AgentLink::wait_until(u64 end)
{
	for (u32 answered; (answered = page_->answered) != number_;) {
		u64 now = now_ns();
		if (now >= end)
			return {};
		if (page_->busy_poll) {
			gpulens::pause_processor();
			continue;
		}
		timespec left{.tv_sec = static_cast<time_t>((end - now) / 1000000000),
			      .tv_nsec = static_cast<long>((end - now) % 1000000000)};
		syscall(SYS_futex, &page_->answered, FUTEX_WAIT, answered, &left, nullptr, 0);
	}
	return {.answered = true,
		.status = page_->status,
		.took_ns = page_->took_ns,
		.groups = page_->groups,
		.channels = page_->channels};
}

AgentAnswer AgentLink::ask(AgentVerb verb, u64 argument, u64 lease_ns, u64 timeout_ns)
{
	u64 now = now_ns();

	post(verb, argument, now + lease_ns);
	return wait_until(now + timeout_ns);
}

std::string find_agent_page(const std::string &folder)
{
	std::error_code err;

	for (const auto &entry : std::filesystem::directory_iterator(folder, err))
		if (entry.path().filename().string().starts_with(gpulens::AGENT_PAGE_PREFIX))
			return entry.path();
	return "";
}

ProcessState read_process(u32 pid)
{
	std::string stat = read_process_file(pid, "stat");
	size_t at = stat.rfind(')'); // the name before it may have blanks

	if (at == stat.npos || at + 2 >= stat.size())
		return {};
	return {.state = stat[at + 2], .start_time = gpulens::start_time_of(stat.c_str())};
}

std::vector<std::unique_ptr<AgentLink>> find_agents(const std::string &folder)
{
	std::vector<std::unique_ptr<AgentLink>> found;
	std::error_code err;

	for (const auto &entry : std::filesystem::directory_iterator(folder, err)) {
		std::string file = entry.path().filename().string();
		if (!file.starts_with(gpulens::AGENT_PAGE_PREFIX))
			continue;
		try {
			auto link = std::make_unique<AgentLink>(entry.path());
			u32 pid = link->page().pid;
			ProcessState process = read_process(pid);
			if (file == gpulens::AGENT_PAGE_PREFIX + std::to_string(pid) && process.state &&
			    (!link->page().start_time || link->page().start_time == process.start_time))
				found.push_back(std::move(link));
		} catch (const Error &) { // not yet a page
		}
	}
	return found;
}

} // namespace tool::schedule
