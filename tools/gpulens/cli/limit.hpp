// SPDX-License-Identifier: GPL-2.0
// The options --tpcs, --gpcs, --half, and --plan with --task, of which a command line has at most one.
#pragma once
#include "gpulens/cmd/tpc_limit.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

namespace tool {

// Adds --no-cooperative: the user's word, in the environment of this process and its children.
void add_no_cooperative(CLI::App &parser);

class LimitOptions {
public:
	// subject: what is limited, for the help: "limit SUBJECT to these TPCs".
	LimitOptions(CLI::App &parser, const std::string &subject);

	bool is_given() const { return *tpcs_ || *gpcs_ || *half_ || *plan_; }
	// Returns the limit; nothing if none was given. Throws Error if the plan cannot be read or does not place the task.
	std::optional<Limit> limit() const;
	// Makes each of these options wrong usage together with another one.
	void exclude(CLI::Option *other) const;

private:
	struct Values {
		std::string tpcs, gpcs, half, plan, task;
	};
	std::shared_ptr<Values> values_ = std::make_shared<Values>();
	CLI::Option *tpcs_, *gpcs_, *half_, *plan_, *task_;
};

} // namespace tool
