// SPDX-License-Identifier: GPL-2.0
// All units of one GPU, made from its profile. Private to the model: users see gpu.hpp.
#pragma once
#include "model/bus.hpp"
#include "model/chip_units.hpp"
#include "model/pccsr.hpp"
#include "model/pfifo.hpp"
#include "model/rlram.hpp"
#include "model/turing_runlists.hpp"

namespace emu {

struct GpuUnits {
	GpuUnits(const Profile &p, Memories &mem) : host(p, mem)
	{
		make<Pmc>(p);
		make<Ptimer>(host);
		make<Ptop>(p);
		make<Fuse>(p);
		make<Ce>(p);
		make<FbSize>(p);
		make<GrCounts>(p);
		make<Pbdma>(p, host);
		bus = make<Bus>(p, mem, host);
		if (p.pfifo()) {
			pfifo = make<Pfifo>(p, host);
			make<Pccsr>(p, host);
			if (p.family == Family::Turing)
				turing = make<TuringRunlists>(p, host);
			return;
		}
		for (auto &rl : host.runlists()) {
			make<Rlram>(p, host, rl);
			make<Chram>(host, rl);
		}
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
	Pfifo *pfifo = nullptr;
	TuringRunlists *turing = nullptr;
};

} // namespace emu
