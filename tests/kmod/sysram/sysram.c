// SPDX-License-Identifier: GPL-2.0
/*
 * A test module that sets ordinary memory aside for emulated GPUs, as a driver
 * does: pages from the page allocator, mapped for the GPU's PCI device, so that
 * they have a bus address of their own where there is an IOMMU. It says where
 * they are, for the test to tell the emulator.
 *
 * The emulator wants one range without holes, larger than the page allocator
 * gives at once: blocks are taken until enough of them lie side by side.
 */
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sort.h>

#define MAX_GPUS	8
#define ORDER	get_order(SZ_4M)	/* the most that the page allocator of a PC gives */
#define BLOCK	(PAGE_SIZE << ORDER)
#define TRIES	128	/* blocks */

static char *devices[MAX_GPUS];
static unsigned int nr_devices;
module_param_array(devices, charp, &nr_devices, 0444);
MODULE_PARM_DESC(devices, "PCI addresses, e.g. 0000:00:04.0,0000:00:05.0");

static uint blocks = 4;
module_param(blocks, uint, 0444);
MODULE_PARM_DESC(blocks, "memory of each, in blocks of 4 MiB (default 4)");

static ulong bytes;
module_param(bytes, ulong, 0444);
MODULE_PARM_DESC(bytes, "memory of each, in bytes");

static ulong phys[MAX_GPUS];
module_param_array(phys, ulong, NULL, 0444);
MODULE_PARM_DESC(phys, "physical address of each one's memory");

static ulong bus[MAX_GPUS];
module_param_array(bus, ulong, NULL, 0444);
MODULE_PARM_DESC(bus, "the same as its device sees it");

static struct pci_dev *pdevs[MAX_GPUS];
static bool mapped[MAX_GPUS];

static void give_back(ulong start, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		__free_pages(pfn_to_page(PHYS_PFN(start + i * BLOCK)), ORDER);
}

static int compare(const void *a, const void *b)
{
	const ulong *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Where the first run of enough neighbours starts in a sorted list; n: there is none. */
static u32 find_run(const ulong *list, u32 n)
{
	u32 i, run = 0;

	for (i = 0; i < n; i++) {
		run = run && list[i] == list[i - 1] + BLOCK ? run + 1 : 1;
		if (run == blocks)
			return i + 1 - blocks;
	}
	return n;
}

/* Address of as much memory as is wanted, 0 when there is none in one piece. */
static ulong take(void)
{
	ulong *list = kcalloc(TRIES, sizeof(*list), GFP_KERNEL);
	struct page *page;
	ulong start = 0;
	u32 i, n, first;

	if (!list)
		return 0;
	for (n = 0; n < TRIES; n++) {
		page = alloc_pages(GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY, ORDER);
		if (!page)
			break;
		list[n] = page_to_phys(page);
	}
	sort(list, n, sizeof(*list), compare, NULL);
	first = find_run(list, n);
	for (i = 0; i < n; i++)
		if (i < first || i >= first + blocks)
			give_back(list[i], 1);
	if (first < n)
		start = list[first];
	kfree(list);
	return start;
}

static int set_up(u32 i)
{
	unsigned int domain, number, slot, func;
	dma_addr_t addr;

	if (sscanf(devices[i], "%x:%x:%x.%x", &domain, &number, &slot, &func) != 4)
		return -EINVAL;
	pdevs[i] = pci_get_domain_bus_and_slot(domain, number, PCI_DEVFN(slot, func));
	if (!pdevs[i])
		return -ENODEV;
	phys[i] = take();
	if (!phys[i])
		return -ENOMEM;
	addr = dma_map_page(&pdevs[i]->dev, pfn_to_page(PHYS_PFN(phys[i])), 0, bytes,
			    DMA_BIDIRECTIONAL);
	if (dma_mapping_error(&pdevs[i]->dev, addr))
		return -EIO;
	bus[i] = addr;
	mapped[i] = true;
	return 0;
}

static void sysram_exit(void)
{
	u32 i;

	for (i = 0; i < nr_devices; i++) {
		if (mapped[i])
			dma_unmap_page(&pdevs[i]->dev, bus[i], bytes, DMA_BIDIRECTIONAL);
		if (phys[i])
			give_back(phys[i], blocks);
		pci_dev_put(pdevs[i]);
	}
}
module_exit(sysram_exit);

static int __init sysram_init(void)
{
	int err = nr_devices && blocks && blocks <= TRIES ? 0 : -EINVAL;
	u32 i;

	bytes = blocks * BLOCK;
	for (i = 0; !err && i < nr_devices; i++)
		err = set_up(i);
	if (err)
		sysram_exit();
	return err;
}
module_init(sysram_init);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test: system memory for emulated GPUs");
