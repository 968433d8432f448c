// SPDX-License-Identifier: GPL-2.0
// Processes that open a lock at once with another number of slots prevent each other from being alone with the file: each
// closes it and tries again after a random pause.
#include "lib/turns/slots.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/monotonic.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <random>
#include <thread>
#include <unistd.h>
#include <utility>

namespace tool::turns {

namespace {

constexpr char LOCK_PREFIX[] = "slots-"; // of the files
constexpr size_t MAX_NAME = 64;
constexpr int MAX_TRIES = 200; // of a file that other processes replace meanwhile
// How long processes that open a lock at once with another number of slots try, and the longest pause between two attempts.
constexpr u64 OPENING_NS = 200000000, OPENING_STEP_US = 5000;

Rules rules_of(const std::string &name, u32 k)
{
	return {.slots = k, .tasks = {{.name = name}}};
}

// Nothing: it is no lock, or nobody uses it.
std::optional<LockState> read_lock(const std::string &name)
{
	std::string why;
	std::unique_ptr<TurnFile> file = TurnFile::open_to_read(LOCK_PREFIX + name, rules_of(name, 1), why);

	if (!file)
		return std::nullopt;
	const Queue &queue = file->queue(0);
	LockState lock{.name = name,
		       .slots = queue.wanted_slots,
		       .taken_back = file->task(0).counts.given_away,
		       .members = members(queue)};
	std::stable_sort(lock.members.begin(), lock.members.end(), [](const Member &a, const Member &b) {
		return a.running != b.running ? a.running : a.key < b.key;
	});
	if (lock.members.empty())
		return std::nullopt;
	return lock;
}

} // namespace

std::vector<LockState> list_locks()
{
	std::vector<LockState> locks;
	std::error_code err;

	for (const auto &entry : std::filesystem::directory_iterator(own_runtime_folder(), err)) {
		std::string file = entry.path().filename();
		if (!file.starts_with(LOCK_PREFIX))
			continue;
		try {
			std::string name = file.substr(sizeof(LOCK_PREFIX) - 1);
			check_lock_name(name);
			if (std::optional<LockState> lock = read_lock(name))
				locks.push_back(std::move(*lock));
		} catch (const Error &) { // another user's, or damaged
		}
	}
	std::sort(locks.begin(), locks.end(), [](const LockState &a, const LockState &b) { return a.name < b.name; });
	return locks;
}

void check_lock_name(const std::string &name)
{
	bool good = !name.empty() && name.size() <= MAX_NAME && std::isalnum(static_cast<unsigned char>(name[0]));

	for (char c : name)
		good = good && (std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_');
	if (!good)
		throw Error(Error::Input,
			    "a lock's name has up to 64 letters, digits, '.', '-' and '_', and begins with "
			    "a letter or digit");
}

void check_slots(u64 k)
{
	if (k < 1 || k > MAX_SLOTS)
		throw Error(Error::Input, fmt::format("{} slots are not 1 to {} slots", k, MAX_SLOTS));
}

std::unique_ptr<TurnFile> open_slots(const std::string &name, u32 k)
{
	check_lock_name(name);
	check_slots(k);
	std::minstd_rand random(static_cast<unsigned>(now_ns()) ^ static_cast<unsigned>(getpid()));
	u64 end = now_ns() + OPENING_NS;

	for (int i = 0; i < MAX_TRIES;) {
		auto file = TurnFile::open(LOCK_PREFIX + name, rules_of(name, k));
		settle(*file, 0);
		u64 present = file->queue(0).wanted_slots;
		if (present == k)
			return file;
		switch (file->run_alone([&] { set_slots(*file, 0, k); })) {
		case TurnFile::Alone::Done: return file;
		case TurnFile::Alone::Shared:
			if (now_ns() > end)
				throw Error(Error::Taken, fmt::format("lock {} is open with {} slots", name, present));
			// Others may be opening it, too, each in the way of all others: let go of it.
			file.reset();
			std::this_thread::sleep_for(std::chrono::microseconds(random() % OPENING_STEP_US));
			break;
		case TurnFile::Alone::Replaced: i++; break;
		}
	}
	throw Error(Error::Taken, fmt::format("lock {} is replaced again and again by other processes", name));
}

} // namespace tool::turns
