// SPDX-License-Identifier: GPL-2.0
// Checks copies against what is ahead of them in their streams, and against each other.
#include "lab/blocks/copies.hpp"

#include "lab/blocks/limits.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool::blocks {

namespace {

struct Listed {
	const Ran *kernel;
	const Copy *copy;
	const char *direction; // "in", "out"
	Head head;             // when it came to the head of its stream, as far as stream and call tell
};

std::string copy_text(const Listed &c)
{
	return fmt::format("{}'s copy {}", c.kernel->name, c.direction);
}

Violation make_violation(const char *rule, const Listed &c, const std::string &text)
{
	return {rule,          c.kernel->name,
		std::nullopt,  std::nullopt,
		c.copy->start, fmt::format("{} starts at {}, {}", copy_text(c), time_text(c.copy->start), text)};
}

// Returns all copies, in the order of the log's kernels.
std::vector<Listed> list_copies(const Log &log)
{
	std::vector<s64> ended(log.streams.size(), INT64_MIN);
	std::vector<Listed> list;
	s64 u = static_cast<s64>(log.uncertainty_ns);

	auto add = [&](const Ran &k, const std::optional<Copy> &copy, const char *direction, s64 ahead) {
		if (copy)
			list.push_back({&k,
					&*copy,
					direction,
					{std::max(copy->called[0] - u, ahead), std::max(copy->called[1] + u, ahead)}});
	};
	for (const Ran &k : log.kernels) {
		add(k, k.copy_in, "in", ended[k.stream]);
		add(k, k.copy_out, "out", k.last_end());
		ended[k.stream] = std::max(ended[k.stream], k.end());
	}
	return list;
}

// Rules C2 and C3, for the copies of one engine.
void check_engine(const Log &log, std::vector<Listed> copies, s64 tolerance, std::vector<Violation> &found)
{
	std::sort(copies.begin(), copies.end(),
		  [](const Listed &a, const Listed &b) { return a.copy->end < b.copy->end; });
	for (size_t i = 1; i < copies.size(); i++) {
		const Listed &c = copies[i], &before = copies[i - 1];
		if (log.simulated && c.copy->start < before.copy->end - tolerance)
			found.push_back(make_violation("C3", c,
						       fmt::format("though {} has the copy engine until {}",
								   copy_text(before), time_text(before.copy->end))));
		// With a NULL stream, stream and call alone do not tell when a copy came to the head.
		if (std::any_of(log.streams.begin(), log.streams.end(),
				[](const Stream &s) { return s.kind != StreamKind::NonBlocking; }))
			continue;
		if (c.head.to + tolerance < before.head.from && before.copy->end < c.copy->end - tolerance)
			found.push_back(make_violation("C2", before,
						       fmt::format("and ends at {}, though {}, which came to the head "
								   "of its stream earlier, ends at {}",
								   time_text(before.copy->end), copy_text(c),
								   time_text(c.copy->end))));
	}
}

} // namespace

std::vector<std::string> copy_notes(const Log &log)
{
	std::vector<std::string> notes;
	bool any = std::any_of(log.kernels.begin(), log.kernels.end(),
			       [](const Ran &k) { return k.copy_in || k.copy_out; });

	if (any && !log.machine.copy_engines)
		notes.emplace_back("the log does not state the number of copy engines: C2 and C3 were not checked");
	else if (any && !log.simulated)
		notes.emplace_back("when a copy engine begins a copy is not measured: C3 was not checked");
	return notes;
}

std::vector<Violation> check_copies(const Log &log, s64 tolerance)
{
	std::vector<Violation> found;
	std::vector<Listed> all = list_copies(log), in, out;

	for (const Listed &c : all) {
		if (c.copy->start < c.head.from - tolerance)
			found.push_back(make_violation("C1", c,
						       fmt::format("before it is called and all ahead of it in its "
								   "stream has ended, at {}",
								   time_text(c.head.from))));
		(*c.direction == 'i' ? in : out).push_back(c);
	}
	for (const Ran &k : log.kernels)
		if (k.copy_in && k.first_start() < k.copy_in->end - static_cast<s64>(log.uncertainty_ns) - tolerance)
			found.push_back({"C4", k.name, std::nullopt, std::nullopt, k.first_start(),
					 fmt::format("{} starts at {}, though its copy in ends at {}", k.name,
						     time_text(k.first_start()), time_text(k.copy_in->end))});
	if (log.machine.copy_engines > 1) {
		check_engine(log, in, tolerance, found);
		check_engine(log, out, tolerance, found);
	} else if (log.machine.copy_engines) {
		check_engine(log, all, tolerance, found);
	}
	return found;
}

} // namespace tool::blocks
