// SPDX-License-Identifier: GPL-2.0
// A line is written by one call, so a sweep that is killed leaves whole lines, or a last one without its end, which is
// not read.
#include "gpulens/measure/sweep_record.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/write_fully.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace tool::measure {

using json = nlohmann::ordered_json;

namespace {

Run run_of(const json &line)
{
	Run run{.tpcs = line.at("tpcs"), .number = line.at("run"), .beside = line.at("beside")};

	for (const json &time : line.at("times"))
		run.us.emplace_back(time.at(0).get<std::string>(), time.at(1).get<double>());
	return run;
}

} // namespace

SweepRecord::SweepRecord(std::string file, const json &what, bool resume) : file_(std::move(file))
{
	std::string text;

	if (file_.empty())
		return;
	int err = read_path(file_, text);
	if (err && err != ENOENT)
		throw Error(Error::Source, explain_file(err, file_));
	if (!err && !resume)
		throw Error(Error::Input, fmt::format("{}: it has the runs of a sweep that did not end; --resume "
						      "continues it, or remove it",
						      file_));
	size_t ends = text.rfind('\n');
	if (ends == text.npos) { // new, or killed before the first line was complete
		unlink(file_.c_str());
		append(what);
		return;
	}
	if (ends + 1 < text.size() && truncate(file_.c_str(), off_t(ends) + 1))
		throw Error(Error::Source, explain_file(errno, file_, true));
	try {
		bool first = true;
		for (size_t at = 0; at <= ends; at = text.find('\n', at) + 1) {
			json line = json::parse(text.substr(at, text.find('\n', at) - at));
			if (first && line != what)
				throw Error(Error::Input, fmt::format("{}: it is of another sweep: {}", file_,
								      replace_controls(line.dump().substr(0, 400))));
			if (!first)
				earlier_.push_back(run_of(line));
			first = false;
		}
	} catch (const json::exception &) {
		throw Error(Error::Input, fmt::format("{}: it is not of a sweep", file_));
	}
	empty_ = earlier_.empty();
}

void SweepRecord::append(const json &line) const
{
	int fd = open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	std::string text = line.dump() + '\n';
	int err = fd < 0 ? errno : write_fully(fd, text);

	if (fd >= 0)
		close(fd);
	if (err)
		throw Error(Error::Source, explain_file(err, file_, true));
}

void SweepRecord::add(const Run &run)
{
	json times = json::array();

	if (file_.empty())
		return;
	for (const auto &[task, us] : run.us)
		times.push_back({task, us});
	append({{"tpcs", run.tpcs}, {"beside", run.beside}, {"run", run.number}, {"times", times}});
	empty_ = false;
}

void SweepRecord::remove() const
{
	if (!file_.empty())
		unlink(file_.c_str());
}

void SweepRecord::remove_if_empty() const
{
	if (empty_)
		remove();
}

} // namespace tool::measure
