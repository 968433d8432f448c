// SPDX-License-Identifier: GPL-2.0
// All files are written before the first one is committed. If a commit fails, the files that were committed before it are
// removed again.
#include "gpulens/out/timeline_dataset.hpp"

#include "gpulens/out/timeline_csv.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/machine_name.hpp"
#include "lib/base/output_file.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <unistd.h>

namespace tool {

namespace {

void make_folders(const std::filesystem::path &folder)
{
	std::error_code err;

	std::filesystem::create_directories(folder, err);
	if (err)
		throw Error(Error::Source, explain_file(err.value(), folder.string()));
}

// "20261124T102324.123456789Z": a name that file systems and shells take, in the order of time.
std::string file_time(u64 unix_ns)
{
	std::string text = utc_text(unix_ns);

	std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
	text[text.find(' ')] = 'T';
	return fmt::format("{}{:09}Z", text.substr(0, text.find('.') + 1), unix_ns % 1000000000);
}

// The files of one recording, by day.
class Partitions {
public:
	Partitions(const std::string &folder, const std::string &machine, const std::string &name)
		: folder_(folder), machine_(machine), name_(name)
	{
	}

	void write(u64 day, std::string_view line)
	{
		auto [file, is_new] = files_.try_emplace(day);

		if (is_new)
			open(file->second, day);
		file->second.output->write(line);
	}

	void commit()
	{
		try {
			for (auto &[day, file] : files_) {
				file.output->commit();
				file.committed = true;
			}
		} catch (const Error &) {
			withdraw();
			throw;
		}
	}

private:
	struct File {
		std::filesystem::path path{};
		std::unique_ptr<OutputFile> output{};
		bool committed = false;
	};

	void open(File &file, u64 day)
	{
		std::filesystem::path folder = std::filesystem::path(folder_) / ("day=" + day_text(day * NS_PER_DAY)) /
					       ("machine=" + machine_);

		make_folders(folder);
		file.path = folder / name_;
		try {
			file.output = std::make_unique<OutputFile>(file.path.string(), OutputFile::Existing::Refuse);
		} catch (const Error &e) {
			if (!std::filesystem::exists(file.path))
				throw;
			throw Error(Error::Source, file.path.string() + ": this recording is in the dataset already");
		}
		file.output->write(csv_head(true));
	}

	void withdraw()
	{
		std::error_code ignored;

		for (auto &[day, file] : files_)
			if (file.committed)
				std::filesystem::remove(file.path, ignored);
	}

	std::string folder_, machine_, name_;
	std::map<u64, File> files_;
};

} // namespace

void check_dataset(const std::string &folder)
{
	std::error_code unknown;
	std::filesystem::path existing = std::filesystem::absolute(folder);

	while (!std::filesystem::exists(existing, unknown) && existing.has_relative_path())
		existing = existing.parent_path();
	if (!std::filesystem::is_directory(existing, unknown))
		throw Error(Error::Source, explain_file(ENOTDIR, folder));
	if (access(existing.c_str(), W_OK | X_OK))
		throw Error(Error::Source, explain_file(errno, folder));
}

void add_to_dataset(std::span<const Timeline> gpus, const std::string &folder, const std::string &recording)
{
	u64 start_ns = ~u64{0};

	for (const Timeline &t : gpus) {
		if (t.machine.empty())
			throw Error(Error::Source,
				    recording + ": its machine is unknown; give its name with --machine HOST");
		if (!is_machine_name(t.machine))
			throw Error(Error::Source,
				    fmt::format("{}: its machine \"{}\" cannot be the name of a folder; give "
						"another one with --machine HOST",
						recording, t.machine));
		if (!t.clocks)
			throw Error(Error::Source,
				    recording + ": it has no wall clock, so that its days are unknown: it is "
						"of an older version, or cut short");
		start_ns = std::min(start_ns, *t.unix_ns(t.start_ns));
	}
	if (gpus.empty())
		return;
	Partitions partitions(folder, gpus[0].machine, file_time(start_ns) + ".csv");
	for (const Timeline &t : gpus)
		write_csv_lines(t, true, [&](u64 day, std::string_view line) { partitions.write(day, line); });
	partitions.commit();
}

} // namespace tool
