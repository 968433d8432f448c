// SPDX-License-Identifier: GPL-2.0
// Products run in a child process, whose context ends with it. Instance B has a thread of its own.
#include "lab/experiment/bench.hpp"

#include "device/kernels.hpp"
#include "gpulens/limit/child.hpp"
#include "gpulens/limit/cuda_probe.hpp"
#include "gpulens/measure/limited_program.hpp"
#include "gpulens/measure/sweep.hpp"
#include "lab/experiment/device.hpp"
#include "lab/experiment/net.hpp"
#include "lib/base/errors.hpp"
#include "partition/launch.hpp"
#include "partition/work.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <thread>

namespace tool::experiment {

using gpulens::check;
using gpulens::cuda;
using gpulens::Layout;
using gpulens::TpcMask;

namespace {

constexpr u32 STREAMS = 6, WAITING = 4; // of a malfunction: streams, and jobs that wait in each
constexpr u32 WIDTH = 2048, SIZES_WIDTH = 1024;
constexpr std::chrono::milliseconds POLL{1};
constexpr unsigned SPARE_S = 120; // CUDA's initialization and the first round

// The streams, or processes, of B.
u32 count_streams(const Setup &setup)
{
	return !setup.other_tpcs ? 0 : setup.malfunction ? STREAMS : 1;
}

// The masks of A and, where it has TPCs of its own, of B. Table III and Fig. 14 stay in the same TPCs.
std::vector<TpcMask> masks_of(const Layout &layout, const std::string &experiment, const Setup &setup)
{
	std::vector<unsigned> sizes = {setup.tpcs};
	TpcMask taken(layout.map.tpcs);

	if (setup.other_tpcs && !setup.shared)
		sizes.push_back(setup.other_tpcs);
	if (experiment != "fig13") {
		unsigned all = std::min(layout.map.tpcs, CASE_TPCS);
		taken = layout.complement(layout.make_masks({all}, plan::Placing::Packed, taken)[0]);
	}
	return layout.make_masks(sizes, setup.placing, taken);
}

// A matrix product and the stream that it is launched in.
class Product {
public:
	Product(const Device &device, u32 width) : device_(device), width_(width)
	{
		for (uint64_t *matrix : {&a_, &b_, &c_})
			*matrix = allocate(size_t{width} * width * sizeof(float));
		for (void **event : {&begin_, &end_})
			check(driver().make_event(event, 0), "cuEventCreate");
	}

	void launch(void *stream)
	{
		void *parameters[] = {&a_, &b_, &c_, &width_};
		device_.launch("multiply", width_ / gpulens::TILE, width_ / gpulens::TILE, gpulens::TILE, gpulens::TILE,
			       stream, parameters);
	}
	// Returns its time in ms, by the GPU's clock.
	double time(void *stream)
	{
		float ms = 0;

		check(driver().record(begin_, stream), "cuEventRecord");
		launch(stream);
		check(driver().record(end_, stream), "cuEventRecord");
		check(driver().wait_event(end_), "cuEventSynchronize");
		check(driver().elapsed(&ms, begin_, end_), "cuEventElapsedTime");
		return static_cast<double>(ms);
	}

private:
	const Device &device_;
	u32 width_;
	uint64_t a_ = 0, b_ = 0, c_ = 0;
	void *begin_ = nullptr, *end_ = nullptr;
};

class Products {
public:
	Products(const std::string &experiment, const Device &device)
		: experiment_(experiment), layout_(gpulens::Launches::instance().verified_layout())
	{
		for (u32 i = 0; i <= STREAMS; i++) // A is the first, then B's
			products_.emplace_back(device, experiment == "fig13" ? SIZES_WIDTH : WIDTH);
	}

	u32 tpcs() const { return layout_.map.tpcs; }

