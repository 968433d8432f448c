// SPDX-License-Identifier: GPL-2.0
// Finds, creates and maps the file of shared.hpp, in a folder that only its owner can use.
#pragma once
#include "lib/turns/shared.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tool::turns {

struct TaskRules {
	std::string name;
	u32 queue = 0;
	u64 time = NEVER, deadline = NEVER; // ns
};

// What all processes that share a file must agree on.
struct Rules {
	Order order = Order::Fifo;
	u32 queues = 1;
	u32 slots = 1; // of each queue, in a new file; not part of the agreement
	std::vector<TaskRules> tasks;
	std::string identity{}; // other things to agree on
};

class TurnFile {
public:
	// Opens the file of this name, and creates it if there is none. A file of other rules is replaced if no process
	// has it open. Throws Error: Taken if one has; Source if the folder or file cannot be used.
	static std::unique_ptr<TurnFile> open(const std::string &name, const Rules &rules);
	// Opens an existing file for reading. Returns nullptr, and the reason in why, if there is none of these rules, this start
	// of the machine and this namespace of process ids. Throws Error (Source).
	static std::unique_ptr<TurnFile> open_to_read(const std::string &name, const Rules &rules, std::string &why);
	TurnFile(const TurnFile &) = delete;
	TurnFile &operator=(const TurnFile &) = delete;
	// Unmaps the file, unless a thread that came into a queue by this object is still there.
	~TurnFile();

	const std::string &path() const { return path_; }
	// Whether programs that open this name find this file.
	bool is_there() const;
	u64 id() const { return id_; } // unique in this process, and not 0
	u64 process() const { return process_; }
	// Whether both are the same file, opened twice.
	struct Identity {
		u64 device, inode;
		bool operator==(const Identity &) const = default;
	};
	const Identity &identity() const { return identity_; }
	Header &header() const { return *reinterpret_cast<Header *>(bytes_); }
	// Throws Error (Failed) for an index that is not below header().queues or tasks: other processes write to the file.
	Queue &queue(u64 index) const;
	Task &task(u64 index) const;
	// Returns the word at an offset. Throws Error (Failed) if there is none.
	Word &word(u64 offset) const;
	u64 offset(const Word &word) const;
	// Throws Error (NotOwner) in a child of the process that opened the file.
	void check_process() const;
	// Calls change() if no other process has the file open, and none can open it until that returns. Replaced: another
	// process has replaced the file by one of other rules, so that it must be opened again.
	enum class Alone { Done, Shared, Replaced };
	Alone run_alone(const std::function<void()> &change) const;
	// Remembers whether a thread is in a queue by this object.
	void set_begun(u64 queue, const Entry &entry, bool begun) const;
	[[noreturn]] void refuse_damage() const;

private:
	TurnFile(std::string path, int fd, unsigned char *bytes, size_t size);

	std::string path_;
	int fd_;
	unsigned char *bytes_;
	size_t size_;
	Identity identity_{};
	u64 id_, process_;
	u64 queues_, tasks_;                        // as they were when the file was opened, and checked
	u64 forks_;                                 // of this process when the file was opened
	std::unique_ptr<std::atomic<u64>[]> begun_; // by queue: a bit for each entry
};

// Returns the folder: $GPULENS_RUNTIME_DIR, $XDG_RUNTIME_DIR/gpulens unless that is another user's (as after su),
// /run/gpulens (root), or /run/user/UID/gpulens.
std::string runtime_folder();
// Returns it, and creates it if need be. Throws Error (Source), also where it is another user's.
std::string make_runtime_folder();
// Returns it where it is a folder of this user, that nobody else may write to; else an empty text.
std::string own_runtime_folder();
// Returns how often this process and its ancestors were forked since the first call in one of them.
u64 forks();

} // namespace tool::turns
