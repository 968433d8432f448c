// SPDX-License-Identifier: GPL-2.0
// What processes and address spaces share, by rules R4 and R8 of RTAS'24. Each test should fail with the comparison of
// processes, of page directories, or of what is unknown left out of lib/model/isolation.cc; that was not tried.
#include "gpulens/out/table.hpp"
#include "gpulens/out/text.hpp"
#include "hw/ptop.h"
#include "lib/model/isolation.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <memory>

namespace {

using tool::Gpu;
using tool::Hazard;

using Found = std::vector<std::string>; // "R4:processes-share-runlist 0"

// A channel whose page directory is at this address (0: unknown), of this process (0: unknown).
tool::Channel make_channel(u32 id, u64 page_directory, u32 pid = 0)
{
	tool::Channel c;

	c.id = id;
	if (page_directory)
		c.context.emplace().pdb = page_directory;
	if (pid)
		c.owner = std::make_shared<const tool::Owner>(tool::Owner{.pid = pid, .name = "prog"});
	return c;
}

tool::Tsg make_tsg(u32 id, std::vector<tool::Channel> channels)
{
	return {.id = id, .channels = channels, .owner = channels.empty() ? nullptr : channels[0].owner};
}

// Graphics and GRCE0 on runlist 0, LCE2 on runlist 1; GRCE0 shares PCE 4 of LCE2.
Gpu gpu_of(std::vector<tool::Tsg> graphics, std::vector<tool::Tsg> copies)
{
	Gpu gpu;
	tool::Engine gr, grce, lce;

	gr.runlist = 0;
	grce.name = "Copy Engine 0 (GRCE0/LCE0)";
	lce.name = "Copy Engine 2 (LCE2)";
	grce.type = lce.type = NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE;
	grce.runlist = 0;
	grce.grce = true;
	lce.inst = 2;
	lce.runlist = 1;
	gpu.engines = {gr, grce, lce};
	gpu.has_runlists = gpu.has_copy = true;
	gpu.pce_map = 0x10;
	gpu.lce_for_pce = {{4, 2}};
	gpu.shared_lce = {2};
	tool::Runlist first, second;
	first.id = 0;
	first.tsgs = std::move(graphics);
	second.id = 1;
	second.tsgs = std::move(copies);
	gpu.runlists = {first, second};
	return gpu;
}

Found list_found(const std::vector<Hazard> &hazards)
{
	Found found;

	for (const Hazard &h : hazards) {
		std::string text = h.id();
		for (u32 id : h.runlists)
			text += ' ' + std::to_string(id);
		found.push_back(text);
	}
	return found;
}

Found find_sharing(const Gpu &gpu)
{
	return list_found(tool::isolation_of(gpu).sharing);
}

Found find_unknown(const Gpu &gpu)
{
	return list_found(tool::isolation_of(gpu).unknown);
}

TEST(Isolation, OneTaskSharesNothing)
{
	Gpu gpu = gpu_of({make_tsg(1, {make_channel(1, 0), make_channel(2, 0)})}, {});

	EXPECT_EQ(list_found(tool::isolation_of(gpu).hazards), Found{"R8:grce-shares-pce 0 1"});
	EXPECT_EQ(find_sharing(gpu), Found{});
	EXPECT_EQ(find_unknown(gpu), Found{});
}

TEST(Isolation, ProcessesShareARunlist)
{
	Gpu gpu = gpu_of({make_tsg(1, {make_channel(1, 0, 473)}), make_tsg(2, {make_channel(2, 0, 474)})}, {});

	EXPECT_EQ(find_sharing(gpu), Found{"R4:processes-share-runlist 0"});
	EXPECT_EQ(tool::isolation_of(gpu).sharing[0].text,
		  "processes 473 prog and 474 prog share runlist 0: they take turns on GR0 and GRCE0/LCE0");
	// Two TSGs of one process do not, wherever their page directories are unknown.
	gpu = gpu_of({make_tsg(1, {make_channel(1, 0, 473)}), make_tsg(2, {make_channel(2, 0, 473)})}, {});
	EXPECT_EQ(find_sharing(gpu), Found{});
	EXPECT_EQ(find_unknown(gpu), Found{});
}

TEST(Isolation, AddressSpacesShareARunlist)
{
	Gpu gpu = gpu_of({make_tsg(1, {make_channel(1, 0x1000)}), make_tsg(2, {make_channel(2, 0x2000)})}, {});

	EXPECT_EQ(find_sharing(gpu), Found{"R4:address-spaces-share-runlist 0"});
	gpu = gpu_of({make_tsg(1, {make_channel(1, 0x1000)}), make_tsg(2, {make_channel(2, 0x1000)})}, {});
	EXPECT_EQ(find_sharing(gpu), Found{});
	EXPECT_EQ(find_unknown(gpu), Found{});
	// Two in one TSG, as subcontexts have, and two of one process.
	gpu = gpu_of({make_tsg(1, {make_channel(1, 0x1000, 5), make_channel(2, 0x2000, 5)})}, {});
	EXPECT_EQ(find_sharing(gpu), Found{"R4:address-spaces-share-runlist 0"});
	// At the same address in other memory.
	gpu = gpu_of({make_tsg(1, {make_channel(1, 0x1000)}), make_tsg(2, {make_channel(2, 0x1000)})}, {});
	gpu.runlists[0].tsgs[1].channels[0].context->pdb_target = 2;
	EXPECT_EQ(find_sharing(gpu), Found{"R4:address-spaces-share-runlist 0"});
}

TEST(Isolation, AChannelInNoTsgIsATask)
{
	Gpu gpu = gpu_of({make_tsg(1, {make_channel(1, 0x1000)})}, {});

	gpu.runlists[0].outside = {make_channel(1, 0x2000)};
	EXPECT_EQ(find_sharing(gpu), Found{"R4:address-spaces-share-runlist 0"});
	gpu.runlists[0].outside = {make_channel(1, 0)};
	EXPECT_EQ(find_unknown(gpu), Found{"R4:unknown-tasks 0"});
}

TEST(Isolation, ATsgWithoutChannelsIsNone)
{
	EXPECT_EQ(find_unknown(gpu_of({make_tsg(1, {make_channel(1, 0)}), make_tsg(2, {})}, {})), Found{});
}

// One process is known, and the other task's is not; a page directory that could not be read.
TEST(Isolation, UnknownOwnersAreNotTakenForOne)
{
	EXPECT_EQ(find_unknown(gpu_of({make_tsg(1, {make_channel(1, 0, 473)}), make_tsg(2, {make_channel(2, 0)})}, {})),
		  Found{"R4:unknown-tasks 0"});
	EXPECT_EQ(find_unknown(
			  gpu_of({make_tsg(1, {make_channel(1, 0, 473)}), make_tsg(2, {make_channel(2, 0x1000)})}, {})),
		  Found{"R4:unknown-tasks 0"});
	Gpu gpu = gpu_of({make_tsg(1, {make_channel(1, 0x1000)}), make_tsg(2, {make_channel(2, 0x1000)})}, {});
	gpu.runlists[0].tsgs[1].channels[0].context->err = -EIO;
	EXPECT_EQ(find_unknown(gpu), Found{"R4:unknown-tasks 0"});
	EXPECT_EQ(find_sharing(gpu), Found{});
}

TEST(Isolation, TasksShareCopyHardware)
{
	// The same task on both runlists is alone.
	EXPECT_EQ(find_sharing(
			  gpu_of({make_tsg(1, {make_channel(1, 0x1000)})}, {make_tsg(2, {make_channel(2, 0x1000)})})),
		  Found{});
	Gpu gpu = gpu_of({make_tsg(1, {make_channel(1, 0x1000)})}, {make_tsg(2, {make_channel(2, 0x2000)})});
	EXPECT_EQ(find_sharing(gpu), Found{"R8:tasks-share-pce 0 1"});
	EXPECT_EQ(tool::isolation_of(gpu).sharing[0].text,
		  "2 address spaces use runlists 0 and 1, whose GRCE0/LCE0 and LCE2 share PCE 4");
	EXPECT_EQ(find_unknown(gpu_of({make_tsg(1, {make_channel(1, 0)})}, {make_tsg(2, {make_channel(2, 0)})})),
		  Found{"R8:unknown-tasks 0 1"});
	// Without a task on one of the runlists, and without a shared PCE.
	EXPECT_EQ(find_sharing(
			  gpu_of({make_tsg(1, {make_channel(1, 0x1000)}), make_tsg(2, {make_channel(2, 0x2000)})}, {})),
		  Found{"R4:address-spaces-share-runlist 0"});
	gpu.shared_lce = {LENS_NONE};
	gpu.lce_for_pce[5] = 0;
	gpu.pce_map = 0x30;
	EXPECT_EQ(find_sharing(gpu), Found{});
	EXPECT_EQ(find_unknown(gpu), Found{});
}

TEST(Isolation, WhatCannotBeReadIsUnknown)
{
	Gpu gpu = gpu_of({make_tsg(1, {make_channel(1, 0)})}, {});

	gpu.runlists[0].torn = true;
	EXPECT_EQ(find_unknown(gpu), (Found{"R4:unknown-tasks 0", "R8:unknown-tasks 0 1"}));
	gpu.runlists[0].torn = false;
	gpu.runlists[1].err = -EPERM;
	EXPECT_EQ(find_unknown(gpu), (Found{"R4:unknown-tasks 1", "R8:unknown-tasks 0 1"}));
	gpu.runlists.pop_back();
	EXPECT_EQ(find_unknown(gpu), (Found{"R4:unknown-tasks 1", "R8:unknown-tasks 0 1"}));
	gpu = gpu_of({}, {});
	gpu.has_copy = false;
	EXPECT_EQ(find_unknown(gpu), Found{"R8:unknown-copy-engines"});
	gpu.engines.pop_back(); // the only copy engine of a second runlist
	EXPECT_EQ(find_unknown(gpu), Found{});
	gpu.engine_failures.push_back({{tool::Part::Engines}, -EIO, {}});
	EXPECT_EQ(find_unknown(gpu), Found{"R7:unknown-engines"});
	EXPECT_EQ(find_unknown(Gpu{}), (Found{"R7:unknown-engines", "R4:unknown-tasks"}));
}

// NVIDIA's driver reports processes and no runlists.
TEST(Isolation, ProcessesThatComputeShareTheRunlistOfGraphics)
{
	Gpu gpu = gpu_of({}, {});

	gpu.has_runlists = gpu.reports_runlists = false;
	gpu.runlists.clear();
	gpu.shared_lce = {LENS_NONE};
	gpu.processes = {{.pid = 5, .name = "a", .uses = {"compute"}}, {.pid = 6, .name = "b", .uses = {"copy"}}};
	EXPECT_EQ(find_sharing(gpu), Found{});
	EXPECT_EQ(find_unknown(gpu), Found{"R4:unknown-tasks"});
	gpu.processes->push_back({.pid = 7, .name = "", .uses = {"compute", "copy"}});
	EXPECT_EQ(find_sharing(gpu), Found{"R4:processes-share-runlist 0"});
	EXPECT_EQ(tool::isolation_of(gpu).sharing[0].text,
		  "processes 5 a and 7 compute on GR0 of runlist 0: they take turns");
	for (u32 pid : {8, 9, 10, 11})
		gpu.processes->push_back({.pid = pid, .name = "c", .uses = {"compute", "MPS"}});
	EXPECT_EQ(tool::isolation_of(gpu).sharing[0].text, "processes 5 a, 7, 8 c, 9 c and 2 more compute on GR0 of "
							   "runlist 0: they take turns, but for clients of "
							   "MPS, which run at the same time");
}

// With runlists of the module too, where the sentence about processes that share is another one. Seen failing with the
// processes that compute.
TEST(Isolation, MpsIsMentionedWhereTheDriverReportsIt)
{
	Gpu gpu = gpu_of({}, {});
	const std::string sentence = "MPS runs, by what NVIDIA's driver reports (processes 8, 11)";
	auto text = [&] { return tool::isolation_text(gpu, tool::isolation_of(gpu), tool::Style{}, {}); };

	EXPECT_EQ(tool::isolation_of(gpu).mps, std::nullopt);
	gpu.processes = {{.pid = 5, .name = "a", .uses = {"compute"}}};
	EXPECT_EQ(tool::isolation_of(gpu).mps, std::vector<u32>{});
	EXPECT_EQ(text().find("MPS"), std::string::npos);
	for (u32 pid : {8, 11})
		gpu.processes->push_back({.pid = pid, .name = "", .uses = {"compute", "MPS"}});
	EXPECT_EQ(tool::isolation_of(gpu).mps, (std::vector<u32>{8, 11}));
	EXPECT_NE(text().find(sentence), std::string::npos) << text();
}

// --accept takes every name but that of engines that could not be read.
TEST(Isolation, EveryNameCanBeAccepted)
{
	EXPECT_EQ(tool::HAZARD_IDS, (Found{"R4:address-spaces-share-runlist", "R4:processes-share-runlist",
					   "R4:unknown-tasks", "R6:shared-runlist", "R8:grce-shares-pce",
					   "R8:tasks-share-pce", "R8:unknown-copy-engines", "R8:unknown-tasks"}));
}

} // namespace
