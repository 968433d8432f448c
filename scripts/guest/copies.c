// SPDX-License-Identifier: GPL-2.0
/*
 * A program with a channel of its own on nouveau's user interface, for guests with nouveau (scripts/lib/nouveau.py). In
 * each round a copy engine copies a pattern from system memory to video memory, where the program reads some words of it
 * through BAR1. Then the program wants that buffer in system memory: nouveau moves it there with a channel of its own,
 * and the copy engine copies it to a last buffer. After each copy Host releases a semaphore, for which the program waits.
 * A round's pattern depends on the round, and the sum on all that was read and came back.
 *
 *     copies DEVICE ROUNDS MILLISECONDS      milliseconds to sleep after each round
 *
 * Prints "channel ID", "round N" after each round, and at last "sum X". Ends with 1 if something is refused.
 *
 * Structures and numbers: Linux include/uapi/drm/nouveau_drm.h, and those that are not in it any more drivers/gpu/drm/
 * nouveau/nouveau_abi16.h. Methods: open-gpu-doc classes/host/cla06f.h, classes/dma-copy/cla0b5.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DOMAIN_VRAM = 2, DOMAIN_GART = 4, DOMAIN_MAPPABLE = 8 };
enum { ENGINE_COPY = 0x30, COPY_CLASS = 0xa0b5, COPY_SUBCHANNEL = 4 };
enum { LINE = 4096, LINES = 16, WORDS = LINE * LINES / 4 };
enum { THROUGH_BAR1 = 16 }; // words of a round
enum { PREP_WRITE = 4 };

struct channel_alloc {
	uint32_t fb_handle, engine;
	int32_t channel;
	uint32_t domains, notifier;
	uint32_t subchannels[8][2];
	uint32_t subchannel_count;
};

struct gem_new {
	uint32_t handle, domain;
	uint64_t size, offset, map_handle;
	uint32_t tile_mode, tile_flags;
	uint32_t channel_hint, align;
};

struct pushbuf_bo {
	uint64_t user_priv;
	uint32_t handle, read_domains, write_domains, valid_domains;
	uint32_t presumed_valid, presumed_domain;
	uint64_t presumed_offset;
};

struct pushbuf_push {
	uint32_t bo_index, pad;
	uint64_t offset, length;
};

struct pushbuf {
	uint32_t channel, bo_count;
	uint64_t bos;
	uint32_t reloc_count, push_count;
	uint64_t relocs, pushes;
	uint32_t suffix[2];
	uint64_t vram_available, gart_available;
};

struct cpu_prep {
	uint32_t handle, flags;
};

#define CHANNEL_ALLOC _IOWR('d', 0x42, struct channel_alloc)
#define GEM_NEW _IOWR('d', 0x80, struct gem_new)
#define GEM_PUSHBUF _IOWR('d', 0x81, struct pushbuf)
#define GEM_CPU_PREP _IOW('d', 0x82, struct cpu_prep)

struct buffer {
	uint32_t handle, domain; // where the next work wants it
	uint64_t address; // of the GPU
	volatile uint32_t *words;
};

static void end_with(const char *what)
{
	perror(what);
	exit(1);
}

// domains: those in which it may be; it begins in video memory, if that is one of them.
static struct buffer make_buffer(int device, uint32_t domains)
{
	const uint32_t bytes = LINE * LINES;
	struct gem_new gem = {.domain = domains | DOMAIN_MAPPABLE, .size = bytes, .align = LINE};

	if (ioctl(device, GEM_NEW, &gem))
		end_with("GEM_NEW");
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, device, (off_t)gem.map_handle);

	if (mapped == MAP_FAILED)
		end_with("mmap");
	return (struct buffer){
		.handle = gem.handle,
		.domain = domains & DOMAIN_VRAM ? DOMAIN_VRAM : DOMAIN_GART,
		.address = gem.offset,
		.words = mapped,
	};
}

// A header with incrementing methods.
static uint32_t make_header(unsigned subchannel, unsigned method, unsigned count)
{
	return 1u << 29 | count << 16 | subchannel << 13 | method >> 2;
}

static unsigned put_copy(volatile uint32_t *to, const struct buffer *from, const struct buffer *into)
{
	const uint32_t words[] = {
		make_header(COPY_SUBCHANNEL, 0x400, 8), // OFFSET_IN_UPPER to LINE_COUNT
		(uint32_t)(from->address >> 32),
		(uint32_t)from->address,
		(uint32_t)(into->address >> 32),
		(uint32_t)into->address,
		LINE,
		LINE,
		LINE,
		LINES,
		make_header(COPY_SUBCHANNEL, 0x300, 1), // LAUNCH_DMA: not pipelined, flush, both layouts pitch, lines
		0x386,
	};

	for (unsigned i = 0; i < sizeof(words) / 4; i++)
		to[i] = words[i];
	return sizeof(words) / 4;
}

static unsigned put_semaphore(volatile uint32_t *to, const struct buffer *b, uint32_t payload)
{
	const uint32_t words[] = {
		make_header(0, 0x10, 4), // SEMAPHOREA to D
		(uint32_t)(b->address >> 32),
		(uint32_t)b->address,
		payload,
		0x01000002, // release of 4 bytes, after what was begun
	};

	for (unsigned i = 0; i < sizeof(words) / 4; i++)
		to[i] = words[i];
	return sizeof(words) / 4;
}

static void submit_words(int device, int channel, const struct buffer *buffers, unsigned count, uint64_t words)
{
	struct pushbuf_bo bos[8] = {{0}};
	struct pushbuf_push push = {.bo_index = 0, .length = words * 4};
	struct pushbuf request = {
		.channel = (uint32_t)channel,
		.bo_count = count,
		.bos = (uintptr_t)bos,
		.push_count = 1,
		.pushes = (uintptr_t)&push,
	};

	for (unsigned i = 0; i < count; i++) {
		bos[i].handle = buffers[i].handle;
		bos[i].read_domains = bos[i].write_domains = bos[i].valid_domains = buffers[i].domain;
	}
	if (ioctl(device, GEM_PUSHBUF, &request))
		end_with("GEM_PUSHBUF");
}

enum { PUSH, SOURCE, MIDDLE, TARGET, SEMAPHORE, BUFFERS };

// Waits for the semaphore, and then until nouveau knows that the work is done: its own channel would otherwise wait for
// this one before it moves a buffer.
static void copy_and_wait(int device, int channel, const struct buffer *buffers, unsigned from, unsigned into,
			  uint32_t payload)
{
	volatile uint32_t *to = buffers[PUSH].words;
	struct cpu_prep prep = {.handle = buffers[MIDDLE].handle, .flags = PREP_WRITE};
	unsigned n = 0;

	to[n++] = make_header(COPY_SUBCHANNEL, 0, 1); // SET_OBJECT
	to[n++] = COPY_CLASS;
	n += put_copy(to + n, &buffers[from], &buffers[into]);
	n += put_semaphore(to + n, &buffers[SEMAPHORE], payload);
	submit_words(device, channel, buffers, BUFFERS, n);
	while (buffers[SEMAPHORE].words[0] != payload)
		usleep(1000);
	while (ioctl(device, GEM_CPU_PREP, &prep))
		if (errno != EBUSY && errno != EINTR) // EBUSY: after 30 s
			end_with("GEM_CPU_PREP");
}

static uint32_t add_word(uint32_t sum, uint32_t word) // FNV-1a
{
	return (sum ^ word) * 16777619u;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	int device = open(argv[1], O_RDWR);

	if (device < 0)
		end_with(argv[1]);
	uint32_t rounds = (uint32_t)strtoul(argv[2], NULL, 10), sum = 2166136261u;
	useconds_t pause_us = (useconds_t)strtoul(argv[3], NULL, 10) * 1000;
	struct channel_alloc made = {.fb_handle = ~0u, .engine = ENGINE_COPY};

	if (ioctl(device, CHANNEL_ALLOC, &made))
		end_with("CHANNEL_ALLOC");
	printf("channel %d\n", made.channel);
	fflush(stdout);
	struct buffer buffers[BUFFERS];

	for (unsigned i = 0; i < BUFFERS; i++)
		buffers[i] = make_buffer(device, i == MIDDLE ? DOMAIN_VRAM | DOMAIN_GART : DOMAIN_GART);
	buffers[SEMAPHORE].words[0] = 0;
	for (uint32_t round = 1; round <= rounds; round++) {
		for (uint32_t i = 0; i < WORDS; i++) {
			buffers[SOURCE].words[i] = (i + 1) * 2654435761u ^ round << 16;
			buffers[TARGET].words[i] = 0;
		}
		buffers[MIDDLE].domain = DOMAIN_VRAM;
		copy_and_wait(device, made.channel, buffers, SOURCE, MIDDLE, 2 * round - 1);
		for (uint32_t i = 0; i < WORDS; i += WORDS / THROUGH_BAR1)
			sum = add_word(sum, buffers[MIDDLE].words[i]);
		buffers[MIDDLE].domain = DOMAIN_GART;
		copy_and_wait(device, made.channel, buffers, MIDDLE, TARGET, 2 * round);
		for (uint32_t i = 0; i < WORDS; i++)
			sum = add_word(sum, buffers[TARGET].words[i]);
		printf("round %u\n", round);
		fflush(stdout);
		usleep(pause_us);
	}
	printf("sum %#x\n", sum);
	return 0;
}
