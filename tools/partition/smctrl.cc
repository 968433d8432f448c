// SPDX-License-Identifier: GPL-2.0
// libsmctrl's functions (libsmctrl.h), on top of the C interface and Launches.
#include "gpulens-partition.h"
#include "lib/launch/launch_hook.hpp"
#include "libsmctrl.h"
#include "partition/c_errors.hpp"
#include "partition/c_layout.hpp"
#include "partition/launch.hpp"
#include "partition/publish_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {

struct LayoutCloser {
	void operator()(gpulens_layout *layout) const { gpulens_layout_close(layout); }
};

// Prints gpulens_error(), as libsmctrl does, and returns err.
int print_last_error(int err)
{
	std::fprintf(stderr, "gpulens-partition: %s\n", gpulens_error());
	return err;
}

// Calls f, and prints an exception and returns its errno: no exception may reach a C program.
template <typename F> int return_errno(F f) noexcept
{
	gpulens::NotCancelled not_cancelled;

	try {
		return f();
	} catch (const gpulens::Error &e) {
		std::fprintf(stderr, "gpulens-partition: %s\n", e.what());
		return e.code;
	} catch (const std::bad_alloc &) {
		std::fprintf(stderr, "gpulens-partition: out of memory\n");
		return ENOMEM;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "gpulens-partition: %s\n", e.what());
		return EIO;
	}
}

// Returns 0 or a positive errno; throws Error for a negative dev.
int open_layout(int dev, std::unique_ptr<gpulens_layout, LayoutCloser> &opened)
{
	gpulens_layout *layout = nullptr;

	if (dev < 0)
		throw gpulens::Error(gpulens::Error::Source, "GPU indices start at 0; a negative index is invalid");
	int err = gpulens_layout_open(std::getenv("GPULENS_SOURCE"), static_cast<unsigned>(dev), &layout);

	opened.reset(layout);
	return -err;
}

// The arrays are never freed: callers keep pointers to them.
template <typename Mask> int get_gpc_info(uint32_t *num_gpcs, Mask **tpcs_for_gpc, int dev)
{
	static std::mutex lock;
	static std::map<int, std::unique_ptr<std::vector<Mask>>> arrays; // by dev
	std::unique_ptr<gpulens_layout, LayoutCloser> layout;
	std::lock_guard<std::mutex> hold(lock);
	int err = arrays.count(dev) ? 0 : open_layout(dev, layout);

	if (err)
		return print_last_error(err);
	if (!arrays.count(dev)) {
		layout->require_mask_numbers();
		std::vector<uint64_t> words(gpulens_layout_words(layout.get()));
		if (gpulens_layout_tpcs(layout.get()) > 8 * sizeof(Mask)) {
			std::fprintf(stderr, "gpulens-partition: GPU %d has %u TPCs, more than %zu bits\n", dev,
				     gpulens_layout_tpcs(layout.get()), 8 * sizeof(Mask));
			return ERANGE;
		}
		auto list = std::make_unique<std::vector<Mask>>();
		for (unsigned i = 0; !gpulens_layout_gpc(layout.get(), i, nullptr, words.data()); i++) {
			Mask mask = words[0];
			if constexpr (sizeof(Mask) > sizeof(words[0]))
				mask |= words.size() > 1 ? Mask{words[1]} << 64 : 0;
			list->push_back(mask);
		}
		arrays.emplace(dev, std::move(list));
	}
	*num_gpcs = static_cast<uint32_t>(arrays[dev]->size());
	*tpcs_for_gpc = arrays[dev]->data();
	return 0;
}

