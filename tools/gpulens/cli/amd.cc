// SPDX-License-Identifier: GPL-2.0
// amd. See commands.hpp.
#include "gpulens/cli/commands.hpp"
#include "gpulens/cli/options.hpp"
#include "gpulens/cmd/amd_queues.hpp"
#include "gpulens/cmd/cu_masks.hpp"
#include "lib/base/file.hpp"

#include <memory>

namespace tool {

namespace {

struct MaskArguments {
	std::string layout;             // of CUs, or path of the properties of a KFD node
	std::vector<u32> sizes;         // CUs of partitions
	std::vector<std::string> masks; // to check
	plan::Placing placing = plan::Placing::Packed;
};

int show_cu_masks(const MaskArguments &arguments, const Options &options)
{
	bool is_file = arguments.layout.find('/') != std::string::npos;
	CuLayout layout = is_file ? read_cu_layout(read_file(arguments.layout), arguments.layout)
				  : parse_cu_layout(arguments.layout);
	std::vector<CuMask> masks;

	if (!arguments.sizes.empty())
		masks = make_cu_masks(layout, arguments.sizes, arguments.placing);
	for (const std::string &text : arguments.masks)
		masks.push_back(parse_cu_mask(layout, text));
	return print_text(options.json ? json_text(cu_masks_json(layout, masks)) : cu_masks_text(layout, masks))
		       ? EXIT_DONE
		       : EXIT_PART;
}

// The arguments of amd masks. Returns those that the other parts do not have.
std::vector<CLI::Option *> add_masks(CLI::App &parser, MaskArguments &arguments)
{
	CLI::Option *layout =
		parser.add_option(
			      "LAYOUT", arguments.layout,
			      "with masks, an AMD GPU: the CUs of its shader engines (15,15,15,15), or of their arrays "
			      "(8+8,8+7), or the file /sys/class/kfd/kfd/topology/nodes/N/properties")
			->type_name("");
	begin_group(parser, "With masks");
	CLI::Option *sizes =
		add_list(parser, "--sizes", arguments.sizes, "LIST", "make disjoint masks of so many CUs: 30,30")
			->delimiter(',')
			->check(in_range(1U, 1024U));
	CLI::Option *place =
		add_choice<plan::Placing>(
			parser, "--place", arguments.placing,
			{{"packed", plan::Placing::Packed}, {"distributed", plan::Placing::Distributed}}, "PLACING",
			"packed (an SE after the other) or distributed (over all SEs) (default: packed)")
			->needs(sizes);
	CLI::Option *mask = add_list(parser, "--mask", arguments.masks, "MASK",
				     "check this mask: 0x and digits, or words of 32 bits with commas as HIP takes "
				     "them; may be repeated")
				    ->excludes(sizes);
	begin_group(parser);
	return {layout, sizes, place, mask};
}

void add_amd(CLI::App &parser, CommandLine &line)
{
	auto arguments = std::make_shared<AmdOptions>();
	auto masks = std::make_shared<MaskArguments>();

	parser.add_option(
		      "PART", arguments->part,
		      "gpus, queues (of processes), runlist, slots (hardware queues), or masks: make masks of compute "
		      "units, or find those that make kernels slow (default: all but masks)")
		->type_name("")
		->check(one_of({"gpus", "queues", "runlist", "slots", "masks"}));
	std::vector<CLI::Option *> of_masks = add_masks(parser, *masks);
	CLI::Option *from = parser.add_option("--from", arguments->root,
					      "read DIR/sys/... instead of /sys/...: a copy of the files")
				    ->type_name("DIR")
				    ->check(not_an_option());
	parser.callback([arguments, masks, of_masks, from, &line] {
		if (!line.options.sources.files.empty() || !line.options.sources.gpus.empty())
			throw CLI::ValidationError("amd",
						   "it reads AMD's GPUs only, and has neither -i nor -g; see --from");
		if (arguments->part != "masks") {
			for (const CLI::Option *option : of_masks)
				if (!option->empty())
					throw CLI::ValidationError(option->get_name(), "it goes with amd masks");
			line.status = show_amd(line.options, *arguments);
			return;
		}
		if (!from->empty() || masks->layout.empty() || (masks->sizes.empty() && masks->masks.empty()))
			throw CLI::ValidationError("amd masks", "LAYOUT and either --sizes or --mask are wanted");
		line.status = show_cu_masks(*masks, line.options);
	});
}

} // namespace

Commands amd_commands()
{
	return {{"amd",
		 "show queues, runlists and hardware queues of AMD GPUs, and make masks; not yet tried on one",
		 {"gpulens amd gpus                 GPUs, without privilege",
		  "sudo gpulens amd                 all: queues of processes, runlists and hardware queues",
		  "gpulens amd slots --from copy/   from a copy of the kernel's files",
		  "gpulens amd masks 15,15,15,15 --sizes 30,30        for two partitions of a Radeon VII",
		  "gpulens amd masks 15,15,15,15 --mask 0x7fffffff    what a mask costs"},
		 add_amd}};
}

} // namespace tool
