// SPDX-License-Identifier: GPL-2.0
// The generator and the evaluation: the generated sets, their repeatability, the shape of the curves of Singh's thesis,
// and output files.
#include "lab/evaluate/evaluate.hpp"
#include "lab/evaluate/generate.hpp"

#include <gtest/gtest.h>
#include <set>

namespace {

using tool::plan::Class;
using tool::plan::Evaluation;
using tool::plan::Results;
using tool::plan::Task;

Results run_evaluation(const Evaluation &what)
{
	return evaluate(what, [](u64, u64) {});
}

/* -- sets of tasks -- */

// C(68) is a (1 + beta) / 68, from which a and the utilization follow.
TEST(PlanGenerate, KeepsToTheThesis)
{
	std::mt19937_64 random(5);
	double total = 0;
	u32 memory = 0;
	std::set<u64> periods;
	std::vector<Task> tasks = tool::plan::generate(random, {.tasks = 200, .utilization = 34});

	ASSERT_EQ(tasks.size(), 200u);
	for (const Task &t : tasks) {
		double beta = t.kind == Class::Memory ? 0.1 : 0.02;
		double a = double(t.alone_ns[67]) * 68 / (1 + beta);
		total += a / double(t.period_ns);
		memory += t.kind == Class::Memory;
		periods.insert(t.period_ns / 1000000);
		EXPECT_EQ(t.period_ns % 1000000, 0u);
		EXPECT_EQ(t.deadline_ns * 4, t.period_ns * 3);
		EXPECT_EQ(4000000000u % t.period_ns, 0u);
		EXPECT_TRUE(t.is_monotone());
		EXPECT_FALSE(t.is_superlinear());
		// a time of at least 1 unit with one TPC, unless the period is the longest
		EXPECT_TRUE(t.alone_ns[0] >= 1000000 || t.period_ns == 4000000000);
	}
	EXPECT_NEAR(total, 34, 0.01);
	EXPECT_GT(memory, 70u);
	EXPECT_LT(memory, 130u);
	EXPECT_EQ(*periods.begin(), 50u);
	EXPECT_EQ(*periods.rbegin(), 4000u);
	EXPECT_EQ(periods.size(), 13u);
}

TEST(PlanGenerate, ProbabilityOfMemoryIsAChoice)
{
	std::mt19937_64 random(5);
	for (const Task &t : tool::plan::generate(random, {.tasks = 100, .memory = 0}))
		EXPECT_EQ(t.kind, Class::Compute);
	for (const Task &t : tool::plan::generate(random, {.tasks = 100, .memory = 1}))
		EXPECT_EQ(t.kind, Class::Memory);
}

/* -- curves -- */

// Figure 3.4 of the thesis, n = 50: all sets fit up to about 35; then the curve of 1G (the whole GPU for all tasks) falls
// steeply, and the heuristics are still at 100 % where it is 0. With b / M the mean limit of 1G is 1 / 0.0276 = 36.2.
TEST(PlanEvaluate, BaselineFallsNear36AndHeuristicsDoNot)
{
	Results r = run_evaluation({.tasks = {50}, .from = 28, .to = 44, .step = 4, .sets = 20});
	const auto &points = r.experiments.at(0).points; // 28, 32, 36, 40, 44

	ASSERT_EQ(points.size(), 5u);
	EXPECT_EQ(points[0][4].fits, 20u);
	EXPECT_GE(points[1][4].fits, 16u);
	EXPECT_GT(points[2][4].fits, 0u);
	EXPECT_LT(points[2][4].fits, 16u);
	EXPECT_LE(points[3][4].fits, 1u);
	EXPECT_EQ(points[4][4].fits, 0u);
	for (const auto &outcomes : points)
		for (size_t h = 0; h < 4; h++)
			EXPECT_EQ(outcomes[h].fits, 20u) << h;
}

// With the serial part as printed, the baseline fits nothing from U = 6.5 on, contrary to figures 3.4 and 3.5.
TEST(PlanEvaluate, LiteralSerialPartsLoseTheBaselineAtOnce)
{
	Results r = run_evaluation(
		{.tasks = {50}, .from = 4, .to = 12, .step = 4, .sets = 10, .generator{.literal = true}});
	const auto &points = r.experiments.at(0).points;
	EXPECT_EQ(points[0][4].fits, 10u);
	EXPECT_LE(points[1][4].fits, 2u);
	EXPECT_EQ(points[2][4].fits, 0u);
	EXPECT_EQ(points[2][0].fits, 10u);
}

// Beyond the knee of all curves, SMS with its ties to the fullest is no worse than BF, and at U = 60 nothing fits.
TEST(PlanEvaluate, SmsIsNoWorseThanBestFitAtHighUtilization)
{
	Results r = run_evaluation(
		{.tasks = {50}, .from = 50, .to = 60, .step = 10, .sets = 24, .ties = tool::plan::Ties::Fullest});
	const auto &points = r.experiments.at(0).points;
	EXPECT_GE(points[0][0].fits, points[0][2].fits);
	EXPECT_GE(points[0][1].fits, points[0][3].fits);
	EXPECT_GT(points[0][0].fits, 4u);
	EXPECT_LT(points[0][0].fits, 24u);
	EXPECT_EQ(points[1][0].fits, 0u);
}

// No way finds a plan that there is not, and auto ends with all divisions of so few tasks.
TEST(PlanEvaluate, AutoIsExactForFewTasksAndTheBoundIsNeverBelow)
{
	Results r = run_evaluation({.ways{"sms-ina", "bf-act", "stgm", "auto", "exact", "bound"},
				    .tasks = {8},
				    .from = 4,
				    .to = 12,
				    .step = 1,
				    .sets = 30,
				    .tpcs = 12,
				    .test = tool::plan::Criterion::NpEdf});
	u32 better = 0;
	for (const auto &outcomes : r.experiments.at(0).points) {
		EXPECT_EQ(outcomes[3].fits, outcomes[4].fits);
		EXPECT_GE(outcomes[5].fits, outcomes[4].fits);
		for (size_t h = 0; h < 3; h++)
			EXPECT_LE(outcomes[h].fits, outcomes[4].fits) << h;
		better += outcomes[4].fits - outcomes[0].fits;
	}
	EXPECT_GT(better, 0u);
}

// L. Brown, T. Cai, A. DasGupta, Statistical Science 16(2), 2001: Wilson's interval of 0 and 5 of 10.
TEST(PlanEvaluate, SharesHaveConfidenceIntervals)
{
	EXPECT_NEAR(tool::plan::confidence_of(5, 10).first, 0.2366, 1e-4);
	EXPECT_NEAR(tool::plan::confidence_of(5, 10).second, 0.7634, 1e-4);
	EXPECT_NEAR(tool::plan::confidence_of(0, 10).first, 0, 1e-12);
	EXPECT_NEAR(tool::plan::confidence_of(0, 10).second, 0.2775, 1e-4);
}

// Deadlines at half of the periods, all tasks of one class, one period, and no more time in conflict.
TEST(PlanGenerator, ParametersOfTheThesisCanBeSet)
{
	std::mt19937_64 random(5);
	for (const Task &t : tool::plan::generate(random, {.tasks = 20,
							  .utilization = 10,
							  .tpcs = 4,
							  .memory = 1,
							  .deadline = 0.5,
							  .periods{400},
							  .conflict{1, 1},
							  .serial{0, 1}})) {
		EXPECT_EQ(t.kind, Class::Memory);
		EXPECT_EQ(t.period_ns, 400000000u);
		EXPECT_EQ(t.deadline_ns, 200000000u);
		EXPECT_EQ(t.alone_ns, t.conflict_ns);
		// a / 4 + a / 4 of a + a / 4
		EXPECT_NEAR(double(t.alone_ns[3]) / double(t.alone_ns[0]), 0.4, 1e-3);
	}
}

TEST(PlanEvaluate, RepeatsWithItsSeedAndPointsAreIndependent)
{
	Evaluation what{.tasks = {10, 20}, .from = 4, .to = 12, .step = 2, .sets = 12, .seed = 9, .tpcs = 14};
	std::string first = results_csv(run_evaluation(what), false);
	EXPECT_EQ(results_csv(run_evaluation(what), false), first);
	Evaluation point = what;
	point.tasks = {20};
	point.from = point.to = 10;
	std::string line = results_csv(run_evaluation(point), false);
	EXPECT_NE(first.find(line.substr(line.find('\n'))), std::string::npos) << line;
	what.seed = 10;
	EXPECT_NE(results_csv(run_evaluation(what), false), first);
}

TEST(PlanEvaluate, ReportsProgressUpToAll)
{
	u64 last = 0, total = 0;
	tool::plan::evaluate({.tasks = {5, 6}, .from = 1, .to = 3, .step = 1, .sets = 7, .tpcs = 8},
			     [&](u64 done, u64 all) {
		EXPECT_GE(done, last);
		last = done;
		total = all;
	});
	EXPECT_EQ(last, 42u);
	EXPECT_EQ(total, 42u);
}

TEST(PlanEvaluate, UtilizationsGoUpToTheTpcs)
{
	EXPECT_EQ((Evaluation{.tpcs = 5}.utilizations()), (std::vector<double>{2, 4}));
	// 0.1 + 2 * 0.1 is a little more than 0.3
	EXPECT_EQ((Evaluation{.from = 0.1, .to = 0.3, .step = 0.1}.utilizations().size()), 3u);
	EXPECT_EQ(Evaluation{}.utilizations().size(), 34u);
	EXPECT_EQ(Evaluation{}.utilizations().back(), 68);
}

/* -- what is written -- */

Results make_results()
{
	Results r;
	r.evaluation = {.tasks = {50}, .from = 2, .to = 4, .sets = 4, .seed = 3};
	r.experiments = {{50,
			  {{{4, 4000000}, {4, 8000}, {3, 0}, {2, 0}, {1, 100}, {3, 0}, {2, 0}, {2, 400}},
			   {{2, 4000}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {1, 0}, {0, 0}, {0, 0}}}}};
	return r;
}

TEST(PlanResults, Csv)
{
	EXPECT_EQ(results_csv(make_results(), false),
		  "tasks,utilization,sets,sms-ina,sms-act,bf-ina,bf-act,1g,stgm,even,smart-even\n"
		  "50,2,4,1.0000,1.0000,0.7500,0.5000,0.2500,0.7500,0.5000,0.5000\n"
		  "50,4,4,0.5000,0.0000,0.0000,0.0000,0.0000,0.2500,0.0000,0.0000\n");
	std::string timed = results_csv(make_results(), true);
	EXPECT_EQ(timed.find("tasks,utilization,sets,sms-ina,sms-act,bf-ina,bf-act,1g,stgm,even,smart-even,"
			     "sms-ina_us,sms-act_us,bf-ina_us,bf-act_us,1g_us,stgm_us,even_us,smart-even_us\n"
			     "50,2,4,1.0000,1.0000,0.7500,0.5000,0.2500,0.7500,0.5000,0.5000,"),
		  0u);
	EXPECT_NE(timed.find("0.5000,1000.0,2.0,0.0,0.0,0.0,0.0,0.0,0.1\n"), std::string::npos);
}

TEST(PlanResults, Text)
{
	EXPECT_EQ(results_text(make_results()),
		  "68 TPCs, 4 sets of tasks a point, seed 3, test edf\n"
		  "Tasks  U  sms-ina  sms-act  bf-ina  bf-act    1g  stgm  even  smart-even\n"
		  "   50  2     1.00     1.00    0.75    0.50  0.25  0.75  0.50        0.50\n"
		  "   50  4     0.50     0.00    0.00    0.00  0.00  0.25  0.00        0.00\n");
}

TEST(PlanResults, Json)
{
	EXPECT_EQ(results_json(make_results()).dump(),
		  R"({"version":1,"command":"plan --evaluate","tpcs":68,"sets":4,"seed":3,"test":"edf","points":[)"
		  R"({"tasks":50,"utilization":2.0,"sms-ina":4,"sms-act":4,"bf-ina":3,"bf-act":2,"1g":1,)"
		  R"("stgm":3,"even":2,"smart-even":2},)"
		  R"({"tasks":50,"utilization":4.0,"sms-ina":2,"sms-act":0,"bf-ina":0,"bf-act":0,"1g":0,)"
		  R"("stgm":1,"even":0,"smart-even":0}]})");
}

// From the left edge at U = 2 to the right one at 4, 560 wide; 100 % at the top, 260 above 0.
TEST(PlanResults, SvgHasALineForEachHeuristic)
{
	std::string svg = curves_svg(make_results());
	for (const char *line : {"<polyline class=\"curve\" stroke=\"#0072b2\" "
				 "points=\"62.0,44.0 622.0,174.0\"/>",
				 "<g id=\"n50-sms-ina\">\n", "<g id=\"n50-1g\">\n",
				 "<polyline class=\"curve\" stroke=\"#888888\" "
				 "points=\"62.0,239.0 622.0,304.0\"/>"})
		EXPECT_NE(svg.find(line), std::string::npos) << svg;
	EXPECT_NE(svg.find(">50 tasks on 68 TPCs, 4 sets a point, edf</text>"), std::string::npos);
}

} // namespace
