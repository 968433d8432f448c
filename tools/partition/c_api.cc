// SPDX-License-Identifier: GPL-2.0
// The C interface of the library; what it does is in tools/lib/tpc/ and tools/lib/source/.
#include "gpulens-partition.h"
#include "lib/tpc/gpc_map.hpp"
#include "lib/tpc/place.hpp"
#include "partition/layout.hpp"
#include "partition/not_cancelled.hpp"
#include "partition/work.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <new>
#include <set>

using gpulens::Error;
using gpulens::Layout;
using tool::plan::TpcMask;

struct gpulens_layout : Layout {
	explicit gpulens_layout(Layout &&made) : Layout(std::move(made)) {}
};

struct gpulens_partition {
	gpulens_partition(Layout of, std::unique_ptr<gpulens::Work> made) : layout(std::move(of)), work(std::move(made))
	{
	}
	const Layout layout;
	std::unique_ptr<gpulens::Work> work;
};

namespace {

thread_local std::string last_error;

int failed(int err, const std::string &why) noexcept
{
	try {
		last_error = why;
	} catch (const std::bad_alloc &) {
		last_error.clear();
	}
	return -err;
}

// No exception leaves the library.
template <typename F> int guarded(F f) noexcept
{
	gpulens::NotCancelled whole;

	try {
		f();
		return 0;
	} catch (const Error &e) {
		return failed(e.err, e.what());
	} catch (const std::bad_alloc &) {
		return failed(ENOMEM, "out of memory");
	} catch (const std::exception &e) {
		return failed(EIO, e.what());
	} catch (...) {
		return failed(EIO, "an exception of another library's");
	}
}

template <typename... T> void need(T... pointers)
{
	bool missing = ((pointers == nullptr) || ...);

	if (missing)
		throw Error(EINVAL, "a pointer that may not be NULL is");
}

gpulens::Way way_of(unsigned way)
{
	if (way > GPULENS_GREEN_CLUSTERS)
		throw Error(EINVAL, fmt::format("way {} is none", way));
	return static_cast<gpulens::Way>(way);
}

} // namespace

const char *gpulens_error(void)
{
	return last_error.c_str();
}

int gpulens_layout_open(const char *source, unsigned int gpu, struct gpulens_layout **layout)
{
	return guarded([&] {
		need(layout);
		*layout =
			std::make_unique<gpulens_layout>(gpulens::layout_from(source ? source : "auto", gpu)).release();
	});
}

int gpulens_layout_make(const unsigned int *tpcs, size_t gpcs, struct gpulens_layout **layout)
{
	return guarded([&] {
		need(tpcs, layout);
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
	return layout->words();
}

int gpulens_layout_gpc(const struct gpulens_layout *layout, unsigned int index, unsigned int *id, uint64_t *mask)
{
	return guarded([&] {
		need(layout);
		if (index >= layout->map.gpcs.size())
			throw Error(ENOENT,
				    fmt::format("there are {} GPCs, none at place {}", layout->map.gpcs.size(), index));
		const tool::plan::GpcTpcs &gpc = layout->map.gpcs[index];
		if (id)
			*id = gpc.gpc;
		if (mask)
			layout->put(layout->gpc_mask(gpc), mask);
	});
}

int gpulens_masks_make(const struct gpulens_layout *layout, const unsigned int *sizes, size_t n, unsigned int how,
		       const uint64_t *taken, uint64_t *masks)
{
	return guarded([&] {
		need(layout, sizes, masks);
		if (how != GPULENS_PACKED && how != GPULENS_DISTRIBUTED)
			throw Error(EINVAL, fmt::format("placing {} is none", how));
		std::vector<TpcMask> made = layout->make({sizes, sizes + n},
							 how == GPULENS_PACKED ? tool::plan::Placing::Packed
									       : tool::plan::Placing::Distributed,
							 taken ? layout->get(taken) : TpcMask(layout->map.tpcs));
		for (size_t i = 0; i < n; i++)
			layout->put(made[i], masks + i * layout->words());
	});
}

int gpulens_mask_of_gpcs(const struct gpulens_layout *layout, const unsigned int *ids, size_t n, uint64_t *mask)
{
	return guarded([&] {
		need(layout, ids, mask);
		layout->put(layout->of_gpcs({ids, ids + n}), mask);
	});
}

int gpulens_mask_complement(const struct gpulens_layout *layout, const uint64_t *mask, uint64_t *complement)
{
	return guarded([&] {
		need(layout, mask, complement);
		layout->put(layout->complement(layout->get(mask)), complement);
	});
}

int gpulens_mask_count(const struct gpulens_layout *layout, const uint64_t *mask, unsigned int *tpcs)
{
	return guarded([&] {
		need(layout, mask, tpcs);
		*tpcs = layout->get(mask).count();
	});
}

int gpulens_mask_launch(const struct gpulens_layout *layout, const uint64_t *mask, uint64_t disable[2])
{
	return guarded([&] {
		need(layout, mask, disable);
		std::array<uint64_t, 2> bits = layout->launch_mask(layout->get(mask));
		std::copy(bits.begin(), bits.end(), disable);
	});
}

int gpulens_mask_parse(const struct gpulens_layout *layout, const char *text, uint64_t *mask)
{
	return guarded([&] {
		need(layout, text, mask);
		layout->put(layout->parse(text), mask);
	});
}

int gpulens_masks_check(const struct gpulens_layout *layout, const uint64_t *masks, size_t n, uint64_t *split)
{
	return guarded([&] {
		need(layout, masks);
		std::vector<TpcMask> all;
		for (size_t i = 0; i < n; i++)
			all.push_back(layout->get(masks + i * layout->words(), fmt::format("mask {}: ", i)));
		TpcMask shared = layout->check(all);
		if (split)
			layout->put(shared, split);
	});
}

int gpulens_way_granule(unsigned int way, unsigned int *tpcs)
{
	return guarded([&] {
		need(tpcs);
		*tpcs = gpulens::granule(way_of(way));
	});
}

int gpulens_layout_open_cuda(struct gpulens_layout **layout)
{
	return guarded([&] {
		need(layout);
		*layout = std::make_unique<gpulens_layout>(gpulens::gpu_of_device(gpulens::device_of_context()).layout)
				  .release();
	});
}

int gpulens_partition_open(const struct gpulens_layout *layout, unsigned int way, const uint64_t *mask,
			   struct gpulens_partition **partition)
{
	return guarded([&] {
		need(layout, mask, partition);
		*partition = std::make_unique<gpulens_partition>(
				     *layout, gpulens::make_work(way_of(way), *layout, layout->get(mask)))
				     .release();
	});
}

int gpulens_partition_tpcs(const struct gpulens_partition *partition, uint64_t *mask)
{
	return guarded([&] {
		need(partition, mask);
		partition->layout.put(partition->work->tpcs(), mask);
	});
}

void *gpulens_partition_stream(const struct gpulens_partition *partition)
{
	return partition->work->stream();
}

void gpulens_partition_close(struct gpulens_partition *partition)
{
	guarded([&] { delete partition; });
}
