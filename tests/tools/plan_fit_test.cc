// SPDX-License-Identifier: GPL-2.0
// From measured times to the planner's model: known curves, the classes of Singh's thesis, and messages.
#include "gpulens/plan/fit.hpp"
#include "lib/base/errors.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace {

using tool::plan::Class;
using tool::plan::Fit;
using tool::plan::fit_samples;

Fit fit_single(const std::string &csv)
{
	return fit_samples(csv, "t.csv").at(0);
}

std::string refusal_of(const std::string &csv)
{
	try {
		fit_samples(csv, "t.csv");
	} catch (const tool::Error &e) {
		EXPECT_EQ(e.code, tool::Error::Input);
		return e.what();
	}
	return "accepted";
}

// 600 / m + 40 with 1, 2, 3, 4, 6.
TEST(PlanFit, ExactCurveIsFound)
{
	Fit f = fit_single("task,tpcs,time_us\na,1,640\na,2,340\na,3,240\na,4,190\na,6,140\n");
	EXPECT_EQ(f.name, "a");
	EXPECT_NEAR(f.alone.a_us, 600, 1e-9);
	EXPECT_NEAR(f.alone.b_us, 40, 1e-9);
	EXPECT_NEAR(f.alone.raised_us, 0, 1e-9);
	EXPECT_NEAR(f.alone.residual, 0, 1e-9);
	EXPECT_FALSE(f.conflict);
	EXPECT_FALSE(f.factor);
	EXPECT_FALSE(f.slower_from);
}

// Times 10, 8 and 4 at x = 1 / m = 1, 1/2, 1/4: a = (3 * 15 - 1.75 * 22) / (3 * 1.3125 - 1.75^2) = 6.5 / 0.875 = 52 /
// 7, and b = (22 - 1.75 a) / 3 = 3. The curve is at 10.43, 6.71 and 4.86: the second time is above it by 9 / 7, and the
// third below by 6 / 7, which is most of a time.
TEST(PlanFit, CurveOfLeastSquaresIsRaisedAboveAllTimes)
{
	Fit f = fit_single("task,tpcs,time_us\na,1,10\na,2,8\na,4,4\n");
	EXPECT_NEAR(f.alone.a_us, 52.0 / 7, 1e-9);
	EXPECT_NEAR(f.alone.raised_us, 9.0 / 7, 1e-9);
	EXPECT_NEAR(f.alone.b_us, 3 + 9.0 / 7, 1e-9);
	EXPECT_NEAR(f.alone.residual, 6.0 / 7 / 4, 1e-9);
}

TEST(PlanFit, LongestOfTimesWithOneSizeCounts)
{
	Fit f = fit_single("task,tpcs,time_us\na,1,640\na,1,600\na,2,100\na,2,340\n");
	EXPECT_NEAR(f.alone.a_us, 600, 1e-9);
	EXPECT_NEAR(f.alone.b_us, 40, 1e-9);
}

// 100 and 40 at 1 and 2 have b = -20: through b = 0, a is (100 + 20) / 1.25 = 96; and 10 and 20 have a < 0.
TEST(PlanFit, NeitherIsBelowZero)
{
	Fit f = fit_single("task,tpcs,time_us\na,1,100\na,2,40\n");
	EXPECT_NEAR(f.alone.a_us, 96, 1e-9);
	EXPECT_NEAR(f.alone.b_us, 4, 1e-9);
	EXPECT_NEAR(f.alone.raised_us, 4, 1e-9);
	Fit slower = fit_single("task,tpcs,time_us\na,1,10\na,2,20\n");
	EXPECT_EQ(slower.alone.a_us, 0);
	EXPECT_NEAR(slower.alone.b_us, 20, 1e-9);
	EXPECT_EQ(slower.slower_from, 1u);
}

// An H100's copy (docs/results/2026-11-24-h100-verify.md): its knee is between 16 and 66 TPCs, at 26.9 or beyond (16 * 615 / 366).
// With 49, which take as long, it is of memory; if they took longer in proportion, of compute. Seen failing as compute.
TEST(PlanFit, AKneeBetweenSizesThatMayBeLowIsUnknown)
{
	std::string csv = "task,tpcs,time_us\na,1,6098\na,2,3113\na,4,1698\na,16,615\na,66,366\n";
	Fit f = fit_single(csv);

	EXPECT_FALSE(f.kind_known);
	EXPECT_EQ(f.kind, Class::Memory);
	EXPECT_EQ(f.notes,
		  std::vector<std::string>{"task \"a\" counts as a memory task, since its class is unknown: measure "
					   "it with 49 of 66 TPCs, too"});
	EXPECT_NE(fit_text({f}, tool::plan::Model::Times).find("unknown"), std::string::npos);
	f = fit_single(csv + "a,49,366\n");
	EXPECT_TRUE(f.kind_known);
	EXPECT_EQ(f.kind, Class::Memory);
	f = fit_single(csv + "a,49,493\n");
	EXPECT_TRUE(f.kind_known);
	EXPECT_EQ(f.kind, Class::Compute);
}

