// SPDX-License-Identifier: GPL-2.0
// Only a comment at the start of a line begins a section; an indented one stays in its declaration. Each word before an
// opening bracket counts as a function.
#include "docs/library.hpp"

#include "docs/options.hpp"

#include <fmt/format.h>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace docs {

namespace {

// A comment, and the declarations below it until the next comment.
struct Section {
	std::vector<std::string> comment; // lines without the comment's signs
	std::string code;
};

bool ends_comment(const std::string &line)
{
	return line.find("*/") != line.npos;
}

// Returns a line of a comment without its signs.
std::string text_of(const std::string &line)
{
	static const std::regex signs(R"(^\s*/?\*+/? ?|\s*\*/\s*$)");

	return std::regex_replace(line, signs, "");
}

// Leaves out the preprocessor's lines and the braces of extern "C".
bool is_code(const std::string &line)
{
	static const std::regex other(R"(^(#.*|extern "C" \{|\})?$)");

	return !std::regex_match(line, other);
}

std::vector<Section> sections_of(const std::string &header)
{
	std::vector<Section> sections;
	std::istringstream in(header);
	std::string line;

	while (std::getline(in, line)) {
		if (line.starts_with("/*") &&
		    line.find("SPDX") == line.npos) { // comments within a declaration are indented
			sections.emplace_back();
			for (bool end = false; !end; end = end || !std::getline(in, line)) {
				end = ends_comment(line);
				sections.back().comment.push_back(text_of(line));
				if (end)
					break;
			}
		} else if (!sections.empty() && is_code(line)) {
			sections.back().code += line + '\n';
		}
	}
	return sections;
}

// Paragraphs, and terms such as "sizes: n numbers of TPCs." with their continued lines.
std::string format_comment(const std::vector<std::string> &comment)
{
	static const std::regex term(R"(^(\w+): +(.*)$)");
	std::string out;
	std::smatch found;
	bool in_term = false, begun = false;

	for (const std::string &line : comment) {
		bool continued = line.starts_with(" ");
		if (line.empty()) {
			if (begun)
				out += ".PP\n";
			in_term = begun = false;
		} else if (std::regex_match(line, found, term)) {
			out += fmt::format(".TP\n.I {}\n{}\n", escape_roff(found[1]), escape_roff(found[2]));
			in_term = begun = true;
		} else {
			if (in_term && !continued)
				out += ".PP\n";
			in_term = in_term && continued;
			out += escape_roff(line.substr(line.find_first_not_of(' '))) + '\n';
			begun = true;
		}
	}
	while (out.ends_with(".PP\n"))
		out.resize(out.size() - 4);
	return out;
}

std::vector<std::string> functions_of(const std::string &code)
{
	static const std::regex function(R"((\w+)\()");
	std::vector<std::string> names;

	for (std::sregex_iterator at(code.begin(), code.end(), function), end; at != end; ++at)
		names.push_back((*at)[1]);
	return names;
}

} // namespace

std::map<std::string, std::string> library_pages(const std::string &header, const std::string &name,
						 const std::string &head)
{
	std::vector<Section> sections = sections_of(header);
	std::map<std::string, std::string> pages;
	std::string page =
		head + fmt::format(".SH SYNOPSIS\n.B #include <{}.h>\n.PP\nLink with -lgpulens\\-partition.\n"
				   ".SH DESCRIPTION\n",
				   escape_roff(name));

	if (sections.empty())
		throw std::runtime_error(name + ".h: no comment");
	page += format_comment(sections[0].comment) + ".SH DECLARATIONS\n";
	for (size_t i = 1; i < sections.size(); i++) {
		std::vector<std::string> functions = functions_of(sections[i].code);
		std::istringstream code(sections[i].code);
		std::string lines, line;
		while (std::getline(code, line))
			lines += escape_roff(line) + '\n';
		page += fmt::format(".SS {}\n", functions.empty() ? "General" : escape_roff(functions[0] + "()"));
		page += (lines.empty() ? "" : ".nf\n" + lines + ".fi\n.PP\n") + format_comment(sections[i].comment);
		for (const std::string &function : functions)
			pages[function + ".3"] = fmt::format(".so man3/{}.3\n", name);
	}
	pages[name + ".3"] = page + ".SH SEE ALSO\n.BR gpulens (1),\n.BR gpulens\\-run (1)\n";
	return pages;
}

} // namespace docs
