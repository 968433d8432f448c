// SPDX-License-Identifier: GPL-2.0
// Searches modules.dep for the path of the module, which may be compressed, and finds other files by their places relative
// to this program in the build folder.
#include "lib/source/module/load_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <sys/utsname.h>

namespace tool {

std::vector<std::string> load_words(const std::filesystem::path &modules, const std::filesystem::path &built)
{
	std::ifstream dependencies(modules / "modules.dep"); // "updates/dkms/gpulens.ko.xz: ..."
	std::error_code error;
	std::string line;

	while (std::getline(dependencies, line))
		if (line.substr(0, line.find(':')).find("/gpulens.ko") != line.npos)
			return {"modprobe", "gpulens"};
	if (std::filesystem::exists(built, error))
		return {"insmod", built.string()};
	return {};
}

std::string load_command(const std::string &release, const std::filesystem::path &modules,
			 const std::filesystem::path &built)
{
	std::vector<std::string> words = load_words(modules, built);

	if (!words.empty())
		return fmt::format("sudo {}", fmt::join(words, " "));
	return fmt::format(
		"make module && sudo insmod build/module/{}/gpulens.ko, or sudo make install && sudo modprobe gpulens",
		release);
}

static std::filesystem::path this_program()
{
	std::error_code error;

	return std::filesystem::read_symlink("/proc/self/exe", error);
}

static std::string kernel_release()
{
	utsname kernel{};

	uname(&kernel);
	return kernel.release;
}

static std::filesystem::path installed_folder()
{
	return std::filesystem::path("/lib/modules") / kernel_release();
}

static std::filesystem::path built_file()
{
	return this_program().parent_path().parent_path() / "module" / kernel_release() / "gpulens.ko";
}

std::vector<std::string> load_words()
{
	return load_words(installed_folder(), built_file());
}

std::string load_command()
{
	return load_command(kernel_release(), installed_folder(), built_file());
}

std::string emulator_command(const std::filesystem::path &program)
{
	std::error_code error;
	std::filesystem::path script = program.parent_path().parent_path().parent_path() / "scripts/vm"; // of build/bin

	return std::filesystem::exists(script, error) ? script.string() + " shell" : "";
}

std::string emulator_command()
{
	return emulator_command(this_program());
}

} // namespace tool
