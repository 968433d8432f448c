// SPDX-License-Identifier: GPL-2.0
// A row for each fact: its values of a GPU from any source, and the failures that say why there are none.
#include "gpulens/cmd/compare_gpus.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool {

namespace {

constexpr size_t MAX_SHOWN = 6;

Values value_or_none(const std::string &value)
{
	return value.empty() ? Values{} : Values{{"", value}};
}

Values chip_of(const Gpu &gpu)
{
	return value_or_none(gpu.chip.name);
}

Values boot0_of(const Gpu &gpu)
{
	return value_or_none(gpu.chip.boot0 ? fmt::format("{:#x}", *gpu.chip.boot0) : "");
}

Values memory_of(const Gpu &gpu)
{
	return value_or_none(gpu.chip.memory_bytes ? fmt::format("{} KiB", gpu.chip.memory_bytes >> 10) : "");
}

// A number of each engine that is known. Engines without a runlist are left out: drivers do not list all of them.
template <auto MEMBER> Values numbers_of(const Gpu &gpu)
{
	Values values;

	for (const Engine &e : gpu.engines)
		if (e.runlist != LENS_NONE && e.*MEMBER != decltype(e.*MEMBER)(LENS_NONE))
			values[e.short_name()] = fmt::format("{:#x}", e.*MEMBER);
	return values;
}

Values engines_of(const Gpu &gpu)
{
	Values values = numbers_of<&Engine::runlist>(gpu);

	for (auto &[engine, value] : values)
		value = "present";
	return values;
}

// The numbers of TPCs of the enabled GPCs, ascending, because sources number GPCs differently.
std::vector<size_t> count_tpcs(const Gpu &gpu)
{
	std::vector<size_t> counts;

	for (const Gpc &g : gpu.gpcs)
		counts.push_back(g.tpcs);
	for (const HardwareGpc &g : gpu.counted_gpcs)
		counts.push_back(g.tpcs.size());
	std::ranges::sort(counts);
	return counts;
}

Values gpcs_of(const Gpu &gpu)
{
	size_t n = count_tpcs(gpu).size();

	return value_or_none(n ? std::to_string(n) : "");
}

Values tpcs_of(const Gpu &gpu)
{
	return value_or_none(fmt::format("{}", fmt::join(count_tpcs(gpu), " ")));
}

Values copies_of(const Gpu &gpu)
{
	Values values;

	for (const Copy &c : gpu.copies())
		values[fmt::format("LCE{}", c.lce)] = fmt::format("PCE {}", fmt::join(c.pces, " "));
	return values;
}

// shared: only what both know is compared, because another fact names what one of them lacks.
const struct {
	const char *name;
	Values (*of)(const Gpu &gpu);
	std::vector<Failure> Gpu::*failures;
	bool shared;
} FACTS[] = {
	{"chip", chip_of, &Gpu::chip_failures, false},
	{"BOOT_0", boot0_of, &Gpu::chip_failures, false},
	{"memory size", memory_of, &Gpu::chip_failures, false},
	{"engines", engines_of, &Gpu::engine_failures, false},
	{"runlists", numbers_of<&Engine::runlist>, &Gpu::engine_failures, true},
	{"engine ids", numbers_of<&Engine::engine_id>, &Gpu::engine_failures, true},
	{"fault ids", numbers_of<&Engine::fault>, &Gpu::engine_failures, true},
	{"GPCs", gpcs_of, &Gpu::gpc_failures, false},
	{"TPCs of GPCs", tpcs_of, &Gpu::gpc_failures, false},
	{"copy engines", copies_of, &Gpu::copy_failures, false},
};

std::string explain_absence(const std::vector<Failure> &failures, const char *whose)
{
	return fmt::format("{}: {}", whose, failures.empty() ? "not reported" : failures.front().text());
}

// "LCE2 1, LCE3 2, ..."
std::string list_values(const Values &values)
{
	std::vector<std::string> shown;

	for (const auto &[key, value] : values)
		if (shown.size() < MAX_SHOWN)
			shown.push_back(key.empty() ? value : key + " " + value);
	return fmt::format("{}{}", fmt::join(shown, ", "), values.size() > MAX_SHOWN ? ", ..." : "");
}

// "a page directory", or what is wrong with it.
std::string describe_page_directory(const Gpu &gpu, const Context &context)
{
	if (context.err)
		return Failure{Part::Channel, context.err, {}}.text();
	if (!context.pdb)
		return "no page directory";
	if (context.pdb_target == LENS_VID && gpu.chip.memory_bytes && context.pdb >= gpu.chip.memory_bytes)
		return fmt::format("page directory {:#x}, beyond GPU memory", context.pdb);
	return "a page directory";
}

} // namespace

