// SPDX-License-Identifier: GPL-2.0
// The C interface (gpulens-partition.h): converts arguments and exceptions, and calls Layout and Work.
#include "partition/c_errors.hpp"
#include "gpulens-partition.h"
#include "lib/tpc/gpc_map.hpp"
#include "lib/tpc/place.hpp"
#include "partition/launch.hpp"
#include "partition/c_layout.hpp"
#include "partition/layout.hpp"
#include "partition/work.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <set>

using gpulens::catch_errors;
using gpulens::Error;
using gpulens::Layout;
using gpulens::require_pointers;
using tool::plan::TpcMask;

struct gpulens_partition {
	gpulens_partition(Layout its_layout, std::unique_ptr<gpulens::Work> its_work)
		: layout(std::move(its_layout)), work(std::move(its_work))
	{
	}
	const Layout layout;
	std::unique_ptr<gpulens::Work> work;
};

int gpulens_layout_open(const char *source, unsigned int gpu, struct gpulens_layout **layout)
{
	return catch_errors([&] {
		require_pointers(layout);
		*layout =
			std::make_unique<gpulens_layout>(gpulens::layout_from(source ? source : "auto", gpu)).release();
	});
}

int gpulens_layout_make(const unsigned int *tpcs, size_t gpcs, struct gpulens_layout **layout)
{
	return catch_errors([&] {
		require_pointers(tpcs, layout);
		*layout = std::make_unique<gpulens_layout>(gpulens::layout_of({tpcs, tpcs + gpcs})).release();
	});
}

void gpulens_layout_close(struct gpulens_layout *layout)
{
	delete layout;
}

unsigned int gpulens_layout_gpcs(const struct gpulens_layout *layout)
{
	return static_cast<unsigned int>(layout->map.gpcs.size());
}

unsigned int gpulens_layout_tpcs(const struct gpulens_layout *layout)
{
	return layout->map.tpcs;
}

size_t gpulens_layout_words(const struct gpulens_layout *layout)
{
	return layout->word_count();
}

unsigned int gpulens_layout_numbering(const struct gpulens_layout *layout, const char **evidence)
{
	if (evidence)
		*evidence = layout->evidence.c_str();
	return layout->map.numbering == tool::plan::TpcNumbering::BySmid ? GPULENS_BY_SMID : GPULENS_BY_GPC;
}

int gpulens_mask_convert(const struct gpulens_layout *from, const struct gpulens_layout *to, const uint64_t *mask,
			 uint64_t *converted)
{
	return catch_errors([&] {
		require_pointers(from, to, mask, converted);
		to->write_words(gpulens::convert_mask(*from, *to, from->read_words(mask)), converted);
	});
}

int gpulens_layout_gpc(const struct gpulens_layout *layout, unsigned int index, unsigned int *id, uint64_t *mask)
{
	return catch_errors([&] {
		require_pointers(layout);
		if (index >= layout->map.gpcs.size())
			throw Error(Error::Absent, fmt::format("there is no GPC at index {}; there are {} GPCs", index,
							       layout->map.gpcs.size()));
		const tool::plan::GpcTpcs &gpc = layout->map.gpcs[index];
		if (id)
			*id = gpc.gpc;
		if (mask)
			layout->write_words(layout->gpc_mask(gpc), mask);
	});
}

int gpulens_masks_make(const struct gpulens_layout *layout, const unsigned int *sizes, size_t n, unsigned int how,
		       const uint64_t *taken, uint64_t *masks)
{
	return catch_errors([&] {
		require_pointers(layout, sizes, masks);
		if (how != GPULENS_PACKED && how != GPULENS_DISTRIBUTED)
			throw Error(Error::Input, fmt::format("unknown placing {}", how));
		std::vector<TpcMask> made = layout->make_masks(
			{sizes, sizes + n},
			how == GPULENS_PACKED ? tool::plan::Placing::Packed : tool::plan::Placing::Distributed,
			taken ? layout->read_words(taken) : TpcMask(layout->map.tpcs));
		for (size_t i = 0; i < n; i++)
			layout->write_words(made[i], masks + i * layout->word_count());
	});
}

int gpulens_mask_of_gpcs(const struct gpulens_layout *layout, const unsigned int *ids, size_t n, uint64_t *mask)
{
	return catch_errors([&] {
		require_pointers(layout, ids, mask);
		layout->write_words(layout->mask_of_gpcs({ids, ids + n}), mask);
	});
}

int gpulens_mask_complement(const struct gpulens_layout *layout, const uint64_t *mask, uint64_t *complement)
{
	return catch_errors([&] {
		require_pointers(layout, mask, complement);
		layout->write_words(layout->complement(layout->read_words(mask)), complement);
	});
}

int gpulens_mask_count(const struct gpulens_layout *layout, const uint64_t *mask, unsigned int *tpcs)
{
	return catch_errors([&] {
		require_pointers(layout, mask, tpcs);
		*tpcs = layout->read_words(mask).count();
	});
}

int gpulens_mask_launch(const struct gpulens_layout *layout, const uint64_t *mask, uint64_t disable[2])
{
	return catch_errors([&] {
		require_pointers(layout, mask, disable);
		std::array<uint64_t, 2> bits = layout->launch_mask(layout->read_words(mask));
		std::copy(bits.begin(), bits.end(), disable);
	});
}

int gpulens_mask_parse(const struct gpulens_layout *layout, const char *text, uint64_t *mask)
{
	return catch_errors([&] {
		require_pointers(layout, text, mask);
		layout->write_words(layout->parse_mask(text), mask);
	});
}

int gpulens_masks_check(const struct gpulens_layout *layout, const uint64_t *masks, size_t n, uint64_t *split)
{
	return catch_errors([&] {
		require_pointers(layout, masks);
		std::vector<TpcMask> all;
		for (size_t i = 0; i < n; i++)
			all.push_back(
				layout->read_words(masks + i * layout->word_count(), fmt::format("mask {}: ", i)));
		TpcMask shared = layout->check_masks(all);
		if (split)
			layout->write_words(shared, split);
	});
}

int gpulens_way_granule(unsigned int way, unsigned int *tpcs)
{
	return catch_errors([&] {
		require_pointers(tpcs);
		*tpcs = gpulens::granularity(gpulens::method_of(way));
	});
}

int gpulens_layout_open_cuda(struct gpulens_layout **layout)
{
	return catch_errors([&] {
		require_pointers(layout);
		*layout = std::make_unique<gpulens_layout>(gpulens::layout_of_device(gpulens::device_of_context()))
				  .release();
	});
}

int gpulens_partition_open(const struct gpulens_layout *layout, unsigned int way, const uint64_t *mask,
			   struct gpulens_partition **partition)
{
	return catch_errors([&] {
		require_pointers(layout, mask, partition);
		*partition =
			std::make_unique<gpulens_partition>(
				*layout, gpulens::make_work(gpulens::method_of(way), *layout, layout->read_words(mask)))
				.release();
	});
}

int gpulens_partition_tpcs(const struct gpulens_partition *partition, uint64_t *mask)
{
	return catch_errors([&] {
		require_pointers(partition, mask);
		partition->layout.write_words(partition->work->tpcs(), mask);
	});
}

void *gpulens_partition_stream(const struct gpulens_partition *partition)
{
	return partition->work->stream();
}

void gpulens_partition_close(struct gpulens_partition *partition)
{
	catch_errors([&] { delete partition; });
}
