// SPDX-License-Identifier: GPL-2.0
// gpulens-lab tenants: runs the program with the kernels of RTAS'23's experiments, tools/probe/tenants.cc, and prints what it measured.
#pragma once
#include "gpulens/out/output.hpp"

#include <string>

namespace tool::measure {

struct TenantsOptions {
	std::string experiment; // cases, sizes, launches or neighbours
	std::string way = "0";  // enum gpulens_way
	std::string program;    // path; empty: the installed one
};

// Parses the program's lines, JSON objects with the same keys whose values are texts, numbers or null. Throws Error (Failed).
nlohmann::ordered_json parse_lines(const std::string &text);
// The command, on the GPU of -g, or on CUDA's device 0. Returns an exit status. Throws Error.
int tenants_command(const Options &options, const TenantsOptions &tenants_options);

} // namespace tool::measure
