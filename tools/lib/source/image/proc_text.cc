// SPDX-License-Identifier: GPL-2.0
// Formats an image's files with the module's formatters.
#include "lib/source/image/proc_text.hpp"

#include "format.h"

#include <cerrno>
#include <charconv>
#include <fmt/format.h>
#include <iterator>
#include <new>
#include <optional>

namespace tool {

namespace {

// Owns a lens_text.
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
	std::string where = d.image().device();
	lens_readable r{};
	bool has_readable = d.has_topology() && lens_gpu_has_host(&d.gpu()) && !lens_check_readable(&d.gpu(), &r);

	lens_format_chip(t, &d.gpu(), where.empty() ? "not recorded" : where.c_str(), has_readable ? &r : nullptr);
}

// Returns the number in a name such as "runlist%u" or "gpc%u_tpc_mask"; nothing if the name has another form.
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

const char *const SUPPORTED[] = {"chip",    "device_info", "num_gpcs",      "num_tpc_per_gpc", "num_ces", "gpc_mask",
				 "tpc_map", "pce_map",     "copy_topology", "local_memory",    "bars",    "image"};

struct UnsupportedFile {
	const char *name, *reason;
};

const char WRITES[] = "it is for writing to a GPU, and an image is read-only";

// Files of /proc/gpuX that cannot be shown from an image.
const UnsupportedFile UNSUPPORTED[] = {
	{"snapshot", "it is the binary state of a running GPU; use gpulens -i FILE --json"},
	{"ctxsw_timeout", "it is how long the driver waits now, which an image does not record"},
	{"stats", "it counts accesses by the module, which an image does not record"},
	{"samples",
	 "it samples engines over time, and an image is the state at one instant; use gpulens -i FILE engines"},
	{"disable_channel", WRITES},
	{"enable_channel", WRITES},
	{"hold_channel", WRITES},
	{"preempt_tsg", WRITES},
	{"switch_to_tsg", WRITES},
	{"tsg_timeslice", WRITES},
	{"preempt_runlist", WRITES},
	{"resubmit_runlist", WRITES},
	{"wfi_preempt_channel", WRITES},
	{"cta_preempt_channel", WRITES},
	{"cil_preempt_channel", WRITES},
};

// Parts of the names that have a number between them.
const struct Numbered {
	const char *before, *after;
} NUMBERED[] = {{"runlist", ""},        {"gpc", "_tpc_mask"}, {"lce_for_pce", ""}, {"shared_lce_for_grce", ""},
		{"CWD_GPC_TPC_ID", ""}, {"CWD_SM_ID", ""}};

const char *why_unsupported(const std::string &name)
{
	for (const UnsupportedFile &file : UNSUPPORTED)
		if (name == file.name)
			return file.reason;
	return nullptr;
}

class Files {
public:
	Files(Decoder &d, lens_text *t, std::vector<Failure> &failures) : d_(d), t_(t), failures_(failures) {}

