// SPDX-License-Identifier: GPL-2.0
// The CSV file of measured times that gpulens fit reads: any text. No curve is below a measured time by more than the
// rounding.
#include "gpulens/plan/fit.hpp"
#include "lib/base/errors.hpp"
#include "room.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try {
		std::vector<tool::plan::Fit> fits =
			tool::plan::fit_samples({reinterpret_cast<const char *>(data), size}, "f");
		for (const tool::plan::Fit &f : fits) {
			FUZZ_CHECK(f.alone.a_us >= 0 && f.alone.b_us >= 0);
			FUZZ_CHECK(!f.factor || *f.factor >= 1);
		}
		for (tool::plan::Model model : {tool::plan::Model::Times, tool::plan::Model::Curve}) {
			FUZZ_CHECK(!tool::plan::fit_text(fits, model).empty());
			FUZZ_CHECK(!tool::plan::fit_json(fits, model).dump().empty());
		}
	} catch (const tool::Error &e) {
		FUZZ_CHECK(e.code == tool::Error::Input && std::string(e.what()).starts_with("f: "));
	}
	return 0;
}