	void run(Row &row, u32 count)
	{
		const Setup &s = row.setup;
		std::vector<TpcMask> masks = masks_of(layout_, experiment_, s);
		auto open = [&](const TpcMask &mask) {
			return gpulens::make_work(gpulens::Method::Masks, layout_, mask);
		};
		std::unique_ptr<gpulens::Work> own = open(masks[0]);
		std::vector<std::unique_ptr<gpulens::Work>> others;
		std::vector<double> other_ms;
		std::exception_ptr failure;
		std::atomic<bool> stop{false}, failed{false};
		std::atomic<u32> repeated{0}; // jobs, or rounds of launches, of B

		for (u32 i = 0; i < count_streams(s); i++)
			others.push_back(open(masks.back()));
		std::thread neighbour([&] {
			try {
				gpulens::make_current(0);
				for (; !stop && !others.empty(); repeated++) {
					size_t i = repeated % others.size();
					if (!s.malfunction) {
						other_ms.push_back(products_[1].time(others[0]->stream()));
						continue;
					}
					check(cuda().wait(others[i]->stream()), "cuStreamSynchronize");
					for (u32 j = 0; j < WAITING; j++)
						products_[1 + i].launch(others[i]->stream());
				}
				for (const auto &other : others)
					check(cuda().wait(other->stream()), "cuStreamSynchronize");
			} catch (...) {
				failure = std::current_exception();
				failed = true;
			}
		});
		try {
			while (!others.empty() && !failed && repeated < (s.malfunction ? STREAMS : 1))
				std::this_thread::yield();
			products_[0].time(own->stream()); // warms up
			// Until B's jobs are as many; those of the largest partition are much shorter.
			u32 enough = !others.empty() && !s.malfunction ? repeated + count + 2 : 0;
			for (u32 i = 0; i < count || (repeated < enough && !failed); i++)
				row.ms.push_back(products_[0].time(own->stream()));
		} catch (...) {
			failure = failure ? failure : std::current_exception();
		}
		stop = true;
		neighbour.join();
		if (failure)
			std::rethrow_exception(failure);
		// The first job of B may have begun before A's, and the last one ended after.
		if (other_ms.size() > 2)
			row.other_ms.insert(row.other_ms.end(), other_ms.begin() + 1, other_ms.end() - 1);
	}

private:
	std::string experiment_;
	const Layout &layout_;
	std::deque<Product> products_;
};

nlohmann::json rows_json(const TimeTable &table)
{
	nlohmann::json rows = nlohmann::json::array();

	for (const Row &row : table.rows)
		rows.push_back({row.ms, row.other_ms, row.settled});
	return rows;
}

void make_rows(TimeTable &table, const TableOptions &options)
{
	table.rows.clear();
	for (const Setup &setup :
	     make_setups(options.experiment, table.tpcs, measure::parse_sizes(options.sizes, table.tpcs)))
		table.rows.push_back({.setup = setup});
}

// Runs in the child process.
std::string run_products(TimeTable table, const TableOptions &options)
{
	Device device;
	Products products(options.experiment, device);

	table.gpu = device.name();
	table.tpcs = products.tpcs();
	make_rows(table, options);
	run_rows(table, options.for_ns, [&](Row &row, u32 count) { products.run(row, count); });
	return nlohmann::json{
		{"gpu", table.gpu}, {"tpcs", table.tpcs}, {"rows", rows_json(table)}, {"notes", table.notes}}
		.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The limits of all rows of a table, verified at once.
class RowLimits {
public:
	RowLimits(TimeTable &table, const TableOptions &options)
	{
		gpulens::VerifiedLimits whole = gpulens::verify_limits({}, [](const Layout &layout) {
			return layout.make_masks({layout.map.tpcs}, plan::Placing::Packed, TpcMask(layout.map.tpcs));
		});
		table.tpcs = whole.tpcs;
		table.gpu = whole.limits.front().pci;
		make_rows(table, options);
		verified_ = gpulens::verify_limits({}, [&](const Layout &layout) {
			std::vector<TpcMask> masks;
			for (const Row &row : table.rows)
				for (const TpcMask &mask : masks_of(layout, options.experiment, row.setup))
					masks.push_back(mask);
			return masks;
		});
		for (const Row &row : table.rows) {
			size_t first = of_row_.empty() ? 0 : of_row_.back().second + 1;
			bool own = row.setup.other_tpcs && !row.setup.shared;
			of_row_.emplace_back(first, own ? first + 1 : first);
		}
	}

	const gpulens::VerifiedLimit &own(size_t row) const { return verified_.limits[of_row_[row].first]; }
	const gpulens::VerifiedLimit &other(size_t row) const { return verified_.limits[of_row_[row].second]; }

private:
	gpulens::VerifiedLimits verified_;
	std::vector<std::pair<size_t, size_t>> of_row_; // indices of the limits of A and of B
};

void run_net(TimeTable &table, const TableOptions &options)
{
	Net net;
	RowLimits limits(table, options);

	table.gpu = net.gpu();
	run_rows(table, options.for_ns, [&](Row &row, u32 count) {
		size_t i = static_cast<size_t>(&row - table.rows.data());
		NetRun run{.tpcs = limits.own(i).tpcs, .other_tpcs{}, .jobs = count};
		if (row.setup.other_tpcs) {
			run.other_tpcs = limits.other(i).tpcs;
			run.streams = count_streams(row.setup);
			run.waiting = row.setup.malfunction ? WAITING : 0;
		}
		auto [ms, other_ms] = net.run(run);
		row.ms.insert(row.ms.end(), ms.begin(), ms.end());
		row.other_ms.insert(row.other_ms.end(), other_ms.begin(), other_ms.end());
	});
}

// Processes of a program beside the one that is timed. One that ends is started again.
class OtherPrograms {
public:
	OtherPrograms(const std::vector<std::string> &program, const gpulens::VerifiedLimit &limit, u32 count)
		: program_(program), limit_(limit), running_(count)
	{
	}

	// Returns the times of those that have ended since the last call, ms.
	std::vector<double> keep_running()
	{
		std::vector<double> ms;

		for (std::unique_ptr<measure::LimitedProgram> &one : running_) {
			std::optional<int> status = one ? one->poll() : 0;
			if (!status)
				continue;
			measure::require_success(program_[0], *status);
			if (one)
				ms.push_back(one->elapsed_us() / 1000);
			one = std::make_unique<measure::LimitedProgram>(program_, &limit_);
		}
		return ms;
	}

private:
	const std::vector<std::string> &program_;
	const gpulens::VerifiedLimit &limit_;
	std::vector<std::unique_ptr<measure::LimitedProgram>> running_;
};

// Runs of a program from start to end.
void run_programs(TimeTable &table, const TableOptions &options)
{
	measure::require_preloadable(options.program);
	RowLimits limits(table, options);

	table.notes.emplace_back(
		"instances are processes, which take turns on the GPU unless MPS runs (RTAS'24, rule R4): "
		"partitions do not separate them in time");
	run_rows(table, options.for_ns, [&](Row &row, u32 count) {
		size_t at = static_cast<size_t>(&row - table.rows.data());
		OtherPrograms others(options.program, limits.other(at), count_streams(row.setup));
		for (u32 i = 0; i < count; i++) {
			measure::LimitedProgram own(options.program, &limits.own(at));
			do {
				for (double ms : others.keep_running())
					if (!row.setup.malfunction)
						row.other_ms.push_back(ms);
				std::this_thread::sleep_for(POLL);
			} while (!own.poll());
			measure::require_success(options.program[0], *own.poll());
			row.ms.push_back(own.elapsed_us() / 1000);
		}
	});
}

} // namespace

TimeTable measure_table(const TableOptions &options)
{
	TimeTable table{.experiment = options.experiment, .within = options.within};

	if (!options.program.empty()) {
		table.job = options.program.back() + ", from start to end";
		run_programs(table, options);
		return table;
	}
	if (options.job == Job::Eager)
		throw Error(Error::Input, "--job eager is for sharing");
	if (options.job == Job::Net) {
		table.job = "convolution net in PyTorch";
		run_net(table, options);
		return table;
	}
	table.job =
		fmt::format("product of matrices of {0} x {0}", options.experiment == "fig13" ? SIZES_WIDTH : WIDTH);
	nlohmann::json answer = nlohmann::json::parse(
		gpulens::run_in_child(SPARE_S + static_cast<unsigned>(options.for_ns / 1'000'000'000),
				      [&] { return run_products(table, options); }));
	table.gpu = answer.at("gpu");
	table.tpcs = answer.at("tpcs");
	table.notes = answer.at("notes").get<std::vector<std::string>>();
	make_rows(table, options);
	for (size_t i = 0; i < table.rows.size(); i++) {
		const nlohmann::json &row = answer.at("rows").at(i);
		table.rows[i].ms = row.at(0).get<std::vector<double>>();
		table.rows[i].other_ms = row.at(1).get<std::vector<double>>();
		table.rows[i].settled = row.at(2);
	}
	return table;
}

} // namespace tool::experiment