// The copy of gpulens sweep on an H200 (docs/results/2026-11-30-h200-journey.md): the last two TPCs save a wave of blocks, so that the
// knee is at 66. The product beside it scales. Seen failing as compute.
TEST(PlanFit, AFlatPartBeforeTheKneeIsUnknown)
{
	Fit f = fit_single("task,tpcs,time_us\na,1,5999.2\na,8,925\na,16,539.7\na,32,361.9\na,49,326.5\na,64,310.1\n"
			   "a,66,261.9\n");

	EXPECT_EQ(f.knee, 66u);
	EXPECT_EQ(f.kind, Class::Memory);
	EXPECT_EQ(f.notes,
		  std::vector<std::string>{"task \"a\" counts as a memory task, since its class is unknown: with 49 in "
					   "place of 32 TPCs it is only 1.11 times as fast"});
	f = fit_single("task,tpcs,time_us\na,1,184487\na,16,11693.9\na,32,5967\na,49,3922.9\na,64,3140\na,66,2931.8\n");
	EXPECT_TRUE(f.kind_known);
	EXPECT_EQ(f.kind, Class::Compute);
}

// Figure 3.2: four kernels with up to 68 SMs; from 40 on those of memory do not get faster.
TEST(PlanFit, ClassesAreThoseOfTheThesis)
{
	std::string csv = "task,tpcs,time_us\n";
	for (u32 m = 2; m <= 68; m += 2) {
		csv += fmt::format("hotspot,{},{}\n", m, 68000.0 / m);
		csv += fmt::format("transpose,{},{}\n", m, 68000.0 / std::min(m, 40U));
		csv += fmt::format("half,{},{}\n", m, 68000.0 / std::min(m, 34U));
		// the serial parts of section 3.6.1, as printed
		csv += fmt::format("compute,{},{}\n", m, 68000.0 / m + 0.02 * 68000);
		csv += fmt::format("memory,{},{}\n", m, 68000.0 / m + 0.1 * 68000);
	}
	std::vector<Fit> fits = fit_samples(csv, "t.csv");
	ASSERT_EQ(fits.size(), 5u);
	EXPECT_EQ(fits[0].kind, Class::Compute);
	EXPECT_EQ(fits[0].knee, 66u); // 68 gain 2.9 %
	EXPECT_EQ(fits[1].kind, Class::Memory);
	EXPECT_EQ(fits[1].knee, 38u); // 40 gain exactly 5 %
	EXPECT_EQ(fits[1].largest, 68u);
	EXPECT_EQ(fits[2].kind, Class::Memory);
	EXPECT_EQ(fits[2].knee, 34u);
	EXPECT_EQ(fits[3].kind, Class::Compute);
	EXPECT_EQ(fits[4].kind, Class::Memory);
}

// In conflict 2.3 times as long at 1, 2.5 times at 4.
TEST(PlanFit, ConflictHasItsCurveAndFactor)
{
	Fit f = fit_single("tpcs , conflict,time_us,task\r\n1,0,100,a\r\n4,0,40,a\r\n1,1,230,a\r\n\r\n4,1,100,a\r\n");
	EXPECT_NEAR(f.alone.a_us, 80, 1e-9);
	EXPECT_NEAR(f.alone.b_us, 20, 1e-9);
	ASSERT_TRUE(f.conflict && f.factor);
	EXPECT_NEAR(f.conflict->a_us, 130 / 0.75, 1e-9);
	EXPECT_NEAR(*f.factor, 2.5, 1e-9);
	// at a size that was not measured alone, against the curve: 80 / 2 + 20; and never below 1
	EXPECT_NEAR(*fit_single("task,tpcs,time_us,conflict\na,1,100,0\na,4,40,0\na,2,90,1\n").factor, 1.5, 1e-9);
	EXPECT_EQ(*fit_single("task,tpcs,time_us,conflict\na,1,100,0\na,4,40,0\na,2,50,1\n").factor, 1);
}

