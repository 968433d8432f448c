// SPDX-License-Identifier: GPL-2.0
/*
 * The file image: every word that decoding this GPU touches, so that it can be
 * decoded elsewhere (docs/image-format.md). The whole decoding is done once more
 * through a recorder: identification, topology, all runlists with contexts.
 *
 * Words are noted into a buffer while the GPU's lock is held and become text
 * afterwards. Reserving room comes before the machine is stopped.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "../include/gpulens/record.h"
#include "files.h"

/* A note: kind << 24 | number of words, address low and high, the words. */
#define NOTE_HEAD 3
#define WORDS_PER_LINE 16

struct image {
	struct lens_recorder rec;
	u32 *buf;
	size_t used, cap;	/* u32s */
	int err;		/* -ENOMEM: notes were lost */
};

static int reserve(struct lens_recorder *rec, u32 words)
{
	struct image *img = container_of(rec, struct image, rec);
	/* Each word may be a note of its own. */
	size_t need = img->used + (size_t)words * (NOTE_HEAD + 1) + NOTE_HEAD;
	size_t cap = max_t(size_t, 2 * img->cap, 16384);
	u32 *buf;

	if (need <= img->cap)
		return 0;
	cap = max(cap, need);
	buf = kvmalloc_array(cap, sizeof(*buf), GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	if (img->used)
		memcpy(buf, img->buf, img->used * sizeof(*buf));
	kvfree(img->buf);
	img->buf = buf;
	img->cap = cap;
	return 0;
}

static void note(struct lens_recorder *rec, char kind, u64 addr, const u32 *words, u32 n)
{
	struct image *img = container_of(rec, struct image, rec);
	u32 *p;

	if (img->used + NOTE_HEAD + n > img->cap) {
		img->err = -ENOMEM;
		return;
	}
	p = img->buf + img->used;
	p[0] = (u32)kind << 24 | n;
	p[1] = lower_32_bits(addr);
	p[2] = upper_32_bits(addr);
	memcpy(p + NOTE_HEAD, words, n * sizeof(*words));
	img->used += NOTE_HEAD + n;
}

static int record_runlists(struct lens_gpu *gpu)
{
	struct lens_runlist_snap snap;
	int err = 0;
	u32 i;

	for (i = 0; err != -ENOMEM && i < gpu->topo.n_runlists; i++) {
		memset(&snap, 0, sizeof(snap));
		snap.rl = &gpu->topo.runlists[i];
		/* A runlist that cannot be read is no reason to miss the others. */
		err = lens_snap_fill(gpu, &snap, true);
		lens_snap_free(&snap);
	}
	return err == -ENOMEM ? err : 0;
}

static int record(struct lens_dev *dev, struct image *img)
{
	struct lens_gpu *gpu = kvzalloc(sizeof(*gpu), GFP_KERNEL);
	int err;

	if (!gpu)
		return -ENOMEM;
	img->rec.note = note;
	img->rec.reserve = reserve;
	lens_record_init(&img->rec, &dev->io);
	err = lens_dev_get(dev);
	if (err)
		goto out;
	err = lens_gpu_identify(gpu, &img->rec.io);
	if (!err)
		err = lens_gpu_read_topology(gpu);
	if (!err && lens_gpu_has_host(gpu))
		err = record_runlists(gpu);
	err = lens_dev_put(dev, err);
out:
	kvfree(gpu);
	return err ? err : img->err;
}

static void format(const struct lens_dev *dev, const struct image *img, struct lens_text *t)
{
	const u32 *p = img->buf, *end = img->buf + img->used;
	u32 i, n, kind;
	u64 addr;

	lens_text_add(t, "gpulens-image 1\nchip boot0=0x%08x\n", dev->gpu.boot0);
	if (dev->pdev)
		lens_text_add(t, "pci %s 0x%04x:0x%04x\n", dev->where, dev->pdev->vendor,
			      dev->pdev->device);
	else
		/* The format knows no such line; its readers skip comments. */
		lens_text_add(t, "# platform %s\n", dev->where);
	for (; p < end; p += NOTE_HEAD + n) {
		kind = p[0] >> 24;
		n = p[0] & 0xffffff;
		addr = (u64)p[2] << 32 | p[1];
		if (kind == 'r') {
			lens_text_add(t, "r 0x%08llx 0x%08x\n", addr, p[NOTE_HEAD]);
			continue;
		}
		for (i = 0; i < n; i++) {
			if (i % WORDS_PER_LINE == 0)
				lens_text_add(t, "%s%c 0x%09llx", i ? "\n" : "", kind,
					      addr + 4ULL * i);
			lens_text_add(t, " %08x", p[NOTE_HEAD + i]);
		}
		lens_text_add(t, "\n");
	}
}

int lens_show_image(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	struct image img = { };
	int err;

	err = record(f->dev, &img);
	if (!err)
		format(f->dev, &img, t);
	kvfree(img.buf);
	return err;
}
