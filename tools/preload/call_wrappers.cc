// SPDX-License-Identifier: GPL-2.0
// libgpulens-calls.so, which gpulens run --pitfalls preloads. Programs reach CUDA's driver API in three ways: they are linked with
// libcuda.so.1; they look functions up with dlsym(); or with cuGetProcAddress(), which they looked up so: CUDA's runtime, also
// where it is linked statically (seen with 13.0). Each of these gets the functions below in place of the driver's, which they call.
#include "preload/call_recorder.hpp"

#include <atomic>
#include <cstring>
#include <dlfcn.h>

namespace {

using namespace preload;
using gpulens::Call;
using gpulens::CALL_COUNT;
using gpulens::CUDA_CALLS;
using gpulens::CudaCall;
using gpulens::DevicePointer;
using gpulens::LaunchConfig;

constexpr int NOT_FOUND = 500;     // CUDA_ERROR_NOT_FOUND
constexpr u64 PER_THREAD_FLAG = 2; // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

using Dlsym = void *(*)(void *, const char *) noexcept;

Dlsym find_real_dlsym()
{
	for (const char *version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"})
		if (void *found = dlvsym(RTLD_NEXT, "dlsym", version))
			return reinterpret_cast<Dlsym>(found);
	__builtin_trap(); // no program starts without it
}

Dlsym real_dlsym()
{
	static const Dlsym real = find_real_dlsym();
	return real;
}

std::atomic<void *> real_calls[CALL_COUNT]; // the driver's functions
std::atomic<void *> real_get, real_get_v2;  // cuGetProcAddress, cuGetProcAddress_v2

// The driver's function of a program that is linked with libcuda.so.1, or has looked none up.
void *find_real(std::atomic<void *> &real, const char *symbol)
{
	void *found = real.load(std::memory_order_acquire);

	if (found)
		return found;
	found = real_dlsym()(RTLD_NEXT, symbol);
	if (!found)
		if (void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD))
			found = real_dlsym()(library, symbol);
	real.store(found, std::memory_order_release);
	return found;
}

u64 stream_number(const void *stream)
{
	return reinterpret_cast<uintptr_t>(stream);
}

u64 stream_number(u64 stream)
{
	return stream;
}

void note_made(void *const *stream, unsigned flags, int = 0)
{
	note_stream(*stream, flags);
}

template <Call CALL, typename... Args> int forward_call(const void *from, u64 stream, Args... args)
{
	constexpr auto INDEX = static_cast<u32>(CALL);
	auto real = reinterpret_cast<int (*)(Args...)>(find_real(real_calls[INDEX], CUDA_CALLS[INDEX].symbol.data()));

	if (!real)
		return NOT_FOUND;
	RecordedCall recorded(CALL, stream, from);
	if constexpr (CALL == Call::cuStreamDestroy_v2)
		note_no_stream(args...);
	int result = real(args...);
	if constexpr (CALL == Call::cuStreamCreate || CALL == Call::cuStreamCreateWithPriority)
		if (!result)
			note_made(args...);
	return result;
}

} // namespace

#define GPULENS_UNPACK(...) __VA_ARGS__
#define GPULENS_FORWARD(call, stream, ...)                                                                             \
	forward_call<call>(__builtin_return_address(0), stream_number(stream) __VA_OPT__(, ) __VA_ARGS__)
#define GPULENS_ROW(symbol, name, since, per_thread, kind, stream, parameters, arguments)                              \
	extern "C" __attribute__((visibility("default"))) int symbol parameters                                        \
	{                                                                                                              \
		return GPULENS_FORWARD(Call::symbol, stream, GPULENS_UNPACK arguments);                                \
	}
GPULENS_CUDA_CALLS(GPULENS_ROW)
#undef GPULENS_ROW

