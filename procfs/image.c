// SPDX-License-Identifier: GPL-2.0
/*
 * The file image: every word that decoding this GPU reads, as docs/image-format.md describes.
 * Everything is decoded once more through a recorder, which notes words in a buffer; memory for it
 * is allocated before the machine is stopped, and it is formatted without the GPU's lock.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "../include/gpulens/record.h"
#include "files.h"

/* A note: kind << 24 | number of words, address low and high, the words. */
#define IMAGE_NOTE_HEAD 3
#define IMAGE_LINE_WORDS 16

struct image {
	struct lens_recorder rec;
	u32 *buf;
	size_t used, cap;	/* u32s */
	size_t bars;		/* where the notes of bars begin */
	int bars_err;		/* why there are none */
	int err;		/* -ENOMEM: notes are missing */
};

static int image_reserve_words(struct lens_recorder *rec, u32 words)
{
	struct image *img = container_of(rec, struct image, rec);
	/* Each word may be a note of its own. */
	size_t need = img->used + (size_t)words * (IMAGE_NOTE_HEAD + 1) + IMAGE_NOTE_HEAD;
	size_t cap = max_t(size_t, 2 * img->cap, 16384);
	u32 *buf;

	if (need <= img->cap)
		return 0;
	cap = max(cap, need);
	buf = kvmalloc_array(cap, sizeof(*buf), GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	if (img->used)
		memcpy(buf, img->buf, img->used * sizeof(*buf));
	kvfree(img->buf);
	img->buf = buf;
	img->cap = cap;
	return 0;
}

static void image_add_note(struct lens_recorder *rec, char kind, u64 addr, const u32 *words, u32 n)
{
	struct image *img = container_of(rec, struct image, rec);
	u32 *p;

	if (img->used + IMAGE_NOTE_HEAD + n > img->cap) {
		img->err = -ENOMEM;
		return;
	}
	p = img->buf + img->used;
	p[0] = (u32)kind << 24 | n;
	p[1] = lower_32_bits(addr);
	p[2] = upper_32_bits(addr);
	memcpy(p + IMAGE_NOTE_HEAD, words, n * sizeof(*words));
	img->used += IMAGE_NOTE_HEAD + n;
}

static int image_record_runlists(struct lens_gpu *gpu)
{
	struct lens_runlist_snap snap;
	int err = 0;
	u32 i;

	for (i = 0; err != -ENOMEM && i < gpu->topo.n_runlists; i++) {
		memset(&snap, 0, sizeof(snap));
		snap.rl = &gpu->topo.runlists[i];
		/* Go on: the other runlists may be readable. */
		err = lens_snap_fill(gpu, &snap, true);
		lens_snap_free(&snap);
	}
	return err == -ENOMEM ? err : 0;
}

/* Who is on each engine. An engine that does not say is no reason to miss the others. */
static int image_record_engines(struct lens_gpu *gpu)
{
	struct lens_engine_status status;
	u32 i;

	for (i = 0; i < gpu->topo.n_engines; i++)
		if (lens_engine_read(gpu, &gpu->topo.engines[i], &status) == -ENODEV)
			return -ENODEV;
	return 0;
}

/* The counts of TPCs, where no fuses are published; without a driver they cannot be read. */
static int image_record_counts(struct lens_gpu *gpu)
{
	struct lens_tpc_places places;

	return lens_gpc_read_counts(gpu, &places) == -ENODEV ? -ENODEV : 0;
}

/* The order of TPCs, and the SM ids beside it. Without a context they cannot be read. */
static int image_record_cwd(struct lens_gpu *gpu)
{
	const struct lens_cwd_layout *cwd = &gpu->chip->cwd;
	int err = lens_cwd_check_context(gpu);
	u32 i, v;

	for (i = 0; !err && gpu->known && i < cwd->words; i++)
		err = lens_cwd_read_word(gpu, cwd->gpc_tpc_id, i, &v);
	for (i = 0; !err && gpu->known && i < cwd->words; i++)
		err = lens_cwd_read_word(gpu, cwd->sm_id, i, &v);
	return err == -ENODEV ? err : 0;
}

static int image_record_gpu(struct lens_dev *dev, struct image *img)
{
	struct lens_gpu *gpu = kvzalloc(sizeof(*gpu), GFP_KERNEL_ACCOUNT);
	struct lens_bars *bars;
	int err;

	if (!gpu)
		return -ENOMEM;
	img->rec.note = image_add_note;
	img->rec.reserve = image_reserve_words;
	lens_record_init(&img->rec, &dev->io);
	err = lens_dev_begin_use(dev);
	if (err)
		goto out;
	err = lens_gpu_identify(gpu, &img->rec.io);
	if (!err)
		err = lens_gpu_read_topology(gpu);
	if (!err && lens_gpu_has_host(gpu))
		err = image_record_runlists(gpu);
	if (!err)
		err = image_record_engines(gpu);
	if (!err)
		err = image_record_counts(gpu);
	if (!err)
		err = image_record_cwd(gpu);
	err = lens_dev_end_use(dev, err);
	img->bars = img->used;
	/* A use of the GPU of its own: if it takes too long, the image has no BARs. */
	bars = err ? NULL : lens_bars_read(dev, gpu);
	img->bars_err = PTR_ERR_OR_ZERO(bars);
	if (img->bars_err)
		img->used = img->bars;
	else
		kvfree(bars);
out:
	kvfree(gpu);
	return err ? err : img->err;
}

static void image_format_notes(const u32 *p, const u32 *end, struct lens_text *t)
{
	u32 i, n, kind;
	u64 addr;

	for (; p < end; p += IMAGE_NOTE_HEAD + n) {
		kind = p[0] >> 24;
		n = p[0] & 0xffffff;
		addr = (u64)p[2] << 32 | p[1];
		if (kind == 'r') {
			lens_text_add(t, "r 0x%08llx 0x%08x\n", addr, p[IMAGE_NOTE_HEAD]);
			continue;
		}
		for (i = 0; i < n; i++) {
			if (i % IMAGE_LINE_WORDS == 0)
				lens_text_add(t, "%s%c 0x%09llx", i ? "\n" : "", kind,
					      addr + 4ULL * i);
			lens_text_add(t, " %08x", p[IMAGE_NOTE_HEAD + i]);
		}
		lens_text_add(t, "\n");
	}
}

/*
 * Of two lines for one address the last wins. The notes of bars, which reads the runlists'
 * registers again, come first, so that the registers are those of the lists.
 */
static void image_format_text(const struct lens_dev *dev, const struct image *img,
			      struct lens_text *t)
{
	lens_text_add(t, "gpulens-image 1\nchip boot0=0x%08x\n", dev->gpu.boot0);
	if (dev->pdev)
		lens_text_add(t, "pci %s 0x%04x:0x%04x\n", dev->where, dev->pdev->vendor,
			      dev->pdev->device);
	else
		/* A comment: the format has no such line. */
		lens_text_add(t, "# platform %s\n", dev->where);
	if (img->bars_err)
		lens_text_add(t, "# bars: not read, errno %d\n", -img->bars_err);
	image_format_notes(img->buf + img->bars, img->buf + img->used, t);
	image_format_notes(img->buf, img->buf + img->bars, t);
}

int lens_show_image(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct image img = { };
	int err;

	err = image_record_gpu(f->dev, &img);
	if (!err)
		image_format_text(f->dev, &img, t);
	kvfree(img.buf);
	return err;
}
