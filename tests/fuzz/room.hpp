// SPDX-License-Identifier: GPL-2.0
// What all targets share: how a finding ends a run, and room for arrays that is made once and whose bounds the
// address sanitizer watches all the same.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sanitizer/asan_interface.h>

namespace fuzz {

// A finding, where the sanitizers see none.
#define FUZZ_CHECK(what)                                                                                               \
	do {                                                                                                           \
		if (!(what)) {                                                                                         \
			std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);                 \
			std::abort();                                                                                  \
		}                                                                                                      \
	} while (0)

// Up to N elements. What get() does not give out is poisoned, before and behind; what it gives out holds the same
// rubbish in every run, so that using what nobody wrote shows the same way again.
template <typename T, size_t N> class Room {
public:
	Room() : all_(new char[BYTES]) { __asan_poison_memory_region(all_.get(), BYTES); }
	~Room() { __asan_unpoison_memory_region(all_.get(), BYTES); }
	Room(const Room &) = delete;
	Room &operator=(const Room &) = delete;

	T *get(size_t n)
	{
		FUZZ_CHECK(n <= N);
		__asan_poison_memory_region(all_.get() + BYTES - used_, used_);
		used_ = n * sizeof(T);
		char *at = all_.get() + BYTES - used_;
		__asan_unpoison_memory_region(at, used_);
		std::memset(at, 0xa5, used_);
		return reinterpret_cast<T *>(at);
	}

private:
	// A multiple of the sanitizer's 8 bytes.
	static constexpr size_t BYTES = (N * sizeof(T) + 7) / 8 * 8;

	std::unique_ptr<char[]> all_;
	size_t used_ = 0;
};

} // namespace fuzz
