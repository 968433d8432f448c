// SPDX-License-Identifier: GPL-2.0
// gpulens-lab: the experiments.
#include "lab/cli/commands.hpp"

#include <algorithm>

int main(int argc, char **argv)
{
	return tool::run_program(tool::lab_program(), {argv + std::min(argc, 1), argv + argc});
}
