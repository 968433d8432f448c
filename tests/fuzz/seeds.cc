// SPDX-License-Identifier: GPL-2.0
// Writes the first inputs of the fuzz targets: the answers of emulated GPUs in the order of the reads, and the image
// that was written by hand. Usage: fuzz-seeds DIR
#include "gpulens/bar.h"
#include "gpulens/blocks/log.hpp"
#include "lab/blocks/predict.hpp"
#include "lib/base/errors.hpp"
#include "lists.hpp"
#include "support/tools/recorded.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>

namespace {

namespace fs = std::filesystem;

fs::path root;

void write_seed(const std::string &target, const std::string &name, const std::string &content)
{
	fs::create_directories(root / target);
	std::ofstream(root / target / name, std::ios::binary) << content;
}

// The words that were read, in the order in which stream.hpp returns them.
struct Recording {
	lens_recorder recorder{};
	std::string bytes;
	std::unordered_map<u64, bool> seen;
	// Registers that may have the length of a runlist; the input begins with the length (lists.hpp).
	std::vector<u64> lengths;
	std::string length = std::string(4, '\0');

	void start(std::vector<u64> length_regs = {})
	{
		bytes.clear();
		seen.clear();
		lengths = std::move(length_regs);
	}
};

void note_access(lens_recorder *r, char kind, u64 addr, const u32 *words, u32 n)
{
	Recording *rec = reinterpret_cast<Recording *>(r);
	const char *bytes = reinterpret_cast<const char *>(words);

	if (kind == 'r' && (addr == 0 || rec->seen[addr]))
		return;
	if (kind == 'r' && std::ranges::find(rec->lengths, addr) != rec->lengths.end()) {
		rec->length.assign(bytes, 4);
		return;
	}
	if (kind == 'r')
		rec->seen[addr] = true;
	rec->bytes.append(bytes, size_t{n} * 4);
}

char index_of(u32 chip_id)
{
	char n = 0;

	for (const lens_chip *c : test::all_chips())
		for (const lens_chip_id *id = c->ids; id->id; id++, n++)
			if (id->id == chip_id)
				return n;
	return n;
}

void write_bar_seeds(lens_gpu &gpu, Recording &rec, char chip, const std::string &name)
{
	std::unique_ptr<lens_mmu_scan> room = std::make_unique<lens_mmu_scan>();
	lens_bars bars;
	char head[3] = {chip, 12, 3};

	rec.start();
	if (gpu.topo.n_runlists > 3)
		gpu.topo.n_runlists = 3;
	if (!lens_bars_collect(&gpu, &bars, room.get(), 2048))
		write_seed("bars", name, std::string(head, 3) + rec.bytes);
}

void write_seeds(const std::string &profile, const std::string &scenario)
{
	tool_test::Live live(profile, scenario);
	std::unique_ptr<lens_gpu> gpu = std::make_unique<lens_gpu>();
	std::string name = profile + "-" + scenario;
	Recording rec;

	write_seed("tool", name, live.image_text());
	rec.recorder.note = note_access;
	lens_record_init(&rec.recorder, live.chip.io());
	if (lens_gpu_identify(gpu.get(), &rec.recorder.io) || lens_gpu_read_topology(gpu.get()))
		return;
	char chip = index_of(gpu->chip_id);
	write_seed("topology", profile, chip + rec.bytes);
	write_seed("text", profile, std::string(1, '\0') + chip + rec.bytes);
	for (u32 i = 0; lens_gpu_has_host(gpu.get()) && i < gpu->topo.n_runlists; i++) {
		const lens_runlist &rl = gpu->topo.runlists[i];
		u32 id = rl.id;
		rec.start({NV_PFIFO_ENG_RUNLIST(id), NV_PFIFO_RUNLIST_SUBMIT(id), rl.base + NV_RUNLIST_SUBMIT});
		tool::RunlistSnap list(*gpu, rl);
		std::string head = {chip, static_cast<char>(id)}, tail = name + "-" + std::to_string(i);
		head += rec.length;
		write_seed("runlist", tail, head + '\0' + rec.bytes);
		write_seed("contexts", tail, head + rec.bytes);
		write_seed("text", tail, '\2' + head + rec.bytes);
	}
	write_bar_seeds(*gpu, rec, chip, name);
}

// Walks that end on a page: the words of the tables in their order, with the codes of both apertures.
void write_page_table_seeds()
{
	static const u64 walks[4][6] = {
		{0x0000000110000001, 0x0000000012345001},                   // version 1, 64 KiB
		{0x0000000110000001, 0x0000000012345001},                   // version 1, 128 KiB
		{0x1000002, 0x1000102, 0x1000202, 0, 0x1000302, 0x1000401}, // version 2
		{0x1000002, 0x1000102, 0x1000202, 0x1000302, 0, 0x1000402}, // version 3
	};

	for (int f = 0; f < 4; f++) {
		std::string s(18, '\0');
		s[0] = static_cast<char>(f);
		s.append(reinterpret_cast<const char *>(walks[f]), sizeof(walks[0]));
		write_seed("page_tables", "format-" + std::to_string(f), s);
	}
}

// A record of each type of include/uapi/gpulens.h, 1 to 8; that of the chip has an id and a name.
void write_snapshot_seed()
{
	std::string s;

	for (char type = 1; type <= 8; type++) {
		std::string record(64, '\0');
		record[0] = type;
		if (type == 1)
			record.replace(2, 2, "\x92\x01").replace(28, 5, "AD102");
		s += record;
	}
	write_seed("snapshot", "each", s);
}

// Files in the tool's own formats, as programs and users write them.
void write_file_seeds()
{
	using namespace tool::blocks;
	std::ifstream tasks(PLAN_EXAMPLE);

	write_seed("tasks", "example", {std::istreambuf_iterator<char>(tasks), {}});
	write_seed(
		"planned", "two",
		R"({"command": "plan", "version": 1, "fits": true, "numbering": "smid", "gpu": {"device": "0000:01:00.0"},
"device": "0000:01:00.0", "tasks": [{"name": "camera", "partition": 0}, {"name": "radar", "partition": 1}],
"partitions": [{"place": {"tpcs": [3, 5, 6], "gpcs": [0, 1], "mask": "0x068"}},
{"place": {"tpcs": [0], "gpcs": [0], "mask": "0x001"}}]})");
	write_seed(
		"policy", "edf",
		R"({"version": 1, "policy": "edf", "quantum_ms": 1, "tasks": [{"name": "a", "tsg": "0:3", "deadline_ms": 10},
{"name": "b", "tsg": "4", "period_ms": 20, "budget_ms": 4, "server": "hard", "load": {"period_ms": 20, "length_ms": 3}}]})");
	for (char file = 0; file < 3; file++)
		write_seed("pages", std::string(1, static_cast<char>('0' + file)),
			   file + std::string("\2\0\7\0\0\0\0\0\0\0\12\0\377\377\377\377\377\377\377\377", 20));
	// Of a GPU of GFX9: a process with an SDMA queue of one row, a runlist, and slots.
	write_seed("amd", "mqds",
		   "\2Process 7 PASID 0x8001:\n  SDMA queue on device a\n"
		   "    00000000: 00000001 00000002 00000003 00000004 00000005 00000006 00000007 00000008\n");
	write_seed("amd", "rls",
		   "\012Node 1, gpu_id a:\n"
		   "  00000000: c00ea100 14008001 00000000 00000000 00000000 00000000 00000000 00000000\n"
		   "  00000020: 00000000 00000000 00000000 00000000 00000000 00400000 00000000 00000000\n"
		   "  00000040: c005a200 20000010 00004000 00100000 00008000 00002008 00007f00 c002a500\n"
		   "  00000060: 00001000 00008000 01900022\n");
	write_seed("amd", "hqds",
		   "\022Node 1, gpu_id a:\n Inst 0,  CP Pipe 0, Queue 1\n    0000c914: 00100000 00008000 00000001\n"
		   "  SDMA Engine 0, RLC 1\n    00005000: 00000001\n");
	write_seed("amd", "properties", "\030simd_count 240\nsimd_per_cu 4\n");
	write_seed("fit", "three",
		   "task,tpcs,time_us,conflict\nA,1,100,0\nA,2,60,0\nA,4,40,0\nA,1,150,1\nA,4,70,1\nB b,66,3.5,0\n");
	write_seed("layout", "gpcs", std::string("\3\11\10\11", 4) + "gpc:0,2");
	write_seed("layout", "mask", std::string("\2\11\10", 3) + "0x1ff");
	write_seed("layout", "list", std::string("\2\11\10", 3) + "0-3,7,half:b");
	write_seed(
		"run_lines", "two",
		"{\"pid\": 7, \"device\": 0, \"tsg\": 3, \"engine\": 1, \"timeslice_us\": 2048, "
		"\"preemption\": {\"compute\": \"CILP\", \"graphics\": \"WFI\"}, \"channels\": [9, 8]}\n"
		"{\"pid\": 7, \"device\": 0, \"tsg\": 4, \"engine\": 9, \"timeslice_us\": null, \"preemption\": null, "
		"\"channels\": []}\n");
	write_seed("metrics", "stats",
		   std::string("a\"b\\c\nd\xff\0", 9) +
			   "read_runlist 7\nwrite_x_failed 2\nwindow_longest_stop_ns 5\nnew 1\n");
	write_seed("metrics", "request",
		   std::string("GET\0"
			       "5",
			       5));
	for (const Builtin &b : builtins()) {
		Machine machine{"x", 2, 2048, 32, 49152, 8};
		Scenario s;
		try {
			s = b.make(machine);
		} catch (const tool::Error &) { // it has masks of more TPCs, or as many kernels as fit
			machine.sms = 40;
			machine.grids = 32;
			s = b.make(machine);
		}
		write_seed("blocks", b.name, '\0' + scenario_json(s).dump());
		try {
			write_seed("blocks", b.name + std::string("-log"), '\1' + log_json(predict(s, machine)).dump());
		} catch (const tool::Error &e) {
			if (e.code != tool::Error::Input) // a scenario that no rule covers
				throw;
		}
	}
}