// Calls apply(launches, enabled TPCs) with the inverse of a mask of `bits` bits; TPCs beyond them are disabled, except by 0,
// which is no mask. Ends the program if that fails.
template <typename F> void set_mask(const char *function, uint128_t disable, unsigned bits, F apply) noexcept
{
	gpulens::NotCancelled not_cancelled;

	try {
		gpulens::Launches &launches = gpulens::Launches::instance();
		unsigned tpcs = launches.verified_layout().map.tpcs;
		gpulens::TpcMask enabled(tpcs);
		for (unsigned tpc = 0; tpc < (disable ? std::min(tpcs, bits) : tpcs); tpc++)
			if (!(disable >> tpc & 1))
				enabled.add(tpc);
		apply(launches, enabled);
	} catch (const std::exception &e) {
		gpulens::report_unpartitioned(std::string(function) + ": " + e.what());
		std::exit(gpulens::STATUS_UNLIMITED);
	}
}

// libsmctrl's variable for the mask of a whole process. Masks are verified by a probe, which takes a context, so none can hold
// from the first launch of a program that is running already.
__attribute__((constructor)) void refuse_mask_of_environment()
{
	const char *mask = std::getenv("LIBSMCTRL_MASK");

	if (!mask || !mask[std::strspn(mask, "0xX")])
		return;
	gpulens::report_unpartitioned("LIBSMCTRL_MASK is not followed: unset it, and start the program by gpulens run "
				      "--tpcs LIST");
	std::_Exit(gpulens::STATUS_UNLIMITED);
}

void set_global(const char *function, uint128_t disable, unsigned bits)
{
	set_mask(function, disable, bits, [](gpulens::Launches &l, const gpulens::TpcMask &m) { l.set_global(m); });
}

void set_next(const char *function, uint128_t disable, unsigned bits)
{
	set_mask(function, disable, bits, [disable](gpulens::Launches &l, const gpulens::TpcMask &m) {
		if (disable)
			l.set_next(m);
		else
			gpulens::hook::set_next(std::nullopt);
	});
}

void set_stream(const char *function, void *stream, uint128_t disable, unsigned bits)
{
	set_mask(function, disable, bits, [=](gpulens::Launches &l, const gpulens::TpcMask &m) {
		const void *descriptor = l.set_stream(stream, m);
		if (disable)
			return;
		gpulens::Launches::end_stream(descriptor);
		gpulens::withdraw_partition(stream);
	});
}

} // namespace

int libsmctrl_get_gpc_info(uint32_t *num_gpcs, uint64_t **tpcs_for_gpc, int dev)
{
	return return_errno([&] { return get_gpc_info(num_gpcs, tpcs_for_gpc, dev); });
}

int libsmctrl_get_gpc_info_ext(uint32_t *num_gpcs, uint128_t **tpcs_for_gpc, int dev)
{
	return return_errno([&] { return get_gpc_info(num_gpcs, tpcs_for_gpc, dev); });
}

int libsmctrl_get_tpc_info(uint32_t *num_tpcs, int dev)
{
	return return_errno([&] {
		std::unique_ptr<gpulens_layout, LayoutCloser> layout;
		int err = open_layout(dev, layout);
		if (!err)
			*num_tpcs = gpulens_layout_tpcs(layout.get());
		return err ? print_last_error(err) : 0;
	});
}

int libsmctrl_get_tpc_info_cuda(uint32_t *num_tpcs, int cuda_dev)
{
	return return_errno([&] {
		*num_tpcs = gpulens::layout_of_device(cuda_dev).map.tpcs;
		return 0;
	});
}

void libsmctrl_set_global_mask(uint64_t mask)
{
	set_global(__func__, mask, 64);
}

void libsmctrl_set_global_mask_ext(uint128_t mask)
{
	set_global(__func__, mask, 128);
}

void libsmctrl_set_next_mask(uint64_t mask)
{
	set_next(__func__, mask, 64);
}

void libsmctrl_set_next_mask_ext(uint128_t mask)
{
	set_next(__func__, mask, 128);
}

void libsmctrl_set_stream_mask(void *stream, uint64_t mask)
{
	set_stream(__func__, stream, mask, 64);
}

void libsmctrl_set_stream_mask_ext(void *stream, uint128_t mask)
{
	set_stream(__func__, stream, mask, 128);
}