Comparison compare_values(const std::string &fact, const char *whose, const Values &ours, const Values &theirs,
			  const std::string &why)
{
	Values our_other, their_other;

	if (ours.empty() || theirs.empty())
		return {fact, Verdict::NotComparable, why};
	for (const auto &[one, two, mine, its] :
	     {std::tie(ours, theirs, our_other, their_other), std::tie(theirs, ours, their_other, our_other)})
		for (const auto &[key, value] : one)
			if (auto found = two.find(key); found == two.end() || found->second != value) {
				mine[key] = value;
				its[key] = found == two.end() ? "absent" : found->second;
			}
	if (!our_other.empty())
		return {fact, Verdict::Different,
			fmt::format("gpulens: {}; {}: {}", list_values(our_other), whose, list_values(their_other))};
	return {fact, Verdict::Equal, ours.begin()->first.empty() ? ours.begin()->second : std::to_string(ours.size())};
}

std::vector<Comparison> compare_gpus(const Gpu &ours, const Gpu &theirs, const std::string &why)
{
	std::vector<Comparison> list;

	for (const auto &fact : FACTS) {
		Values mine = fact.of(ours), its = fact.of(theirs);
		std::string absence = mine.empty()   ? explain_absence(ours.*fact.failures, "gpulens")
				      : !why.empty() ? why
						     : explain_absence(theirs.*fact.failures, "driver");
		if (fact.shared) {
			std::erase_if(mine, [&](const auto &value) { return !its.contains(value.first); });
			std::erase_if(its, [&](const auto &value) { return !mine.contains(value.first); });
		}
		list.push_back(compare_values(fact.name, "driver", mine, its, absence));
	}
	return list;
}

std::vector<Comparison> compare_channels(const Gpu &ours, const Gpu &before, const Gpu &after, const std::string &why)
{
	Values shown, allocated, named, wanted;
	std::string absence = ours.runlist_failures.empty() ? "no channel is on a runlist"
							    : explain_absence(ours.runlist_failures, "gpulens");
	std::string no_ids = !why.empty()        ? why
			     : !before.allocated ? explain_absence(before.channel_failures, "driver")
						 : absence;
	auto has = [](const Gpu &gpu, u32 id) { return gpu.allocated && std::ranges::count(*gpu.allocated, id); };

	for (const Runlist &rl : ours.runlists)
		for (const Channel *c : rl.channels()) {
			std::string name = fmt::format("channel {}:{}", rl.id, c->id);
			if (before.allocated) {
				shown[name] = "on the runlist";
				allocated[name] =
					has(before, c->id) || has(after, c->id) ? shown[name] : "not allocated";
			}
			if (c->context) {
				named[name] = describe_page_directory(ours, *c->context);
				wanted[name] = "a page directory";
			}
		}
	return {compare_values("channels of runlists", "driver", shown, allocated, no_ids),
		compare_values("instance blocks", "expected", named, wanted, absence)};
}

std::string comparisons_text(const std::vector<Comparison> &list, const Style &style)
{
	Table t({"<Fact", "<Result", "<Value"});

	for (const Comparison &c : list)
		t.add({c.fact,
		       c.verdict == Verdict::Equal       ? Cell("equal", Ink::Green)
		       : c.verdict == Verdict::Different ? Cell("different", Ink::Red)
							 : Cell("not comparable"),
		       c.text});
	return t.str(style);
}

} // namespace tool