namespace {

void *const WRAPPERS[CALL_COUNT] = {
#define GPULENS_ROW(symbol, ...) reinterpret_cast<void *>(symbol),
	GPULENS_CUDA_CALLS(GPULENS_ROW)
#undef GPULENS_ROW
};

// Keeps the first address that the driver gave.
void keep_real(std::atomic<void *> &real, void *found)
{
	void *none = nullptr;

	real.compare_exchange_strong(none, found);
}

// The index of what cuGetProcAddress() returns; CALL_COUNT: none that is recorded.
u32 find_call(const char *name, int version, bool per_thread)
{
	u32 best = CALL_COUNT;

	for (u32 i = 0; i < CALL_COUNT; i++) {
		const CudaCall &call = CUDA_CALLS[i];
		if (call.name != name || call.since > version || (call.per_thread && !per_thread))
			continue;
		if (best == CALL_COUNT || call.per_thread > CUDA_CALLS[best].per_thread ||
		    (call.per_thread == CUDA_CALLS[best].per_thread && call.since > CUDA_CALLS[best].since))
			best = i;
	}
	return best;
}

void *wrap_found(const char *name, int version, u64 flags, void *found)
{
	u32 call = find_call(name, version, flags & PER_THREAD_FLAG);

	// A newer version may have a newer function of the name, with other parameters.
	if (call == CALL_COUNT || (version > gpulens::NEWEST_KNOWN_CUDA &&
				   found != find_real(real_calls[call], CUDA_CALLS[call].symbol.data())))
		return found;
	if (found != WRAPPERS[call])
		keep_real(real_calls[call], found);
	return WRAPPERS[call];
}

void *get_address(const char *name, void *found, int version, u64 flags);

} // namespace

extern "C" __attribute__((visibility("default"))) int cuGetProcAddress(const char *name, void **to, int version,
								       u64 flags)
{
	auto real = reinterpret_cast<int (*)(const char *, void **, int, u64)>(find_real(real_get, __func__));
	int result = real ? real(name, to, version, flags) : NOT_FOUND;

	if (!result && name && to && *to)
		*to = get_address(name, *to, version, flags);
	return result;
}

extern "C" __attribute__((visibility("default"))) int cuGetProcAddress_v2(const char *name, void **to, int version,
									  u64 flags, int *status)
{
	auto real = reinterpret_cast<int (*)(const char *, void **, int, u64, int *)>(find_real(real_get_v2, __func__));
	int result = real ? real(name, to, version, flags, status) : NOT_FOUND;

	if (!result && name && to && *to)
		*to = get_address(name, *to, version, flags);
	return result;
}

namespace {

void *get_address(const char *name, void *found, int version, u64 flags)
{
	if (strcmp(name, "cuGetProcAddress") != 0)
		return wrap_found(name, version, flags, found);
	if (version > gpulens::NEWEST_KNOWN_CUDA)
		return found;
	bool second = version >= 12000;
	keep_real(second ? real_get_v2 : real_get, found);
	return second ? reinterpret_cast<void *>(cuGetProcAddress_v2) : reinterpret_cast<void *>(cuGetProcAddress);
}

// What a program gets in place of a function of the driver; nullptr: what it asks for is not recorded, or is not there.
void *find_wrapper(void *library, const char *name)
{
	struct Getter {
		const char *name;
		std::atomic<void *> &real;
		void *wrapper;
	};
	static const Getter getters[] = {
		{"cuGetProcAddress", real_get, reinterpret_cast<void *>(cuGetProcAddress)},
		{"cuGetProcAddress_v2", real_get_v2, reinterpret_cast<void *>(cuGetProcAddress_v2)}};
	std::atomic<void *> *real = nullptr;
	void *wrapper = nullptr;

	// RTLD_NEXT: another library that is preloaded looks for what comes after it.
	if (library == RTLD_NEXT || strncmp(name, "cu", 2) != 0)
		return nullptr;
	for (const Getter &getter : getters)
		if (!strcmp(name, getter.name)) {
			real = &getter.real;
			wrapper = getter.wrapper;
		}
	for (u32 i = 0; i < CALL_COUNT && !real; i++)
		if (CUDA_CALLS[i].symbol == name) {
			real = &real_calls[i];
			wrapper = WRAPPERS[i];
		}
	if (!real)
		return nullptr;
	void *found = real_dlsym()(library, name);
	if (!found || found == wrapper)
		return nullptr;
	keep_real(*real, found);
	return wrapper;
}

} // namespace

// The last call has to be a jump, because the C library looks at who called for RTLD_NEXT and RTLD_DEFAULT.
extern "C" __attribute__((visibility("default"))) void *dlsym(void *library, const char *name) noexcept
{
	void *wrapper = find_wrapper(library, name);

	return wrapper ? wrapper : real_dlsym()(library, name);
}