TEST(PlanFit, MessagesNameTheLine)
{
	const std::string head = "task,tpcs,time_us,conflict\n";
	const std::pair<std::string, std::string> rows[] = {
		{"", "t.csv: no times"},
		{head, "t.csv: no times"},
		{"task,tpcs\n", "t.csv: line 1: column \"time_us\" is missing"},
		{"task,tpcs,time_ms\n",
		 "t.csv: line 1: column \"time_ms\" is none of task, tpcs, time_us, conflict, beside"},
		{"task,tpcs,tpcs\n", "t.csv: line 1: column \"tpcs\" is given twice"},
		{head + "a,1,5\n", "t.csv: line 2: 3 values, but there are 4 columns"},
		{head + "\n,1,5,0\n", "t.csv: line 3: task is empty, or not of printable ASCII without blanks"},
		{head + "a,0,5,0\n", "t.csv: line 2: tpcs is \"0\", not a number from 1 to 1024"},
		{head + "a,1.5,5,0\n", "t.csv: line 2: tpcs is \"1.5\", not a number from 1 to 1024"},
		{head + "a,x,5,0\n", "t.csv: line 2: tpcs is \"x\", not a number from 1 to 1024"},
		{head + "a,1,0,0\n", "t.csv: line 2: time_us is \"0\", not microseconds above 0"},
		{head + "a,1,nan,0\n", "t.csv: line 2: time_us is \"nan\", not microseconds above 0"},
		{head + "a,1,1e-320,0\n",
		 "t.csv: line 2: time_us is \"1e-320\", not microseconds from 0.001 to 1000000000000"},
		{head + "a,1,0.0001,0\n",
		 "t.csv: line 2: time_us is \"0.0001\", not microseconds from 0.001 to 1000000000000"},
		{head + "a,1,1e13,0\n",
		 "t.csv: line 2: time_us is \"1e13\", not microseconds from 0.001 to 1000000000000"},
		{head + "a,\x1b[31m5,5,0\n", "t.csv: line 2: tpcs is \"\\u001b[31m5\", not a number from 1 to 1024"},
		{head + "a," + std::string(200000, 'x') + ",5,0\n",
		 "t.csv: line 2: tpcs is \"" + std::string(39, 'x') + "..., not a number from 1 to 1024"},
		{"task,\x1b,time_us\n",
		 "t.csv: line 1: column \"\\u001b\" is none of task, tpcs, time_us, conflict, beside"},
		{head + "\"a,1,5,0\n", "t.csv: line 2: a quoted value does not end"},
		{"task,tpcs,time_us,beside\na,1,5,disk\n",
		 "t.csv: line 2: beside is \"disk\", not none, memory or compute"},
		{"task,tpcs,time_us,conflict,beside\na,1,5,1,memory\n",
		 "t.csv: line 2: both in conflict and beside another partition; measure them apart"},
		{head + "a,1,5us,0\n", "t.csv: line 2: time_us is \"5us\", not microseconds above 0"},
		{head + "a,1,5,2\n", "t.csv: line 2: conflict is \"2\", not 0 or 1"},
		{head + "a,1,5,0\na,1,6,0\n",
		 "t.csv: task \"a\": times alone for 1 size; at least two sizes are needed"},
		{head + "a,1,5,1\n", "t.csv: task \"a\": times alone for 0 sizes; at least two sizes are needed"},
	};
	for (const auto &[csv, why] : rows)
		EXPECT_EQ(refusal_of(csv), why) << csv;
}

// As spreadsheets write them: a byte order mark, quotes, doubled quotes, CRLF. Seen failing without each of the first two.
TEST(PlanFit, FilesOfSpreadsheetsAreRead)
{
	Fit f = fit_single(
		"\xef\xbb\xbf\"task\",\"tpcs\" , \"time_us\"\r\n\"a\"\"b,c\",\"1\",\"640\"\r\n\"a\"\"b,c\",2,340\r\n");
	EXPECT_EQ(f.name, "a\"b,c");
	EXPECT_EQ(f.times_us, (std::map<u32, double>{{1, 640}, {2, 340}}));
}

/* -- the staircase -- */

// 8 takes longer than 4 although it is larger, so 4 may take as long. Seen failing with the measured times themselves.
TEST(PlanFit, NoSizeIsFasterThanALargerOne)
{
	Fit f = fit_single("task,tpcs,time_us\na,2,90\na,4,50\na,8,60\na,16,40\na,4,45\n");
	EXPECT_EQ(f.times_us, (std::map<u32, double>{{2, 90}, {4, 60}, {8, 60}, {16, 40}}));
	EXPECT_EQ(f.slower_from, 4u);
}

