// SPDX-License-Identifier: GPL-2.0
// The small units that only identify the chip: PMC, PTIMER, FUSE, CE maps, FB size, live GPC/TPC counts, PBDMA.
// One class each; their register lists with sources are in chip_units.cc, ptop.cc and pbdma.cc.
#pragma once
#include "model/bring_up.hpp"
#include "model/host.hpp"
#include "model/unit.hpp"

namespace emu {

class Pmc : public Unit {
public:
	explicit Pmc(const Profile &p) : profile_(p) {}
	std::vector<Range> ranges() const override { return {{0x0, 0x1000}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;

private:
	const Profile &profile_;
};

class Ptimer : public Unit {
public:
	explicit Ptimer(const Host &host) : host_(host) {}
	std::vector<Range> ranges() const override { return {{0x9000, 0x1000}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;

private:
	const Host &host_;
};

class Ptop : public Unit {
public:
	explicit Ptop(const Profile &p);
	std::vector<Range> ranges() const override;
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;

private:
	std::vector<u32> build_v1(const Profile::Table &table) const;
	std::vector<u32> build_v2(const Profile::Table &table) const;

	const Profile &profile_;
	std::vector<std::vector<u32>> tables_; // by die
};

class Fuse : public Unit {
public:
	explicit Fuse(const Profile &p) : profile_(p) {}
	std::vector<Range> ranges() const override { return {{base(), 0x1000}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;

private:
	u32 base() const { return profile_.traits.fuse; }

	const Profile &profile_;
};

class Ce : public Unit {
public:
	explicit Ce(const Profile &p) : profile_(p), grce_(p.grce_config), pce2lce_(p.pce2lce) {}
	std::vector<Range> ranges() const override { return {{0x104000, 0x2000}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;

private:
	u32 *find_word(u32 offset);

	const Profile &profile_;
	std::vector<u32> grce_, pce2lce_;
};

// NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE, or from ga102 on NV_USABLE_FB_SIZE_IN_MB.
class FbSize : public Unit {
public:
	explicit FbSize(const Profile &p) : profile_(p) {}
	std::vector<Range> ranges() const override { return {{0x100000, 0x1000}, {0x118000, 0x1000}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;

private:
	const Profile &profile_;
};

// Counts of what is left after floorsweeping, by logical GPC.
class GrCounts : public Unit {
public:
	// enable: PMC ENABLE; null: not modelled on this chip, the graphics engine is enabled
	GrCounts(const Profile &p, const MasterEnable *enable) : profile_(p), enable_(enable) {}
	std::vector<Range> ranges() const override;
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;

private:
	std::vector<unsigned> enabled_gpcs() const;

	const Profile &profile_;
	const MasterEnable *enable_;
};

// The compute work distributor's table of TPCs, as a driver wrote it. Readable while a context is on the graphics engine.
class Cwd : public Unit {
public:
	Cwd(const Profile &p, Host &host) : profile_(p), host_(host) {}
	std::vector<Range> ranges() const override { return {{profile_.traits.cwd_gpc_tpc_id & ~0xfffu, 0x1000}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;

private:
	struct Place {
		unsigned gpc, tpc; // logical GPC, TPC within it
	};
	std::vector<Place> places() const; // by TPC number
	bool has_context();
	u32 read_gpc_tpc_id(unsigned word) const;
	u32 read_sm_id(unsigned word) const;

	const Profile &profile_;
	Host &host_;
};

// Registers that a CPU cannot read: behind a privilege mask, or of an unpublished layout.
class Locked : public Unit {
public:
	Locked(std::vector<Range> ranges, u32 code) : ranges_(std::move(ranges)), code_(code) {}
	std::vector<Range> ranges() const override { return ranges_; }
	bool read(u32, u32 &value) override
	{
		value = code_;
		return true;
	}
	bool write(u32, u32) override { return true; } // dropped

private:
	std::vector<Range> ranges_;
	u32 code_;
};

class Pbdma : public Unit {
public:
	Pbdma(const Profile &p, Host &host) : profile_(p), host_(host) {}
	std::vector<Range> ranges() const override { return {{0x40000, stride() * profile_.num_pbdma}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;

private:
	u32 stride() const { return profile_.pfifo() ? 0x2000 : 0x800; }

	const Profile &profile_;
	Host &host_;
};

} // namespace emu
