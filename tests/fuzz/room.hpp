// SPDX-License-Identifier: GPL-2.0
// Code of all targets: a check that ends the run, and arrays that are allocated once and whose bounds the address
// sanitizer still checks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sanitizer/asan_interface.h>

namespace fuzz {

// Reports a finding that the sanitizers do not detect.
#define FUZZ_CHECK(what)                                                                                               \
	do {                                                                                                           \
		if (!(what)) {                                                                                         \
			std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);                 \
			std::abort();                                                                                  \
		}                                                                                                      \
	} while (0)

// Up to N elements. Memory before and after the part that get() returns is poisoned. That part has the same content in
// every run, so that a use of uninitialized elements can be reproduced.
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
	// A multiple of 8 bytes, the sanitizer's granule.
	static constexpr size_t BYTES = (N * sizeof(T) + 7) / 8 * 8;

	std::unique_ptr<char[]> all_;
	size_t used_ = 0;
};

} // namespace fuzz
