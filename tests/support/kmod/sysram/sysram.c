// SPDX-License-Identifier: GPL-2.0
/*
 * A test module that sets ordinary memory aside for emulated GPUs: a driver that
 * binds to their PCI devices, with pages from the page allocator mapped for each,
 * so that they have a bus address of their own where there is an IOMMU. It says
 * where they are, for the test to tell the emulator.
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

static bool whole;
module_param(whole, bool, 0444);
MODULE_PARM_DESC(whole, "whether only the first page of a block has a reference (default 0)");

static bool master;
module_param(master, bool, 0444);
MODULE_PARM_DESC(master, "whether the devices may access memory (default 0)");

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

static void give_back(ulong start, u32 n, unsigned int order)
{
	u32 i;

	for (i = 0; i < n; i++)
		__free_pages(pfn_to_page(PHYS_PFN(start + i * (PAGE_SIZE << order))), order);
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
			give_back(list[i], 1, ORDER);
	if (first < n)
		start = list[first];
	kfree(list);
	return start;
}

/* Each page with a reference of its own, as drivers have them behind an IOMMU and of CMA. */
static void split(ulong start)
{
	u32 i;

	for (i = 0; i < blocks; i++)
		split_page(pfn_to_page(PHYS_PFN(start + i * BLOCK)), ORDER);
}

static void unmap(u32 i)
{
	if (mapped[i])
		dma_unmap_page(&pdevs[i]->dev, bus[i], bytes, DMA_BIDIRECTIONAL);
	mapped[i] = false;
}

static int map(u32 i)
{
	struct device *dev = &pdevs[i]->dev;
	dma_addr_t addr;

	addr = dma_map_page(dev, pfn_to_page(PHYS_PFN(phys[i])), 0, bytes, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, addr))
		return -EIO;
	bus[i] = addr;
	mapped[i] = true;
	return 0;
}

static int set_unmap(const char *text, const struct kernel_param *kp)
{
	u32 i;
	int err = kstrtou32(text, 0, &i);

	if (err || i >= nr_devices)
		return -EINVAL;
	unmap(i);
	return 0;
}

static const struct kernel_param_ops unmap_ops = {
	.set = set_unmap,
};

module_param_cb(unmap, &unmap_ops, NULL, 0200);
MODULE_PARM_DESC(unmap, "index of a device: unmap its memory, with the driver bound");

static int index_of(struct pci_dev *pdev)
{
	u32 i;

	for (i = 0; i < nr_devices; i++)
		if (!strcmp(devices[i], pci_name(pdev)))
			return i;
	return -1;
}

/* Memory is set aside once, so that it is the same when the driver is bound again. */
static int sysram_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int i = index_of(pdev);
	int err;

	if (i < 0)
		return -ENODEV;
	/* Firmware need not have switched memory decoding on, and nobody else may. */
	err = pcim_enable_device(pdev);
	if (err)
		return err;
	pdevs[i] = pdev;
	if (master)
		pci_set_master(pdev);
	return map(i);
}

static void sysram_remove(struct pci_dev *pdev)
{
	unmap(index_of(pdev));
}

static const struct pci_device_id sysram_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID) },
	{ }
};

static struct pci_driver sysram_driver = {
	.name = "sysram",
	.id_table = sysram_ids,
	.probe = sysram_probe,
	.remove = sysram_remove,
};

static void forget(void)
{
	u32 i;

	for (i = 0; i < nr_devices; i++)
		if (phys[i])
			give_back(phys[i], whole ? blocks : blocks << ORDER, whole ? ORDER : 0);
}

static void __exit sysram_exit(void)
{
	pci_unregister_driver(&sysram_driver);
	forget();
}
module_exit(sysram_exit);

static int __init sysram_init(void)
{
	int err = nr_devices && blocks && blocks <= TRIES ? 0 : -EINVAL;
	u32 i;

	bytes = blocks * BLOCK;
	for (i = 0; !err && i < nr_devices; i++) {
		phys[i] = take();
		if (!phys[i])
			err = -ENOMEM;
		else if (!whole)
			split(phys[i]);
	}
	if (!err)
		err = pci_register_driver(&sysram_driver);
	for (i = 0; !err && i < nr_devices; i++)
		if (!mapped[i])
			err = -EIO;
	if (err == -EIO)
		pci_unregister_driver(&sysram_driver);
	if (err)
		forget();
	return err;
}
module_init(sysram_init);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test: system memory for emulated GPUs");
