// SPDX-License-Identifier: GPL-2.0
// What a driver asks for when it starts the chip: interrupt trees, PMC's enables, and registers that only keep what
// is written. Registers with sources: bring_up.cc and bring_up_table.cc. Graphics cards but second Maxwell, up to Ampere;
// MasterEnable is on every chip up to Turing.
#pragma once
#include "model/pfifo.hpp"

#include <functional>
#include <map>

namespace emu {

// A line of PMC's interrupt tree: its bit, and whether the unit behind it has a pending interrupt that it enables for
// word 0 or 1. PTIMER has none for word 1.
struct InterruptLine {
	unsigned bit;
	std::function<bool(unsigned word)> pending;
};

class InterruptTree : public Unit {
public:
	InterruptTree(std::vector<InterruptLine> lines, BringUp kind) : lines_(std::move(lines)), kind_(kind)
	{
		InterruptTree::reset();
	}
	std::vector<Range> ranges() const override { return {{0x0, 0x1000}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;
	void reset() override;

	u32 pending(unsigned word) const;
	bool raised() const;

private:
	std::vector<InterruptLine> lines_;
	BringUp kind_;
	u32 enabled_[2]; // lines
	bool on_[2];     // all enabled lines together
};

// A vector of VectorTree. It arrives when *message is set, which clears it, and when level rises; either may be null.
struct InterruptVector {
	unsigned number;
	bool *message;
	std::function<bool()> level;
};

// The CPU's interrupt tree from Ampere on: NV_VIRTUAL_FUNCTION_PRIV_CPU_INTR_*. A leaf keeps a vector until a one is
// written.
class VectorTree : public Unit {
public:
	explicit VectorTree(std::vector<InterruptVector> vectors);
	std::vector<Range> ranges() const override { return {{BASE, 0x1000}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;
	void reset() override;

	bool raised();

private:
	static constexpr u32 BASE = 0xb81000;
	static constexpr unsigned LEAVES = 8;
	void collect();
	u32 top();

	std::vector<InterruptVector> vectors_;
	std::vector<bool> levels_; // as seen last
	u32 leaf_[LEAVES], leaf_enabled_[LEAVES], top_enabled_;
};

// PMC ENABLE 0x200. While PFIFO is off (bit 8), as after power-up, it refuses each access; turning it off clears its
// interrupts, not (unlike hardware) its runlists and channels. Turning graphics off (bit 12) keeps it in reset; of that
// the registers of GrCounts are modelled.
class MasterEnable : public Unit {
public:
	// Up to Maxwell: all bits that the note on GK104's power gating draws or that gk20a's and gm107's headers name.
	static constexpr u32 OLDER_BITS = 0xf833b1ff;
	MasterEnable(Pfifo &pfifo, const Traits &traits);
	std::vector<Range> ranges() const override { return {{0x0, 0x1000}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;
	void reset() override { write(0x200, cold_); }
	bool graphics() const { return get_bit(enabled_, 12); }

private:
	Pfifo &pfifo_;
	u32 bits_, cold_, enabled_; // bits that exist, those of them after power-up, and now
};

// PTIMER's alarm.
class Alarm : public Unit {
public:
	explicit Alarm(const Host &host) : host_(host) {}
	std::vector<Range> ranges() const override { return {{0x9000, 0x1000}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;
	void reset() override;

	bool pending() { return check() && enabled_; }
	u64 next_event() const { return enabled_ ? due_ : NEVER; }

private:
	bool check(); // whether the time has come

	const Host &host_;
	u32 alarm_ = 0;
	u64 due_ = NEVER;
	bool rang_ = false, enabled_ = false;
};

// MMU faults as PFIFO reports them up to Pascal.
class FaultReports : public Unit {
public:
	FaultReports(Host &host, bool wide) : host_(host), wide_(wide) {}
	std::vector<Range> ranges() const override { return {{0x2000, 0x1000}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;

private:
	Host &host_;
	bool wide_;
};

// Registers without effect.
struct KeptRegister {
	u32 offset;
	u32 reset = 0;             // value
	u32 writable = ~0u;        // bits that keep what is written
	u32 count = 1, stride = 4; // an array
};

std::vector<KeptRegister> kept_registers(const Profile &profile);

class KeptRegisters : public Unit {
public:
	explicit KeptRegisters(std::vector<KeptRegister> table);
	std::vector<Range> ranges() const override;
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;
	void reset() override;

private:
	struct Word {
		u32 value;
		const KeptRegister *row;
	};
	std::vector<KeptRegister> table_;
	std::map<u32, Word> words_;
};

} // namespace emu
