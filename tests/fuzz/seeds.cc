// SPDX-License-Identifier: GPL-2.0
// Writes the fuzzers' first inputs: what emulated GPUs answer, in the order they are asked, and the hand-written
// image. Usage: fuzz-seeds DIR
#include "recorded.hpp"
#include "stream.hpp"

#include <filesystem>

namespace {

namespace fs = std::filesystem;

fs::path root;

void write(const std::string &target, const std::string &name, const std::string &content)
{
	fs::create_directories(root / target);
	std::ofstream(root / target / name, std::ios::binary) << content;
}

// What is read, in order, as stream.hpp hands it out.
struct Recording {
	lens_recorder recorder{};
	std::string bytes;
	std::unordered_map<u64, bool> seen;
};

void note(lens_recorder *r, char kind, u64 addr, const u32 *words, u32 n)
{
	Recording *rec = reinterpret_cast<Recording *>(r);

	if (kind == 'r' && (addr == 0 || rec->seen[addr]))
		return;
	rec->seen[addr] = true;
	rec->bytes.append(reinterpret_cast<const char *>(words), size_t{n} * 4);
}

char index_of(u32 chip_id)
{
	char n = 0;

	for (const lens_chip *c : fuzz::CHIPS)
		for (const lens_chip_id *id = c->ids; id->id; id++, n++)
			if (id->id == chip_id)
				return n;
	return n;
}

void seeds_of(const std::string &profile, const std::string &scenario)
{
	tool_test::Live live(profile, scenario);
	std::unique_ptr<lens_gpu> gpu = std::make_unique<lens_gpu>();
	Recording rec;

	write("image", profile + "-" + scenario, live.image_text());
	rec.recorder.note = note;
	lens_record_init(&rec.recorder, live.chip.io());
	if (lens_gpu_identify(gpu.get(), &rec.recorder.io) || lens_gpu_read_topology(gpu.get()))
		return;
	char chip = index_of(gpu->chip_id);
	write("topology", profile, chip + rec.bytes);
	for (u32 i = 0; lens_gpu_has_host(gpu.get()) && i < gpu->topo.n_runlists; i++) {
		rec.bytes.clear();
		rec.seen.clear();
		tool::Runlist list(*gpu, gpu->topo.runlists[i]);
		char head[2] = {chip, static_cast<char>(gpu->topo.runlists[i].id)};
		write("runlist", profile + "-" + scenario + "-" + std::to_string(i), std::string(head, 2) + rec.bytes);
	}
}

// A walk that ends on a page: what the tables hold in order, in both apertures' codes.
void page_table_seeds()
{
	static const u64 walks[4][6] = {
		{0x0000000110000001, 0x0000000012345001},                   // version 1, 64 KiB
		{0x0000000110000001, 0x0000000012345001},                   // version 1, 128 KiB
		{0x1000002, 0x1000102, 0x1000202, 0, 0x1000302, 0x1000401}, // version 2
		{0x1000002, 0x1000102, 0x1000202, 0x1000302, 0, 0x1000402}, // version 3
	};

	for (char f = 0; f < 4; f++) {
		std::string s(18, '\0');
		s[0] = f;
		s.append(reinterpret_cast<const char *>(walks[static_cast<int>(f)]), sizeof(walks[0]));
		write("page_tables", "format-" + std::to_string(f), s);
	}
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
			seeds_of(profile, "minimal");
			if (fs::exists(std::string(GPULENS_DATA) + "/scenarios/demo-" + profile + ".json"))
				seeds_of(profile, "demo-" + profile);
		}
	write("image", "ga100-by-hand", tool_test::fixture("ga100-by-hand.image"));
	write("image", "other-lines",
	      "gpulens-image 1\nchip boot0=0x136000a1 boot42=0x13600000\npci 0000:01:00.0 0x10de:0x1c02\n"
	      "# c\ns 0x1000 0x1\nb1 0x0 00000001\nb2 0x0 00000002\n");
	page_table_seeds();
	int n = 0;
	for (const char *text :
	     {"5\n", "0x1f", "017", "2:5\n", "0x2:0x5", "4294967296", "", ":", "99999999999999999999999999999999"})
		write("control_text", std::to_string(n++), text);
	return 0;
}
