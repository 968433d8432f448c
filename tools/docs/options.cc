// SPDX-License-Identifier: GPL-2.0
// Reads options from the parser.
#include "docs/options.hpp"

#include "gpulens/cli/options.hpp"

namespace docs {

std::vector<Opt> options_of(const CLI::App &app)
{
	std::vector<Opt> list;

	for (const CLI::Option *o : app.get_options()) {
		Opt opt{tool::names_of(*o), "", o->get_description(), o->get_required(), o->get_expected_max() > 1};
		if (opt.names.empty())
			opt.value = o->get_name(true);
		else if (tool::takes_value(*o))
			opt.value = o->get_type_name();
		list.push_back(opt);
	}
	return list;
}

std::vector<Opt> own_options_of(const CLI::App &sub)
{
	std::vector<Opt> list = options_of(sub);

	std::erase_if(list, [](const Opt &o) { return !o.names.empty() && o.names.back() == "--help"; });
	return list;
}

std::string escape_roff(const std::string &text)
{
	std::string out;

	for (char c : text) {
		switch (c) {
		case '\\': out += "\\e"; break;
		case '-': out += "\\-"; break;
		case '\'': out += "\\(aq"; break;
		case '^': out += "\\(ha"; break;
		case '~': out += "\\(ti"; break;
		case '`': out += "\\(ga"; break;
		default: out += c;
		}
	}
	return !out.empty() && out[0] == '.' ? "\\&" + out : out;
}

} // namespace docs
