// SPDX-License-Identifier: GPL-2.0
// See proc_text.hpp.
#include "lib/source/image/proc_text.hpp"

#include "format.h"

#include <cerrno>
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
	bool asked = d.has_topology() && lens_gpu_has_host(&d.gpu()) && !lens_check_readable(&d.gpu(), &r);

	lens_format_chip(t, &d.gpu(), where.empty() ? "not recorded" : where.c_str(), asked ? &r : nullptr);
}

// The number at the end or in the middle of a name such as "runlist%u" or "gpc%u_tpc_mask".
std::optional<u32> number_in(const std::string &name, const std::string &before, const std::string &after = "")
{
	const char *first = name.data() + before.size(), *end = name.data() + name.size() - after.size();
	u32 n = 0;

	if (name.size() <= before.size() + after.size() || name.compare(0, before.size(), before) != 0 ||
	    name.compare(name.size() - after.size(), after.size(), after) != 0)
		return std::nullopt;
	std::from_chars_result r = std::from_chars(first, end, n);
	return r.ec == std::errc() && r.ptr == end ? std::optional<u32>(n) : std::nullopt;
}

const char *const TOLD[] = {"chip",    "device_info", "num_gpcs",      "num_tpc_per_gpc", "num_ces", "gpc_mask",
			    "tpc_map", "pce_map",     "copy_topology", "local_memory",    "bars",    "image"};

struct NotTold {
	const char *name, *why;
};

const char WRITES[] = "it is for writing to a GPU, and an image is none";

// Files of /proc/gpuX that say nothing of an image.
const NotTold NOT_TOLD[] = {
	{"snapshot", "it is binary and of a running GPU; gpulens -i FILE --json shows what one would hold"},
	{"topology", "it is binary and of a running GPU; gpulens -i FILE --json shows what one would hold"},
	{"stats", "it counts what the module did, which is no word of the GPU"},
	{"samples",
	 "it looks at the engines over time, and an image is of one instant; gpulens -i FILE engines shows that"},
	{"disable_channel", WRITES},
	{"enable_channel", WRITES},
	{"preempt_tsg", WRITES},
	{"switch_to_tsg", WRITES},
	{"tsg_timeslice", WRITES},
	{"preempt_runlist", WRITES},
	{"resubmit_runlist", WRITES},
	{"wfi_preempt_channel", WRITES},
	{"cta_preempt_channel", WRITES},
	{"cil_preempt_channel", WRITES},
};

const char *why_not_told(const std::string &name)
{
	for (const NotTold &n : NOT_TOLD)
		if (name == n.name)
			return n.why;
	return nullptr;
}

class Files {
public:
	Files(Decoder &d, lens_text *t, std::vector<Failure> &failures) : d_(d), t_(t), failures_(failures) {}

	void show(const std::string &name);

private:
	const lens_topology &topo() { return d_.gpu().topo; }
	bool none_failed(const std::vector<Failure> &why)
	{
		failures_ = why;
		return why.empty() && d_.has_topology();
	}
	// The kernel's %#x gives 0x0, that of the C library 0.
	void hex(u32 v) { lens_text_add(t_, "0x%x\n", v); }
	// A count of none that comes with a failure was never read; another one was, whatever failed beside it.
	void count(u32 n, const std::vector<Failure> &why)
	{
		if (d_.has_topology() && n)
			hex(n);
		else if (none_failed(why))
			hex(n);
	}
	// Of a file that only some GPUs have.
	void hex_of(u32 v, bool there, const std::string &name)
	{
		if (there)
			hex(v);
		else
			failures_.push_back({{Part::ProcFile, name}, -ENOENT, {}});
	}
	bool show_unit(const std::string &name);
	void show_runlist(u32 id);

	Decoder &d_;
	lens_text *t_;
	std::vector<Failure> &failures_;
};

