// SPDX-License-Identifier: GPL-2.0
// Launches kernels in several threads while masks change, pages are published and processes fork, with fake_cuda.cc in
// the same program.
//	race_program            prints "done", or the launches that were on a TPC of no mask
//	race_program count N    N launches in a stream with a mask, to count instructions
#include "lib/launch/launch_hook.hpp"
#include "lib/launch/publish.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" {
int cuCtxSetCurrent(void *context);
int cuDevicePrimaryCtxRetain(void **to, int device);
int cuStreamCreate(void **stream, unsigned flags);
int cuMemAlloc_v2(uint64_t *to, size_t size);
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,
		   unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra);
}

namespace {

constexpr unsigned BLOCKS = 8, THREADS = 4, LAUNCHES = 3000, FORKS = 20;

// All bits but those of the first three TPCs of probed.hpp: SMs 0 and 1, 2 and 3, 4 and 5.
constexpr gpulens::LaunchMask FIRST{.bits = {~uint64_t{1}, ~uint64_t{0}}},
	SECOND{.bits = {~(uint64_t{1} << 9), ~uint64_t{0}}}, THIRD{.bits = {~(uint64_t{1} << 18), ~uint64_t{0}}};

struct Launcher {
	void *stream = nullptr;
	const void *descriptor = nullptr;
	uint64_t memory = 0;

	Launcher()
	{
		cuStreamCreate(&stream, 0);
		cuMemAlloc_v2(&memory, BLOCKS * sizeof(unsigned));
		launch();
		descriptor = gpulens::hook::seen().descriptor;
	}
	// Returns the TPC of all blocks, or 66 if they were on several.
	unsigned launch()
	{
		void *parameters[] = {&memory};
		unsigned sms[BLOCKS], tpc = 0;

		cuLaunchKernel(nullptr, BLOCKS, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
		memcpy(sms, reinterpret_cast<void *>(memory), sizeof(sms)); // NOLINT(performance-no-int-to-ptr)
		tpc = sms[0] / 2;
		for (unsigned sm : sms)
			tpc = sm / 2 == tpc ? tpc : 66;
		return tpc;
	}
};

// The address of a descriptor that no launch has.
void *invent_descriptor(uintptr_t number)
{
	return reinterpret_cast<void *>(number << 12); // NOLINT(performance-no-int-to-ptr)
}

void change_masks(const std::vector<Launcher> &launchers)
{
	for (uintptr_t i = 1; i < 2000; i++) {
		for (const Launcher &launcher : launchers)
			gpulens::hook::set_of_descriptor(launcher.descriptor, i % 3 == 0   ? std::nullopt
									      : i % 3 == 1 ? std::optional(FIRST)
											   : std::optional(SECOND));
		gpulens::hook::set_of_descriptor(invent_descriptor(i), THIRD);
		if (i > 300)
			gpulens::hook::set_of_descriptor(invent_descriptor(i - 300), std::nullopt);
		gpulens::hook::set_global(THIRD);
	}
}

// A child uses the library as any process does. Returns false if a child waited for a lock that a thread of its parent
// held.
bool fork_children(Launcher &launcher)
{
	for (unsigned i = 0; i < FORKS; i++) {
		int status = 1;
		pid_t child = fork();
		if (!child) {
			alarm(60);
			gpulens::hook::set_of_descriptor(launcher.descriptor, FIRST);
			bool good = launcher.launch() == 0;
			gpulens::publish("[2]");
			_exit(good ? 0 : 1);
		}
		if (waitpid(child, &status, 0) != child || status)
			return false;
	}
	return true;
}

int run_race()
{
	std::vector<Launcher> launchers(THREADS);
	Launcher mine;
	std::vector<std::thread> threads;
	std::vector<unsigned> wrong(THREADS, 0);

	gpulens::publish("[]");
	gpulens::hook::set_global(THIRD);
	for (unsigned t = 0; t < THREADS; t++)
		threads.emplace_back([&, t] {
			for (unsigned i = 0; i < LAUNCHES; i++)
				if (launchers[t].launch() > 2)
					wrong[t]++;
		});
	threads.emplace_back([&] { change_masks(launchers); });
	threads.emplace_back([] {
		for (unsigned i = 0; i < 500; i++)
			gpulens::publish(std::string(i * 20, 'x'));
	});
	bool forked = fork_children(mine);
	for (std::thread &thread : threads)
		thread.join();
	for (unsigned n : wrong)
		if (n)
			return printf("%u launches were on no mask's TPC\n", n), 1;
	printf(forked ? "done\n" : "a child waits\n");
	return forked ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
	void *context = nullptr;
	gpulens::GpuUuid uuid{};

	for (unsigned i = 0; i < 16; i++)
		uuid[i] = static_cast<unsigned char>(0x11 * i);
	cuDevicePrimaryCtxRetain(&context, 0);
	cuCtxSetCurrent(context);
	gpulens::hook::restrict_to_gpu(uuid);
	if (const char *why = gpulens::hook::subscribe(dlopen(nullptr, RTLD_NOW)))
		return puts(why), 1;
	if (argc < 3)
		return run_race();
	Launcher launcher;
	gpulens::hook::set_of_descriptor(launcher.descriptor, FIRST);
	for (int i = atoi(argv[2]); i > 0; i--)
		launcher.launch();
	return 0;
}
