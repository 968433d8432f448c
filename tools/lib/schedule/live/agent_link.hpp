// SPDX-License-Identifier: GPL-2.0
// The coordinator's side of an agent's page (lib/launch/agent_page.hpp).
#pragma once
#include "lib/launch/mapped_file.hpp"
#include "lib/launch/agent_page.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tool::schedule {

using gpulens::AgentPage;
using gpulens::AgentVerb;

struct AgentAnswer {
	bool answered = false;             // in time
	u32 status = AgentPage::NOT_TRIED; // of the driver
	u64 took_ns = 0;                   // for all TSGs
	u32 groups = 0, channels = 0;

	bool tried() const { return status != AgentPage::NOT_TRIED && status != AgentPage::SETTING_UP; }
	bool accepted() const { return answered && status == 0; }
};

class AgentLink {
public:
	// path: FOLDER/agent-PID. Throws Error if it is no page, or not yet one.
	explicit AgentLink(const std::string &path);

	// Has the agent carry out the verb, and waits for it. lease_ns: how long a hold lasts at most.
	AgentAnswer ask(AgentVerb verb, u64 argument = 0, u64 lease_ns = gpulens::AGENT_MAX_HOLD_NS,
			u64 timeout_ns = 3000000000);
	// The same in two steps. lease_end: CLOCK_MONOTONIC, ns; for a hold. A request replaces an earlier one that the agent
	// has not read yet.
	void post(AgentVerb verb, u64 argument, u64 lease_end);
	// end: CLOCK_MONOTONIC, ns. Does not sleep while the page says busy_poll.
	AgentAnswer wait_until(u64 end);
	// Whether the last request has been answered.
	bool is_answered() const { return page_->answered == number_; }
	// A hold ends then, unless this is called again.
	void set_lease(u64 end) { page_->lease_end = end; }
	// Of the file, which a process makes anew after exec(3).
	ino_t inode() const { return inode_; }
	AgentPage &page() { return *page_; }
	const AgentPage &page() const { return *page_; }

private:
	gpulens::Mapped<AgentPage> page_;
	ino_t inode_ = 0;
	u32 number_ = 0; // of the last request
};

struct ProcessState {
	char state = 0; // of proc_pid_stat(5); 0: there is no such process
	u64 start_time = 0;
};
ProcessState read_process(u32 pid);

// Returns the pages in the folder whose processes live.
std::vector<std::unique_ptr<AgentLink>> find_agents(const std::string &folder);
// Returns the path of the only page in the folder; empty: there is none yet.
std::string find_agent_page(const std::string &folder);

} // namespace tool::schedule