void Files::show_runlist(u32 id)
{
	std::unique_ptr<RunlistSnap> list;

	if (d_.has_runlists(failures_))
		list = d_.runlist(id, failures_);
	if (list)
		lens_format_runlist(t_, &d_.gpu(), &list->snap, true);
}

// A file of one GPC, PCE or GRCE.
bool Files::show_unit(const std::string &name)
{
	std::optional<u32> i;

	if ((i = number_in(name, "gpc", "_tpc_mask"))) {
		if (none_failed(d_.gpc_failures())) {
			bool there = *i < topo().num_gpcs && !(topo().gpc_mask >> *i & 1);
			hex_of(there ? topo().tpc_mask[*i] : 0, there, name);
		}
	} else if ((i = number_in(name, "lce_for_pce"))) {
		if (none_failed(d_.copy_failures())) {
			bool there = *i < d_.gpu().chip->ce.pces && topo().ce.pce_map >> *i & 1;
			hex_of(there ? topo().ce.lce_for_pce[*i] : 0, there, name);
		}
	} else if ((i = number_in(name, "shared_lce_for_grce"))) {
		if (none_failed(d_.copy_failures()))
			hex_of(*i < topo().ce.n_grces ? topo().ce.shared_lce[*i] : 0, *i < topo().ce.n_grces, name);
	}
	return i.has_value();
}

void Files::show(const std::string &name)
{
	if (name == "chip") {
		show_chip(t_, d_);
	} else if (name == "device_info") {
		failures_ = d_.engine_failures();
		if (d_.has_topology())
			lens_format_device_info(t_, &d_.gpu());
	} else if (name == "num_gpcs") {
		count(topo().num_gpcs, d_.gpc_failures());
	} else if (name == "num_tpc_per_gpc") {
		count(topo().num_tpc_per_gpc, d_.gpc_failures());
	} else if (name == "num_ces") {
		count(topo().num_ces, d_.copy_failures());
	} else if (name == "gpc_mask") {
		if (none_failed(d_.gpc_failures()))
			hex(topo().gpc_mask);
	} else if (name == "pce_map") {
		if (none_failed(d_.copy_failures()))
			hex(topo().ce.pce_map);
	} else if (name == "copy_topology") {
		failures_ = d_.copy_failures();
		if (d_.has_topology() && !topo().ce_err)
			lens_format_copy_topology(t_, &d_.gpu(), &topo().ce);
	} else if (name == "tpc_map") {
		failures_ = d_.gpc_failures();
		if (failures_.empty())
			lens_format_tpc_map(t_, &d_.gpu());
	} else if (name == "local_memory") {
		if (none_failed(d_.memory_failures()))
			lens_text_add(t_, "%llu\n", static_cast<unsigned long long>(topo().memory_bytes));
	} else if (name == "bars") {
		if (std::unique_ptr<lens_bars> bars = d_.bars(failures_))
			lens_format_bars(t_, bars.get(), true);
	} else if (std::optional<u32> id = number_in(name, "runlist")) {
		show_runlist(*id);
	} else {
		show_unit(name);
	}
}

} // namespace

bool is_proc_file(const std::string &name)
{
	for (const char *told : TOLD)
		if (name == told)
			return true;
	return why_not_told(name) || number_in(name, "runlist") || number_in(name, "gpc", "_tpc_mask") ||
	       number_in(name, "lce_for_pce") || number_in(name, "shared_lce_for_grce");
}

ProcText proc_text(Decoder &d, const std::string &name)
{
	ProcText out;
	Text t;

	if (const char *why = why_not_told(name)) {
		out.failures.push_back({{Part::ProcFile, name}, -EOPNOTSUPP, {}, why});
		return out;
	}
	if (name == "image") {
		out.text = write_image(d.image());
		return out;
	}
	if (!d.identified()) {
		out.failures = d.chip_failures();
		return out;
	}
	Files(d, &t.text, out.failures).show(name);
	out.text = t.take();
	return out;
}

} // namespace tool
