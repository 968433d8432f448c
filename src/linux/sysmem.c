// SPDX-License-Identifier: GPL-2.0
/*
 * System memory at a bus address of the GPU: where Tegra and nouveau put runlists
 * and instance blocks. It is read by the kernel's own rules or not at all, since the
 * address comes from the hardware and may be anything:
 *
 *  - A bus address means something only under the driver that made it: one must be
 *    bound, and stay so while the address is translated (device lock), and must leave
 *    its translation to the kernel (vfio-pci does not).
 *  - Translated is by the IOMMU's domain, of a type whose tables the kernel can walk;
 *    without one by dma_to_phys(), where the kernel itself maps directly.
 *  - The page must be online, ordinary memory with a reference of its own, and is held
 *    by another one while it is used: then nobody else gets it. A page of a block that
 *    was not split (dma_alloc_coherent() of several pages without an IOMMU) has none.
 *
 * Translating may sleep (IOMMU drivers take spinlocks, which sleep under PREEMPT_RT),
 * so that it is never done with the machine stopped; a pinned page can be used there.
 *
 * The kernel may have taken a page out of its own mapping, or made it read-only
 * there; an access to such a page is an error, not an oops. Where devices are not
 * coherent with the processor's caches, a page is mapped uncached while it is pinned.
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
#include "lens.h"

/*
 * Not waited for: who holds it may wait for this GPU's files to be removed. A try
 * that fails has met a driver that comes or goes, or a short use of sysfs.
 */
static int sysmem_lock_driver(struct device *device)
{
	int tries;

	for (tries = 0; tries < 20; tries++) {
		if (device_trylock(device))
			return 0;
		usleep_range(50, 100);
	}
	return -EBUSY;
}

/* Does a bus address of this device mean what the kernel says? Device lock held. */
static bool sysmem_kernel_translates(struct device *device)
{
	/* Under Xen PV, "physical" is what the hypervisor made up for this guest. */
	if (!device->driver || xen_pv_domain())
		return false;
	/* Lent to another domain, whose addresses these are. */
	if (lens_is_lent(device))
		return false;
	return !lens_driver_manages_dma(device);
}

/* 0, or 1 where no IOMMU stands between. */
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
		/* Nested, shared with a process, blocked: no tables that can be walked. */
		return -ENXIO;
	}
#else
	return 1;
#endif
}

/* Device lock held. -ENXIO: nobody can tell; -EIO: nothing is there. */
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
	/* Operations of its own: a translation that only those know (swiotlb-xen, TCE). */
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

/* With a reference on it. NULL: no ordinary memory, or nobody's. */
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
	/* It may have changed hands, or gone offline, until it was held. */
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
	err = sysmem_lock_driver(dev->device);
	if (err)
		return err;
	err = sysmem_translate(dev->device, pin->bus, &phys);
	if (!err) {
		pin->page = sysmem_get_page(phys);
		err = pin->page ? 0 : -EIO;
	}
	device_unlock(dev->device);
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
