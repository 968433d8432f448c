// SPDX-License-Identifier: GPL-2.0
// An emulated chip with a scenario, an image of it that the core's recorder makes, and the text that the live chip
// prints.
#pragma once
#include "support/core/emulated.hpp"
#include "format.h"
#include "gpulens/bar.h"
#include "gpulens/record.h"
#include "lib/source/image/proc_text.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace tool_test {

inline std::string read_file(const std::string &path)
{
	std::ifstream in(path, std::ios::binary);
	std::ostringstream out;

	EXPECT_TRUE(in) << path;
	out << in.rdbuf();
	return out.str();
}

inline std::string read_fixture(const std::string &name)
{
	return read_file(std::string(FIXTURES) + "/" + name);
}

class Live {
public:
	Live(const std::string &profile, const std::string &scenario) : chip(profile)
	{
		chip.emu->set_access_ns(0);
		chip.give_system_memory();
		// Not every scenario fits every chip.
		try {
			std::string file = GPULENS_DATA "/scenarios/" + scenario + ".json";
			chip.emu->load_scenario(emu::read_json_file("scenario", file), file);
		} catch (const std::exception &e) {
			unfit = e.what();
			// A chip whose runlists are not published still has a topology.
			if (unfit.find("are not published") == std::string::npos)
				return;
			unfit.clear();
		}
		chip.emu->advance(3000000);
		EXPECT_EQ(chip.attach(), 0);
	}

	// The text of /proc/gpuX/runlistY now; nullopt if reading fails.
	std::optional<std::string> runlist_text(u32 id)
	{
		test::Snap s(chip, id, true);
		lens_text t{};

		if (s.err)
			return std::nullopt;
		lens_format_runlist(&t, chip.gpu.get(), &s.snap);
		return take(t);
	}

	std::string tpc_map_text()
	{
		lens_text t{};
		lens_tpc_places places{};

		if (lens_gpc_has_counts(chip.gpu.get()))
			lens_gpc_read_counts(chip.gpu.get(), &places);
		else
			lens_cwd_read_places(chip.gpu.get(), &places);
		lens_format_tpc_map(&t, chip.gpu.get(), &places);
		return take(t);
	}

	using Formatter = void (*)(lens_text *, const lens_gpu *);
	std::string text(Formatter f)
	{
		lens_text t{};

		f(&t, chip.gpu.get());
		return take(t);
	}

	std::string chip_text(const char *where)
	{
		lens_text t{};
		lens_readable r{};
		bool asked = lens_gpu_has_host(chip.gpu.get()) && !lens_check_readable(chip.gpu.get(), &r);

		lens_format_chip(&t, chip.gpu.get(), where, asked ? &r : nullptr);
		return take(t);
	}

	std::string bars_text()
	{
		lens_text t{};
		std::unique_ptr<lens_bars> bars = collect_bars(*chip.gpu);

		lens_format_bars(&t, bars.get());
		return take(t);
	}

	// The text of /proc/gpuX/image now, through the recorder: identification, topology, all runlists with contexts,
	// engines, the counts and the order of TPCs, and bars, which come first in the text.
	std::string image_text()
	{
		Recording rec;
		std::unique_ptr<lens_gpu> gpu = std::make_unique<lens_gpu>();

		rec.recorder.note = note;
		lens_record_init(&rec.recorder, chip.io());
		EXPECT_EQ(lens_gpu_identify(gpu.get(), &rec.recorder.io), 0);
		EXPECT_EQ(lens_gpu_read_topology(gpu.get()), 0);
		for (u32 i = 0; lens_gpu_has_host(gpu.get()) && i < gpu->topo.n_runlists; i++)
			tool::RunlistSnap(*gpu, gpu->topo.runlists[i]);
		for (u32 i = 0; i < gpu->topo.n_engines; i++) {
			lens_engine_status status;
			lens_engine_read(gpu.get(), &gpu->topo.engines[i], &status);
		}
		lens_tpc_places places;
		lens_gpc_read_counts(gpu.get(), &places);
		const lens_cwd_layout &cwd = gpu->chip->cwd;
		int cwd_err = 0;
		u32 word;
		for (u32 reg : {cwd.gpc_tpc_id, cwd.sm_id})
			for (u32 i = 0; !cwd_err && i < cwd.words; i++)
				cwd_err = lens_cwd_read_word(gpu.get(), reg, i, &word);
		std::string text;
		std::swap(text, rec.text);
		collect_bars(*gpu);
		return "gpulens-image 1\npci 0000:01:00.0\n" + rec.text + text;
	}

	test::Emulated chip;
	std::string unfit; // why the scenario cannot run on this chip

private:
	static std::unique_ptr<lens_bars> collect_bars(lens_gpu &gpu)
	{
		std::unique_ptr<lens_bars> bars = std::make_unique<lens_bars>();
		std::unique_ptr<lens_mmu_scan> room = std::make_unique<lens_mmu_scan>();

		EXPECT_EQ(lens_bars_collect(&gpu, bars.get(), room.get(), LENS_BARS_WORDS), 0);
		return bars;
	}

	struct Recording {
		lens_recorder recorder{};
		std::string text;
	};

	static void note(lens_recorder *r, char kind, u64 addr, const u32 *words, u32 n)
	{
		std::string &text = reinterpret_cast<Recording *>(r)->text;
		char buf[40];

		std::snprintf(buf, sizeof(buf), "%c 0x%08llx", kind, static_cast<unsigned long long>(addr));
		text += buf;
		for (u32 i = 0; i < n; i++) {
			std::snprintf(buf, sizeof(buf), kind == 'r' ? " 0x%08x" : " %08x", words[i]);
			text += buf;
		}
		text += '\n';
	}

	static std::string take(lens_text &t)
	{
		EXPECT_EQ(t.err, 0);
		std::string s(t.buf ? t.buf : "", t.len);
		lens_text_free(&t);
		return s;
	}
};

// Parses an image that must be valid.
inline tool::Image parse_valid(const std::string &text)
{
	tool::ImageResult r = tool::parse_image(text);

	EXPECT_TRUE(r.image) << "line " << r.error.line << ": " << r.error.text;
	return r.image ? std::move(*r.image) : tool::Image();
}

inline tool::ProcText decode_file(const tool::Image &image, const std::string &file)
{
	tool::Decoder d(image);

	return tool::proc_text(d, file);
}

// A line "item: reason" for each.
inline std::string list_failures(const std::vector<tool::Failure> &list)
{
	std::string s;

	for (const tool::Failure &f : list)
		s += f.item.text() + ": " + f.text() + "\n";
	return s;
}

inline std::string list_failures(const tool::ProcText &out)
{
	return list_failures(out.failures);
}

// The text without the lines that begin with prefix, of which there must be one.
inline std::string drop_lines(const std::string &text, const std::string &prefix)
{
	std::istringstream in(text);
	std::string out, line;
	size_t left_out = 0;

	while (std::getline(in, line)) {
		if (line.compare(0, prefix.size(), prefix) == 0)
			left_out++;
		else
			out += line + '\n';
	}
	EXPECT_GT(left_out, 0U) << "no line begins with " << prefix;
	return out;
}

} // namespace tool_test
