// SPDX-License-Identifier: GPL-2.0
// All units of one GPU, made from its profile. Private to the model: users see gpu.hpp.
#pragma once
#include "model/bring_up.hpp"
#include "model/bus.hpp"
#include "model/chip_units.hpp"
#include "model/pccsr.hpp"
#include "model/pfifo.hpp"
#include "model/runlist_registers.hpp"
#include "model/turing_runlists.hpp"

namespace emu {

struct GpuUnits {
	GpuUnits(const Profile &p, Memories &mem) : host(p, mem)
	{
		make<Pmc>(p);
		make<Ptimer>(host);
		make<Ptop>(p);
		Pfifo *pfifo =
			p.pfifo() ? make<Pfifo>(p, host) : nullptr; // first in its ranges, which it refuses when off
		if (p.traits.fuse_locked)
			make<Locked>(std::vector<Range>{{p.traits.fuse, 0x1000}, // fuses
							{0x104000, 0x2000},      // copy engine maps
							{0x409000, 0x1000},      // live GPC and TPC counts
							{0x120000, 0x1000},
							{0x500000, 0x100000}},
				     LEVEL_MASKED);
		else if (!p.pfifo())
			make<GrCounts>(p, nullptr);
		if (p.traits.fuse && !p.traits.fuse_locked)
			make<Fuse>(p);
		if (p.traits.cwd_words)
			make<Cwd>(p, host);
		if (p.traits.copy != CopyMap::None && p.traits.copy != CopyMap::Locked)
			make<Ce>(p);
		make<FbSize>(p);
		if (!p.traits.runlists_locked)
			make<Pbdma>(p, host);
		bus = make<Bus>(p, mem, host);
		if (p.pfifo()) {
			make<GrCounts>(p, make<MasterEnable>(*pfifo, p.traits));
			if (p.traits.bring_up != BringUp::None && !p.unified)
				make_bring_up(p, pfifo);
			make<Pccsr>(p, host);
			if (!p.traits.runlist_readback)
				make<TuringRunlists>(p, host);
			return;
		}
		if (p.traits.runlists_locked) {
			std::vector<Range> blocks = {{0x40000, 0x800 * p.num_pbdma}};
			for (const auto &rl : p.runlists)
				blocks.push_back({rl.pri_base, 0x400});
			make<Locked>(blocks, LEVEL_MASKED);
			return;
		}
		for (auto &rl : host.runlists()) {
			make<RunlistRegisters>(p, host, rl);
			make<ChannelRam>(host, rl);
		}
		if (p.traits.bring_up != BringUp::None && !p.unified)
			make_vector_bring_up(p);
	}

	// Vectors of ampere_interrupt_map.csv (DOC ampere/host): PTIMER, "Runlist tree0", and "Engine nostall" for a channel that
	// asks for an interrupt. That runlist i has the i-th and an engine that of its number: assumed. The channel's engine is
	// taken to be its runlist's first.
	void make_vector_bring_up(const Profile &p)
	{
		constexpr unsigned PTIMER = 148, RUNLIST_TREE0 = 160;
		alarm = make<Alarm>(host);
		std::vector<InterruptVector> list = {{PTIMER, nullptr, [alarm = alarm] { return alarm->pending(); }}};
		for (Runlist &rl : host.runlists()) {
			list.push_back({RUNLIST_TREE0 + unsigned(rl.info.id), &rl.event_message,
					[&rl] { return rl.raised(); }});
			for (const EngineInfo &e : p.engines)
				if (e.runlist == rl.info.id && e.rleng == 0)
					list.push_back({unsigned(e.engine_id), &rl.channel_message, nullptr});
		}
		vectors = make<VectorTree>(list);
		make<KeptRegisters>(kept_registers(p));
	}

	// Bits of PMC's interrupt tree: DOC volta/gv100/dev_master.ref.txt NV_PMC_INTR_PFIFO, _PTIMER. PTIMER has no second
	// enable (OGK kepler/gk104/dev_timer.h, DOC volta/gv100/dev_timer.ref.txt).
	void make_bring_up(const Profile &p, Pfifo *pfifo)
	{
		alarm = make<Alarm>(host);
		interrupts = make<InterruptTree>(
			std::vector<InterruptLine>{
				{8, [pfifo](unsigned word) { return pfifo->interrupt_pending(word); }},
				{20, [alarm = alarm](unsigned word) { return word == 0 && alarm->pending(); }}},
			p.traits.bring_up);
		if (!p.traits.host_volta)
			make<FaultReports>(host, p.traits.wide_faults);
		make<KeptRegisters>(kept_registers(p));
	}

	template <class T, class... A> T *make(A &&...args)
	{
		auto u = std::make_unique<T>(std::forward<A>(args)...);
		T *raw = u.get();
		all.push_back(std::move(u));
		return raw;
	}

	Host host;
	std::vector<std::unique_ptr<Unit>> all;
	Bus *bus = nullptr;
	Alarm *alarm = nullptr;
	InterruptTree *interrupts = nullptr; // these two: null where not modelled
	VectorTree *vectors = nullptr;
};

} // namespace emu
