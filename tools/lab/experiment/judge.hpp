// SPDX-License-Identifier: GPL-2.0
// Judges whether a trace shows the rule that its experiment is about. Measured and simulated traces have the same judge.
#pragma once
#include "lab/experiment/trace.hpp"

namespace tool::experiment {

enum class Finding { Seen, NotSeen, Unknown };
// Returns the text of the finding.
const char *choose_text(Finding finding, const char *seen, const char *not_seen, const char *unknown);
const char *finding_name(Finding finding); // "seen", "not seen", "cannot be told"

struct Verdict {
	Finding finding = Finding::Unknown;
	std::string rule;       // "R4"
	std::string sentence{}; // with the numbers that it is based on
	std::string also{};     // what is seen of another rule, which the finding does not depend on; empty: nothing
	nlohmann::ordered_json numbers = nlohmann::ordered_json::object();
};

// Returns "R4, seen: ...".
std::string verdict_line(const Verdict &verdict);

struct Kind {
	const char *name, *rule, *about;
};
// Those of RTAS'24: r1 and fig5 to fig10.
const std::vector<Kind> &kinds();

// trace.experiment: the name of one of kinds().
Verdict judge(const Trace &trace);

} // namespace tool::experiment
