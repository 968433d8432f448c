// SPDX-License-Identifier: GPL-2.0
// Files that other processes have mapped, and may write anything into: the page of a program's agent, the steps of a
// coordinator, the queue of a lock. The first byte chooses one; the others are patches of a valid file, each a word's number
// (u16) and its value (u64). Seen failing without the limit of the steps that StepReader takes at once.
#include "gpulens/cmd/schedule_status.hpp"
#include "gpulens/out/slot_status.hpp"
#include "lib/base/temporary_folder.hpp"
#include "lib/launch/mapped_file.hpp"
#include "lib/schedule/live/agent_link.hpp"
#include "lib/schedule/live/step_log.hpp"
#include "lib/turns/slots.hpp"
#include "lib/turns/turn_file.hpp"
#include "room.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace tool;

// A file's words, which the last object's patches are taken out of.
class Patches {
public:
	Patches(void *words, size_t bytes, const uint8_t *data, size_t size) : words_(static_cast<char *>(words))
	{
		for (; size >= PATCH; data += PATCH, size -= PATCH) {
			uint16_t word;
			u64 before;
			std::memcpy(&word, data, sizeof(word));
			size_t at = word % (bytes / 8) * 8;
			std::memcpy(&before, words_ + at, 8);
			undo_.emplace_back(at, before);
			std::memcpy(words_ + at, data + sizeof(word), 8);
		}
	}
	Patches(const Patches &) = delete;
	Patches &operator=(const Patches &) = delete;
	~Patches()
	{
		for (auto at = undo_.rbegin(); at != undo_.rend(); at++)
			std::memcpy(words_ + at->first, &at->second, 8);
	}

private:
	static constexpr size_t PATCH = 10;
	char *words_;
	std::vector<std::pair<size_t, u64>> undo_{};
};

// The valid files, in a folder of their own.
class Folder {
public:
	Folder()
	{
		setenv("GPULENS_RUNTIME_DIR", folder_.path().c_str(), 1);
		std::string page = folder_.path() + "/agent-" + std::to_string(getpid());
		agent_ = gpulens::map_file<schedule::AgentPage>(page.c_str(), O_CREAT | O_EXCL);
		log_ = std::make_unique<schedule::StepLog>(ring_path());
		for (u64 time = 1; time < 5; time++)
			log_->add(ScheduleStep::Chosen, time);
		ring_ = gpulens::map_file<schedule::StepRing>(ring_path().c_str());
		lock_ = turns::open_slots("lock", 2);
		FUZZ_CHECK(agent_ && ring_ && lock_);
		agent_->pid = static_cast<u32>(getpid());
		agent_->start_time = schedule::read_process(agent_->pid).start_time;
		agent_->budget_ns = 1;
		agent_->period_ns = 2;
		agent_->magic = schedule::AgentPage::MAGIC;
	}

	std::string ring_path() const { return folder_.path() + "/schedule-steps"; }
	schedule::AgentPage &agent() { return *agent_; }
	schedule::StepRing &ring() { return *ring_; }
	turns::TurnFile &lock() { return *lock_; }

private:
	TemporaryFolder folder_{"/tmp/gpulens-fuzz-"};
	gpulens::Mapped<schedule::AgentPage> agent_;
	std::unique_ptr<schedule::StepLog> log_;
	gpulens::Mapped<schedule::StepRing> ring_;
	std::unique_ptr<turns::TurnFile> lock_;
};

void check_text(const std::string &text)
{
	FUZZ_CHECK(std::none_of(text.begin(), text.end(),
				[](char c) { return std::iscntrl(static_cast<unsigned char>(c)) && c != '\n'; }));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static Folder folder;

	if (!size)
		return 0;
	const uint8_t *patches = data + 1;
	switch (data[0] % 3) {
	case 0: {
		Patches patched(&folder.agent(), sizeof(folder.agent()), patches, size - 1);
		check_text(schedule_status_text());
		break;
	}
	case 1: {
		schedule::StepReader reader(folder.ring_path());
		FUZZ_CHECK(reader.read().size() == 4);
		Patches patched(&folder.ring(), sizeof(folder.ring()), patches, size - 1);
		for (int i = 0; i < 2; i++)
			FUZZ_CHECK(reader.read().size() <= schedule::StepRing::STEPS + 2);
		break;
	}
	default: {
		turns::Header &head = folder.lock().header();
		Patches patched(&head, sizeof(head) + sizeof(turns::Queue) + sizeof(turns::Task), patches, size - 1);
		check_text(slots_text());
	}
	}
	return 0;
}