	void show(const std::string &name);

private:
	const lens_topology &topo() { return d_.gpu().topo; }
	// Sets the failures, and returns whether the file can be shown.
	bool check_failures(const std::vector<Failure> &failures)
	{
		failures_ = failures;
		return failures.empty() && d_.has_topology();
	}
	// Zero is 0x0, as the kernel's %#x prints it; the C library's prints 0.
	void add_hex(u32 v) { lens_text_add(t_, "0x%x\n", v); }
	// A count of zero with a failure was not read; any other count was.
	void add_count(u32 n, const std::vector<Failure> &failures)
	{
		if (d_.has_topology() && n)
			add_hex(n);
		else if (check_failures(failures))
			add_hex(n);
	}
	// For a file that only some GPUs have.
	void add_hex_if(u32 v, bool exists, const std::string &name)
	{
		if (exists)
			add_hex(v);
		else
			failures_.push_back({{Part::ProcFile, name}, -ENOENT, {}});
	}
	void show_tpc_map();
	bool show_cwd(const std::string &name);
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
		lens_format_runlist(t_, &d_.gpu(), &list->snap);
}

void Files::show_tpc_map()
{
	lens_tpc_places places = d_.has_counts() ? d_.counted_places(failures_) : d_.tpc_places();

	if (failures_.empty())
		lens_format_tpc_map(t_, &d_.gpu(), &places);
}

// A word of the hardware's table of TPCs.
bool Files::show_cwd(const std::string &name)
{
	const lens_cwd_layout &cwd = d_.gpu().chip->cwd;
	std::optional<u32> order = number_in(name, "CWD_GPC_TPC_ID"), sm = number_in(name, "CWD_SM_ID");

	if (!order && !sm)
		return false;
	if (order.value_or(0) + sm.value_or(0) >= cwd.words)
		failures_.push_back({{Part::ProcFile, name}, -ENOENT, {}});
	else if (std::optional<u32> word =
			 d_.cwd_word(order ? cwd.gpc_tpc_id : cwd.sm_id, order ? *order : *sm, failures_))
		add_hex(*word);
	return true;
}

// A file of one GPC, PCE or GRCE.
bool Files::show_unit(const std::string &name)
{
	std::optional<u32> i;

	if ((i = number_in(name, "gpc", "_tpc_mask"))) {
		if (check_failures(d_.gpc_failures())) {
			bool exists = *i < topo().num_gpcs && !(topo().gpc_mask >> *i & 1);
			add_hex_if(exists ? topo().tpc_mask[*i] : 0, exists, name);
		}
	} else if ((i = number_in(name, "lce_for_pce"))) {
		if (check_failures(d_.copy_failures())) {
			bool exists = *i < d_.gpu().chip->ce.pces && topo().ce.pce_map >> *i & 1;
			add_hex_if(exists ? topo().ce.lce_for_pce[*i] : 0, exists, name);
		}
	} else if ((i = number_in(name, "shared_lce_for_grce"))) {
		if (check_failures(d_.copy_failures()))
			add_hex_if(*i < topo().ce.n_grces ? topo().ce.shared_lce[*i] : 0, *i < topo().ce.n_grces, name);
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
		add_count(topo().num_gpcs, d_.gpc_failures());
	} else if (name == "num_tpc_per_gpc") {
		add_count(topo().num_tpc_per_gpc, d_.gpc_failures());
	} else if (name == "num_ces") {
		add_count(topo().num_ces, d_.copy_failures());
	} else if (name == "gpc_mask") {
		if (check_failures(d_.gpc_failures()))
			add_hex(topo().gpc_mask);
	} else if (name == "pce_map") {
		if (check_failures(d_.copy_failures()))
			add_hex(topo().ce.pce_map);
	} else if (name == "copy_topology") {
		failures_ = d_.copy_failures();
		if (d_.has_topology() && !topo().ce_err)
			lens_format_copy_topology(t_, &d_.gpu(), &topo().ce);
	} else if (name == "tpc_map") {
		if (!d_.has_counts())
			failures_ = d_.gpc_failures();
		if (failures_.empty())
			show_tpc_map();
	} else if (name == "local_memory") {
		if (check_failures(d_.memory_failures()))
			lens_text_add(t_, "%llu\n", static_cast<unsigned long long>(topo().memory_bytes));
	} else if (name == "bars") {
		if (std::unique_ptr<lens_bars> bars = d_.bars(failures_))
			lens_format_bars(t_, bars.get());
	} else if (std::optional<u32> id = number_in(name, "runlist")) {
		show_runlist(*id);
	} else if (!show_cwd(name)) {
		show_unit(name);
	}
}

} // namespace

std::vector<std::string> proc_files()
{
	std::vector<std::string> names(std::begin(SUPPORTED), std::end(SUPPORTED));

	for (const Numbered &file : NUMBERED)
		names.push_back(fmt::format("{}0{}", file.before, file.after));
	return names;
}

bool is_proc_file(const std::string &name)
{
	for (const char *supported : SUPPORTED)
		if (name == supported)
			return true;
	for (const Numbered &file : NUMBERED)
		if (number_in(name, file.before, file.after))
			return true;
	return why_unsupported(name);
}

ProcText proc_text(Decoder &d, const std::string &name)
{
	ProcText out;
	Text t;

	if (const char *reason = why_unsupported(name)) {
		out.failures.push_back({{Part::ProcFile, name}, -EOPNOTSUPP, {}, reason});
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
