// SPDX-License-Identifier: GPL-2.0
/*
 * System memory at a bus address of the GPU: where Tegra and nouveau put runlists
 * and instance blocks. The address goes through the GPU's IOMMU, if it has one;
 * only ordinary memory is read, never what else may lie at a physical address,
 * since the address comes from the hardware and may be anything.
 *
 * The kernel may have taken a page of ordinary memory out of its own mapping, or
 * made it read-only there; an access to such a page is an error, not an oops.
 *
 * Where devices are not coherent with the processor's caches, a page is mapped
 * uncached for the moment, which may sleep; elsewhere the kernel's own
 * mapping serves, also with the machine stopped.
 */
#include <linux/dma-map-ops.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "lens.h"

static struct page *page_at(struct lens_dev *dev, u64 addr)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev->device);
	phys_addr_t phys = addr;
	struct page *page;

	if (domain && domain->type != IOMMU_DOMAIN_IDENTITY) {
		phys = iommu_iova_to_phys(domain, addr);
		if (!phys)
			return NULL;
	}
	if (!pfn_valid(PHYS_PFN(phys)))
		return NULL;
	page = pfn_to_page(PHYS_PFN(phys));
	if (PageReserved(page) || PageHighMem(page) || PageHWPoison(page) || PageOffline(page))
		return NULL;
	return page;
}

static int store(u32 *at, const u32 *val)
{
	pagefault_disable();
	__put_kernel_nofault(at, val, u32, fault);
	pagefault_enable();
	return 0;

fault:
	pagefault_enable();
	return -EIO;
}

/* Part of one page. val: write that first. */
static int access_page(struct lens_dev *dev, u64 addr, void *buf, u32 bytes, const u32 *val)
{
	struct page *page = page_at(dev, addr);
	void *map = NULL;
	void *at;
	int err = 0;

	if (!page)
		return -EIO;
	if (dev_is_dma_coherent(dev->device)) {
		at = page_address(page);
	} else {
		/* Not with the machine stopped, which mmio.c sees to. */
		map = vmap(&page, 1, VM_MAP, pgprot_writecombine(PAGE_KERNEL));
		if (!map)
			return -ENOMEM;
		at = map;
	}
	at += offset_in_page(addr);
	if (val)
		err = store(at, val);
	if (!err && copy_from_kernel_nofault(buf, at, bytes))
		err = -EIO;
	if (map)
		vunmap(map);
	return err;
}

int lens_sysmem_copy(struct lens_dev *dev, u64 addr, u64 *dst, u32 words)
{
	u64 left = words * 8ULL;
	char *to = (char *)dst;
	u32 n;
	int err;

	if (addr & 7 || addr + left < addr)
		return -EIO;
	for (; left; left -= n, addr += n, to += n) {
		n = min_t(u64, left, PAGE_SIZE - offset_in_page(addr));
		err = access_page(dev, addr, to, n, NULL);
		if (err)
			return err;
		dev->io.cost.rd64 += n / 8;
	}
	return 0;
}

int lens_sysmem_store32(struct lens_dev *dev, u64 addr, u32 val)
{
	u32 back;
	int err;

	if (addr & 3)
		return -EIO;
	err = access_page(dev, addr, &back, sizeof(back), &val);
	if (err)
		return err;
	dev->io.cost.wr32++;
	return back == val ? 0 : -EIO;
}
