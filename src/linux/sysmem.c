// SPDX-License-Identifier: GPL-2.0
/*
 * Reads and writes system memory at a bus address of the GPU, where Tegra and nouveau put
 * runlists and instance blocks. docs/internals.md, "System memory", has the rules and reasons.
 */
#include <linux/delay.h>
#include <linux/dma-direct.h>
#include <linux/dma-map-ops.h>
#include <linux/iommu.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <xen/xen.h>

#include "compat/compat.h"
#include "device.h"

/*
 * Does not wait for the lock: its holder may be waiting until this GPU's files are removed. It is
 * also held while a driver is bound or unbound, and briefly by sysfs.
 */
static int sysmem_lock_driver(struct lens_dev *dev)
{
	int tries;

	if (dev->use.device_locked)
		return 0;
	for (tries = 0; tries < 20; tries++) {
		if (device_trylock(dev->device))
			return 0;
		usleep_range(50, 100);
	}
	return -EBUSY;
}

static void sysmem_unlock_driver(struct lens_dev *dev)
{
	if (!dev->use.device_locked)
		device_unlock(dev->device);
}

/* Does the kernel know how this device's bus addresses are translated? */
static bool sysmem_kernel_translates(struct device *device)
{
	device_lock_assert(device);
	/* Under Xen PV, a physical address is not that of the machine. */
	if (!device->driver || xen_pv_domain())
		return false;
	/* Lent to another Xen domain: the addresses are of that domain. */
	if (lens_is_lent(device))
		return false;
	return !lens_driver_manages_dma(device);
}

/* 0; 1: no IOMMU translates; -EIO, -ENXIO as sysmem_translate(). */
static int sysmem_translate_iommu(struct device *device, dma_addr_t addr, phys_addr_t *phys)
{
#ifdef CONFIG_IOMMU_API
	struct iommu_domain *domain = iommu_get_domain_for_dev(device);

	if (!domain)
		return 1;
	switch (domain->type) {
	case IOMMU_DOMAIN_IDENTITY:
		return 1;
	case IOMMU_DOMAIN_DMA:
#ifdef IOMMU_DOMAIN_DMA_FQ
	case IOMMU_DOMAIN_DMA_FQ:
#endif
	case IOMMU_DOMAIN_UNMANAGED:
		*phys = iommu_iova_to_phys(domain, addr);
		return *phys ? 0 : -EIO;
	default:
		/* Nested, of a process, blocked: no tables that the kernel can walk. */
		return -ENXIO;
	}
#else
	return 1;
#endif
}

/* -ENXIO: the translation is unknown; -EIO: nothing is mapped there. */
static int sysmem_translate(struct device *device, u64 addr, phys_addr_t *phys)
{
	int err;

	if (!sysmem_kernel_translates(device))
		return -ENXIO;
	if ((dma_addr_t)addr != addr)
		return -EIO;
	err = sysmem_translate_iommu(device, addr, phys);
	if (err <= 0)
		return err;
	/* DMA operations of its own may translate differently (swiotlb-xen, TCE). */
	if (get_dma_ops(device))
		return -ENXIO;
	*phys = dma_to_phys(device, addr);
	return 0;
}

static bool sysmem_is_ordinary(struct page *page)
{
	return !is_zone_device_page(page) && !PageReserved(page) && !PageHighMem(page) &&
	       !PageHWPoison(page) && !PageOffline(page);
}

/* Takes a reference. NULL: not ordinary memory, or without a reference of its own. */
static struct page *sysmem_get_page(phys_addr_t phys)
{
	unsigned long pfn = PHYS_PFN(phys);
	struct page *page, *head;

	page = pfn_to_online_page(pfn);
	if (!page || !sysmem_is_ordinary(page))
		return NULL;
	head = compound_head(page);
	if (!get_page_unless_zero(head))
		return NULL;
	/* Before the reference was taken, it may have been reused or gone offline. */
	if (compound_head(page) == head && pfn_to_online_page(pfn) == page &&
	    sysmem_is_ordinary(page))
		return page;
	put_page(head);
	return NULL;
}

int lens_sysmem_pin(struct lens_dev *dev, u64 addr, struct lens_pin *pin)
{
	phys_addr_t phys = 0;
	int err;

	pin->page = NULL;
	pin->bus = addr - offset_in_page(addr);
	err = sysmem_lock_driver(dev);
	if (err)
		return err;
	err = sysmem_translate(dev->device, pin->bus, &phys);
	if (!err) {
		pin->page = sysmem_get_page(phys);
		err = pin->page ? 0 : -EIO;
	}
	sysmem_unlock_driver(dev);
	if (err)
		return err;
	pin->map = NULL;
	pin->at = page_address(pin->page);
	if (dev_is_dma_coherent(dev->device))
		return 0;
	pin->map = vmap(&pin->page, 1, VM_MAP, pgprot_writecombine(PAGE_KERNEL));
	pin->at = pin->map;
	if (pin->map)
		return 0;
	lens_sysmem_unpin(pin);
	return -ENOMEM;
}

void lens_sysmem_unpin(struct lens_pin *pin)
{
	if (!pin->page)
		return;
	if (pin->map)
		vunmap(pin->map);
	put_page(pin->page);
	pin->page = NULL;
}

bool lens_sysmem_is_pinned(const struct lens_pin *pin, u64 addr, u64 bytes)
{
	return pin->page && addr >= pin->bus && addr - pin->bus <= PAGE_SIZE &&
	       bytes <= PAGE_SIZE - (addr - pin->bus);
}

int lens_sysmem_read_pinned(const struct lens_pin *pin, u64 addr, void *dst, u32 bytes)
{
	if (addr & 7)
		return -EIO;
	return copy_from_kernel_nofault(dst, pin->at + (addr - pin->bus), bytes) ? -EIO : 0;
}

static int sysmem_put_word(u32 *at, const u32 *val)
{
	pagefault_disable();
	__put_kernel_nofault(at, val, u32, fault);
	pagefault_enable();
	return 0;

fault:
	pagefault_enable();
	return -EIO;
}

int lens_sysmem_store_pinned(const struct lens_pin *pin, u64 addr, u32 val)
{
	u32 *at = pin->at + (addr - pin->bus);
	u32 back;

	if (addr & 3 || sysmem_put_word(at, &val) ||
	    copy_from_kernel_nofault(&back, at, sizeof(back)))
		return -EIO;
	return back == val ? 0 : -EIO;
}

int lens_sysmem_copy(struct lens_dev *dev, u64 addr, u64 *dst, u32 words)
{
	u64 left = words * 8ULL;
	char *to = (char *)dst;
	struct lens_pin pin;
	u32 n;
	int err;

	if (addr & 7 || addr + left < addr)
		return -EIO;
	for (; left; left -= n, addr += n, to += n) {
		n = min_t(u64, left, PAGE_SIZE - offset_in_page(addr));
		err = lens_sysmem_pin(dev, addr, &pin);
		if (err)
			return err;
		err = lens_sysmem_read_pinned(&pin, addr, to, n);
		lens_sysmem_unpin(&pin);
		if (err)
			return err;
	}
	return 0;
}

int lens_sysmem_store32(struct lens_dev *dev, u64 addr, u32 val)
{
	struct lens_pin pin;
	int err;

	if (addr & 3)
		return -EIO;
	err = lens_sysmem_pin(dev, addr, &pin);
	if (err)
		return err;
	err = lens_sysmem_store_pinned(&pin, addr, val);
	lens_sysmem_unpin(&pin);
	return err;
}
