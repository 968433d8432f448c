// SPDX-License-Identifier: GPL-2.0
// The text of the gpulens tool. What a /proc file prints, the module's own formatters print here too; the rest
// (channels, the lines of gpcs) is composed of the names and values of such files.
#include "commands.hpp"

#include "format.h"

#include <cinttypes>

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

void append(std::vector<Failure> &to, std::vector<Failure> from)
{
	for (Failure &f : from)
		to.push_back(std::move(f));
}

void add_channel_line(lens_text *t, const lens_runlist &rl, const ChannelRow &c)
{
	char tsg[12] = "-";

	if (c.tsg != LENS_NONE)
		std::snprintf(tsg, sizeof(tsg), "%d", c.tsg);
	lens_text_add(t, "%7u %4s %4u ", rl.id, tsg, c.entry.id);
	if (c.err)
		lens_text_add(t, "%7s %8u 0x%012" PRIx64 " %-8s unreadable\n", "-", c.entry.runqueue, c.inst,
			      target_name(c.inst_target));
	else
		lens_text_add(t, "%7u %8u 0x%012" PRIx64 " %-8s %s\n", c.state.enable, c.entry.runqueue, c.inst,
			      target_name(c.inst_target), lens_status_name(c.state.status));
}

void add_channels(lens_text *t, Decoder &d, std::vector<Failure> &failures)
{
	const lens_topology &topo = d.gpu().topo;

	if (!d.has_runlists(failures))
		return;
	lens_text_add(t, "%7s %4s %4s %7s %8s %-14s %-8s %s\n", "Runlist", "TSG", "Id", "Enabled", "Runqueue",
		      "Instance", "Target", "Status");
	for (u32 i = 0; i < topo.n_runlists; i++) {
		std::unique_ptr<Runlist> list = d.runlist(topo.runlists[i].id, failures);
		if (!list)
			continue;
		for (const RunlistRow &row : runlist_rows(d.gpu(), list->snap))
			if (!row.is_tsg)
				add_channel_line(t, topo.runlists[i], row.channel);
	}
}

void add_gpcs(lens_text *t, Decoder &d, std::vector<Failure> &failures)
{
	const lens_topology &topo = d.gpu().topo;

	append(failures, d.gpc_failures());
	if (topo.num_gpcs)
		lens_text_add(t, "num_gpcs: 0x%x\n", topo.num_gpcs);
	if (topo.num_tpc_per_gpc)
		lens_text_add(t, "num_tpc_per_gpc: 0x%x\n", topo.num_tpc_per_gpc);
	if (!failures.empty())
		return;
	lens_text_add(t, "gpc_mask: 0x%x\n", topo.gpc_mask);
	for (u32 i = 0; i < topo.num_gpcs; i++)
		if (!(topo.gpc_mask >> i & 1))
			lens_text_add(t, "gpc%u_tpc_mask: 0x%x\n", i, topo.tpc_mask[i]);
	lens_text_add(t, "tpc_map:\n");
	lens_format_tpc_map(t, &d.gpu());
}

} // namespace

std::optional<What> command_by_name(const std::string &name)
{
	static const struct {
		const char *name;
		What what;
	} commands[] = {
		{"engines", What::Engines}, {"runlist", What::Runlist}, {"channels", What::Channels},
		{"copy", What::Copy},       {"gpcs", What::Gpcs},       {"chip", What::Chip},
	};

	for (const auto &c : commands)
		if (name == c.name)
			return c.what;
	return std::nullopt;
}

const char *target_name(u32 target)
{
	static const char *const names[] = {"vid", "invalid", "sys coh", "sys ncoh"};

	return names[target & 3];
}

std::vector<RunlistRow> runlist_rows(const lens_gpu &gpu, const lens_runlist_snap &snap)
{
	std::vector<RunlistRow> rows;
	u32 left = 0;
	int tsg = LENS_NONE;

	for (u32 i = 0; i < snap.n; i++) {
		RunlistRow row{};
		lens_entry e;
		gpu.chip->host->decode_entry(&snap.entries[size_t{i} * gpu.chip->entry_words], &e);
		row.is_tsg = e.is_tsg;
		if (e.is_tsg) {
			row.tsg = e;
			tsg = e.id;
			left = e.length;
		} else {
			ChannelRow &c = row.channel;
			c.entry = e;
			c.err = snap.err[i];
			c.tsg = left ? tsg : LENS_NONE;
			c.inst = e.inst;
			c.inst_target = e.inst_target;
			if (!c.err)
				gpu.chip->host->decode_channel(&snap.state[size_t{2} * i], &c.state);
			if (c.state.pccsr) {
				c.inst = c.state.inst;
				c.inst_target = c.state.inst_target;
			}
			c.context = snap.context && !c.err ? &snap.context[i] : nullptr;
			left -= left ? 1 : 0;
		}
		rows.push_back(row);
	}
	return rows;
}

Output text_output(Decoder &d, const Command &command)
{
	Output out;
	Text t;
	std::unique_ptr<Runlist> list;

	if (!d.identified()) {
		out.failures = d.chip_failures();
		return out;
	}
	switch (command.what) {
	case What::Chip: {
		lens_readable r{};
		bool asked = d.has_topology() && lens_gpu_has_host(&d.gpu()) && !lens_runlists_readable(&d.gpu(), &r);
		lens_format_chip(&t.text, &d.gpu(),
				 d.image().where().empty() ? "not recorded" : d.image().where().c_str(),
				 asked ? &r : nullptr);
		break;
	}
	case What::Engines:
		append(out.failures, d.engine_failures());
		if (d.has_topology())
			lens_format_device_info(&t.text, &d.gpu());
		break;
	case What::Copy:
		append(out.failures, d.copy_failures());
		if (d.has_topology() && !d.gpu().topo.ce_err)
			lens_format_copy_topology(&t.text, &d.gpu());
		break;
	case What::Gpcs: add_gpcs(&t.text, d, out.failures); break;
	case What::Runlist:
		if (d.has_runlists(out.failures))
			list = d.runlist(command.runlist, out.failures);
		if (list)
			lens_format_runlist(&t.text, &d.gpu(), &list->snap, true);
		break;
	case What::Channels: add_channels(&t.text, d, out.failures); break;
	}
	out.text = t.take();
	return out;
}

} // namespace tool