// Two time slices with a switch between them, a late sample, lost samples, and the owner of a channel.
void write_recording_seed()
{
	std::string s("\1\20", 2);
	uint64_t time = 0;

	for (unsigned char kind : {1, 1, 3, 1, 17, 1, 0, 16, 1, 5, 19}) {
		std::string sample(16, '\0');
		time += 100000;
		std::memcpy(sample.data(), &time, sizeof(time));
		sample[8] = kind >= 16 ? '\xff' : '\0';
		sample[9] = static_cast<char>(kind);
		sample[12] = static_cast<char>(kind == 1 ? time / 300000 : 1);
		s += sample;
	}
	s += std::string("\11\0\1\0\7\0\0\0python3", 15) + std::string(49, '\0');
	write_seed("recording", "turns", s);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::fprintf(stderr, "usage: fuzz-seeds DIR\n");
		return 2;
	}
	root = argv[1];
	for (const char *dir : {"profiles"})
		for (const fs::directory_entry &e : fs::directory_iterator(std::string(GPULENS_DATA) + "/" + dir)) {
			std::string profile = e.path().stem();
			if (e.path().extension() != ".json")
				continue;
			write_seeds(profile, "minimal");
			if (fs::exists(std::string(GPULENS_DATA) + "/scenarios/demo-" + profile + ".json"))
				write_seeds(profile, "demo-" + profile);
		}
	write_seed("image", "ga100-by-hand", tool_test::read_fixture("ga100-by-hand.image"));
	write_seed("tool", "ga100-by-hand", tool_test::read_fixture("ga100-by-hand.image"));
	write_snapshot_seed();
	write_file_seeds();
	write_recording_seed();
	write_seed("image", "other-lines",
		   "gpulens-image 1\nchip boot0=0x136000a1 boot42=0x13600000\npci 0000:01:00.0 0x10de:0x1c02\n"
		   "# c\ns 0x1000 0x1\nb1 0x0 00000001\nb2 0x0 00000002\n");
	write_page_table_seeds();
	int n = 0;
	for (const char *text :
	     {"5\n", "0x1f", "017", "2:5\n", "0x2:0x5", "4294967296", "", ":", "99999999999999999999999999999999",
	      "5 1000\n", "2:5 8556380", "0x1f 017", "5 4294967296", "5 ", "100", "200 0 1\n", "10 63 4294967295"})
		write_seed("control_text", std::to_string(n++), text);
	return 0;
}