// In conflict with 2 and 8 TPCs: with 4 as with 2, with 1 unknown; and with 8 no faster than alone with 6. Seen failing with
// the ratio of the two as a factor for all sizes.
TEST(PlanFit, ConflictIsAStaircaseOfItsOwn)
{
	Fit f = fit_single("task,tpcs,time_us,conflict\na,1,100,0\na,4,50,0\na,6,45,0\na,2,130,1\na,8,40,1\n");
	EXPECT_EQ(f.conflict_us, (std::map<u32, double>{{2, 130}, {4, 130}, {6, 130}, {8, 45}}));
	EXPECT_FALSE(f.task_factor);
	// with one size it is a factor, of the staircase alone: 100 with 3 TPCs
	Fit single = fit_single("task,tpcs,time_us,conflict\na,1,100,0\na,4,30,0\na,3,150,1\n");
	EXPECT_TRUE(single.conflict_us.empty());
	EXPECT_NEAR(*single.task_factor, 1.5, 1e-9);
	EXPECT_EQ(single.notes, (std::vector<std::string>{"task \"a\" was measured in conflict with 0 of 2 sizes: the "
							  "factor is assumed for the others"}));
}

// The H200's sums: 0.511 ms alone in a half, 1.02 beside another sum, 0.529 beside a product.
TEST(PlanFit, FactorsBesideOtherPartitions)
{
	Fit f = fit_single(
		"task,tpcs,time_us,beside\nsum,33,511,none\nsum,66,516,\nsum,33,1022,memory\nsum,66,500,memory\n"
		"sum,33,529,compute\n");
	EXPECT_NEAR(*f.beside_memory, 1022.0 / 516, 1e-9); // the staircase has 516 with 33, too
	EXPECT_NEAR(*f.beside_compute, 529.0 / 516, 1e-9);
	EXPECT_EQ(f.notes,
		  (std::vector<std::string>{"task \"sum\" was measured beside compute tasks with 1 of 2 sizes: the "
					    "factor is assumed for the others"}));
}

TEST(PlanFit, TextOfTimes)
{
	EXPECT_EQ(fit_text(fit_samples(
				   "task,tpcs,time_us,conflict,beside\na,1,100,0,none\na,4,40,0,none\na,1,230,1,none\n"
				   "a,4,100,1,none\na,1,150,0,memory\na,4,44,0,memory\nb,1,10,0,none\nb,2,20,0,none\n",
				   "t.csv"),
			   tool::plan::Model::Times),
		  "Task  Class    Knee  Of  Factor  Beside memory  compute  TPCs  Alone us  Conflict us\n"
		  "a     unknown     4   4   2.500          1.500              1   100.000      230.000\n"
		  "                                                            4    40.000      100.000\n"
		  "b     memory      1   2                                     1    20.000\n"
		  "                                                            2    20.000\n"
		  "Note: task \"a\" counts as a memory task, since its class is unknown: measure it with 3 of 4 TPCs, "
		  "too\n"
		  "Note: task \"b\" takes longer with more than 1 TPCs\n");
}

TEST(PlanFit, TextOfCurves)
{
	EXPECT_EQ(fit_text(fit_samples("task,tpcs,time_us,conflict\na,1,100,0\na,4,40,0\na,1,230,1\na,4,100,1\n"
				       "b,1,10,0\nb,2,20,0\n",
				       "t.csv"),
			   tool::plan::Model::Curve),
		  "Task  Class    Knee  Of  Curve        a us    b us  Raised us  Residual  Factor\n"
		  "a     unknown     4   4  alone      80.000  20.000      0.000     0.0 %\n"
		  "a                        conflict  173.333  56.667      0.000     0.0 %   2.500\n"
		  "b     memory      1   2  alone       0.000  20.000      5.000    50.0 %\n"
		  "Note: task \"a\" counts as a memory task, since its class is unknown: measure it with 3 of 4 TPCs, "
		  "too\n"
		  "Note: task \"b\" takes longer with more than 1 TPCs\n");
}

TEST(PlanFit, Json)
{
	const std::string csv = "task,tpcs,time_us,conflict\na,1,100,0\na,2,75,0\na,2,150,1\n";
	const std::string fitted =
		R"({"version":1,"command":"fit","tasks":[{"name":"a","class":"compute","knee":2,"largest":2,)"
		R"("slower_from":null,"alone":{"a_us":50.0,"b_us":50.0,"raised_us":0.0,"residual":0.0},)"
		R"("conflict":null,"factor":2.0,"task":{"name":"a","class":"compute","alone":)";
	const std::string rest =
		R"(,"conflict":{"factor":2.0}},"notes":["task \"a\" was measured in conflict with 1 of 2 sizes: )"
		R"(the factor is assumed for the others"]}]})";
	EXPECT_EQ(fit_json(fit_samples(csv, "t.csv"), tool::plan::Model::Times).dump(),
		  fitted + R"({"times_us":{"1":100.0,"2":75.0}})" + rest);
	EXPECT_EQ(fit_json(fit_samples(csv, "t.csv"), tool::plan::Model::Curve).dump(),
		  fitted + R"({"a_us":50.0,"b_us":50.0})" + rest);
}

} // namespace
