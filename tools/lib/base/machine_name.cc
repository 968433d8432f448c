// SPDX-License-Identifier: GPL-2.0
// Compares names with a list of characters, which does not depend on the locale. gethostname() may cut a name off without an
// end, so the end is set here.
#include "lib/base/machine_name.hpp"

#include <climits>
#include <unistd.h>

namespace tool {

namespace {

constexpr size_t LONGEST_NAME = 253; // of DNS, RFC 1035
constexpr const char *ALLOWED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";

} // namespace

bool is_machine_name(const std::string &name)
{
	return !name.empty() && name.size() <= LONGEST_NAME && name[0] != '.' &&
	       name.find_first_not_of(ALLOWED) == name.npos;
}

std::string this_machine()
{
	char name[HOST_NAME_MAX + 1] = "";

	if (gethostname(name, sizeof(name)))
		return "";
	name[HOST_NAME_MAX] = '\0';
	return is_machine_name(name) ? name : "";
}

} // namespace tool
