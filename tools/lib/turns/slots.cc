// SPDX-License-Identifier: GPL-2.0
// See slots.hpp.
#include "lib/turns/slots.hpp"

#include "lib/base/errors.hpp"
#include "lib/turns/turns.hpp"

#include <cctype>
#include <fmt/format.h>

namespace tool::turns {

namespace {

constexpr size_t MAX_NAME = 64;
constexpr int MAX_TRIES = 200; // of a file that other processes replace meanwhile

} // namespace

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
	for (int i = 0; i < MAX_TRIES; i++) {
		auto file = TurnFile::open("slots-" + name, {.slots = k, .tasks = {{.name = name}}});
		settle(*file, 0);
		u64 present = file->queue(0).wanted_slots;
		if (present == k)
			return file;
		switch (file->run_alone([&] { set_slots(*file, 0, k); })) {
		case TurnFile::Alone::Done: return file;
		case TurnFile::Alone::Shared:
			throw Error(Error::Taken, fmt::format("lock {} is open with {} slots", name, present));
		case TurnFile::Alone::Replaced: break;
		}
	}
	throw Error(Error::Taken, fmt::format("lock {} is replaced again and again by other processes", name));
}

} // namespace tool::turns
