// SPDX-License-Identifier: GPL-2.0
// See proc_text.hpp.
#include "proc_text.hpp"

#include "format.h"

#include <charconv>
#include <new>
#include <optional>

namespace tool {

namespace {

// lens_text with an owner.
class Text {
public:
	Text() = default;
	Text(const Text &) = delete;
	Text &operator=(const Text &) = delete;
	~Text() { lens_text_free(&text); }

	std::string take() const
	{
		if (text.err)
			throw std::bad_alloc();
		return {text.buf ? text.buf : "", text.len};
	}

	lens_text text{};
};

void show_chip(lens_text *t, Decoder &d)
{
	std::string where = d.image().where();
	lens_readable r{};
	bool asked = d.has_topology() && lens_gpu_has_host(&d.gpu()) && !lens_runlists_readable(&d.gpu(), &r);

	lens_format_chip(t, &d.gpu(), where.empty() ? "not recorded" : where.c_str(), asked ? &r : nullptr);
}

// The Y of "runlistY".
std::optional<u32> runlist_of(const std::string &name)
{
	const char *end = name.data() + name.size();
	u32 id = 0;

	if (name.compare(0, 7, "runlist") != 0 || name.size() == 7)
		return std::nullopt;
	std::from_chars_result r = std::from_chars(name.data() + 7, end, id);
	return r.ec == std::errc() && r.ptr == end ? std::optional<u32>(id) : std::nullopt;
}

} // namespace

bool is_proc_file(const std::string &name)
{
	for (const char *known : {"chip", "device_info", "copy_topology", "tpc_map"})
		if (name == known)
			return true;
	return runlist_of(name).has_value();
}

ProcText proc_text(Decoder &d, const std::string &name)
{
	ProcText out;
	Text t;

	if (!d.identified()) {
		out.failures = d.chip_failures();
		return out;
	}
	if (name == "chip") {
		show_chip(&t.text, d);
	} else if (name == "device_info") {
		out.failures = d.engine_failures();
		if (d.has_topology())
			lens_format_device_info(&t.text, &d.gpu());
	} else if (name == "copy_topology") {
		out.failures = d.copy_failures();
		if (d.has_topology() && !d.gpu().topo.ce_err)
			lens_format_copy_topology(&t.text, &d.gpu());
	} else if (name == "tpc_map") {
		out.failures = d.gpc_failures();
		if (out.failures.empty())
			lens_format_tpc_map(&t.text, &d.gpu());
	} else if (std::optional<u32> id = runlist_of(name)) {
		std::unique_ptr<RunlistSnap> list;
		if (d.has_runlists(out.failures))
			list = d.runlist(*id, out.failures);
		if (list)
			lens_format_runlist(&t.text, &d.gpu(), &list->snap, true);
	}
	out.text = t.take();
	return out;
}

} // namespace tool
