// SPDX-License-Identifier: GPL-2.0
/*
 * A test module that behaves like the driver of one or more GPUs: it sets the
 * PRAMIN window and writes and reads a pattern of its own through it, all the
 * time, on one processor. It knows nothing of gpulens and takes no notice of it,
 * as a real driver would not. Every word that comes back other than written, and
 * every time the window is found moved, is counted.
 *
 * manner 0: window and accesses with interrupts off, under its own spinlock.
 * manner 1: preemptible; it keeps the window where it is over several rounds (as
 *           drivers do that remember its position), sleeps between setting and
 *           using it, and yields between words.
 *
 * PRAMIN is 1 MiB of BAR0 from 0x700000. Its base, in units of 64 KiB of GPU
 * memory, is set at 0x1700 bits 23:0 up to Ada (open-gpu-kernel-modules
 * maxwell/gm107/dev_bus.h NV_PBUS_BAR0_WINDOW; TARGET 25:24 = 0 is video memory)
 * and at 0x10fd40 bits 21:0 on Hopper (hopper/gh100/dev_nv_xal_ep_zb.h
 * NV_XAL_EP_ZB_BAR0_WINDOW).
 *
 * The memory from where= on (2 MiB a GPU) must be used by nobody else. Never load
 * this on a machine with a real GPU.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/spinlock.h>

#define PRAMIN		0x700000
#define BAR0_SIZE	0x1000000
#define MAX_GPUS	16
#define WORDS		2	/* a round: so many words checked, written, and read back */
#define PLACES		4	/* window positions used in turn, 64 KiB apart */
#define STAY		8	/* manner 1: rounds before the window is set again */

static char *gpus[MAX_GPUS];
static unsigned int nr_gpus;
module_param_array(gpus, charp, &nr_gpus, 0444);
MODULE_PARM_DESC(gpus, "PCI addresses, e.g. 0000:00:04.0,0000:00:05.0");

static uint windows[MAX_GPUS];
static unsigned int nr_windows;
module_param_array(windows, uint, &nr_windows, 0444);
MODULE_PARM_DESC(windows, "window register of each GPU: 0x1700, or 0x10fd40 on Hopper");

static ulong where = 0x08000000;
module_param(where, ulong, 0444);
MODULE_PARM_DESC(where, "address in GPU memory of the words it uses, a multiple of 64 KiB");

static int manner;
module_param(manner, int, 0444);
MODULE_PARM_DESC(manner, "0: interrupts off, 1: preemptible with pauses");

static int cpu = 1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "processor it runs on");

static ulong rounds;
module_param(rounds, ulong, 0444);
MODULE_PARM_DESC(rounds, "rounds done so far");

static ulong wrong;
module_param(wrong, ulong, 0444);
MODULE_PARM_DESC(wrong, "words that came back other than written");

static ulong moved;
module_param(moved, ulong, 0444);
MODULE_PARM_DESC(moved, "times the window was not where it had been set");

struct gpu {
	struct pci_dev *pdev;
	void __iomem *bar0;
	u32 window;		/* the register */
	u32 base;		/* what it was set to last */
	u32 seed[PLACES];	/* pattern now in memory, 0: none yet */
};

static struct gpu gpu[MAX_GPUS];
static DEFINE_SPINLOCK(window_lock);
static struct task_struct *thread;

static u32 pattern(u32 seed, u32 word)
{
	return (seed * 0x9e3779b1u) ^ (word * 0x85ebca6bu) ^ 0x5eed0000u;
}

static void set_window(struct gpu *g, u32 place)
{
	g->base = (where >> 16) + place;
	iowrite32(g->base, g->bar0 + g->window);
	/* The emulator of a machine turns to its other processor here, where it hurts most. */
	cpu_relax();
}

static void check_window(struct gpu *g)
{
	u32 now = ioread32(g->bar0 + g->window);

	if (now == g->base)
		return;
	if (!moved++)
		pr_info("rival: %s: window is at %#x, was set to %#x\n",
			pci_name(g->pdev), now, g->base);
}

static void check_words(struct gpu *g, u32 place, bool may_yield)
{
	u32 i, got, want;

	for (i = 0; i < WORDS; i++) {
		got = ioread32(g->bar0 + PRAMIN + 4 * i);
		want = pattern(g->seed[place], i);
		if (got != want && !wrong++)
			pr_info("rival: %s: word %u of place %u is %#x, was written as %#x\n",
				pci_name(g->pdev), i, place, got, want);
		if (may_yield)
			cond_resched();
	}
}

static void write_words(struct gpu *g, u32 place, bool may_yield)
{
	u32 i;

	g->seed[place]++;
	for (i = 0; i < WORDS; i++) {
		iowrite32(pattern(g->seed[place], i), g->bar0 + PRAMIN + 4 * i);
		if (may_yield)
			cond_resched();
	}
}

static void round_irqs_off(struct gpu *g, u32 place)
{
	unsigned long flags;

	spin_lock_irqsave(&window_lock, flags);
	set_window(g, place);
	if (g->seed[place])
		check_words(g, place, false);
	write_words(g, place, false);
	check_words(g, place, false);
	check_window(g);
	spin_unlock_irqrestore(&window_lock, flags);
}

static void round_preemptible(struct gpu *g, u32 place, bool set)
{
	if (set)
		set_window(g, place);
	usleep_range(20, 200);
	check_window(g);
	if (g->seed[place])
		check_words(g, place, true);
	write_words(g, place, true);
	usleep_range(20, 200);
	check_words(g, place, true);
	check_window(g);
}

static int rival_thread(void *unused)
{
	while (!kthread_should_stop()) {
		u32 turn = rounds / nr_gpus;
		struct gpu *g = &gpu[rounds % nr_gpus];

		if (manner == 0)
			round_irqs_off(g, turn % PLACES);
		else
			round_preemptible(g, turn / STAY % PLACES, turn % STAY == 0);
		rounds++;
		cond_resched();
	}
	return 0;
}

static void rival_unmap(void)
{
	int i;

	for (i = 0; i < nr_gpus; i++) {
		if (gpu[i].bar0)
			iounmap(gpu[i].bar0);
		pci_dev_put(gpu[i].pdev);
	}
}

static int rival_map(struct gpu *g, const char *name, u32 window)
{
	unsigned int domain, bus, slot, func;

	if (sscanf(name, "%x:%x:%x.%x", &domain, &bus, &slot, &func) != 4)
		return -EINVAL;
	g->pdev = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, func));
	if (!g->pdev)
		return -ENODEV;
	if (pci_enable_device_mem(g->pdev))
		return -EIO;
	g->bar0 = ioremap(pci_resource_start(g->pdev, 0), BAR0_SIZE);
	if (!g->bar0)
		return -ENOMEM;
	g->window = window;
	return 0;
}

static int __init rival_init(void)
{
	int i, err;

	if (!nr_gpus || nr_gpus != nr_windows || where & 0xffff)
		return -EINVAL;
	for (i = 0; i < nr_gpus; i++) {
		err = rival_map(&gpu[i], gpus[i], windows[i]);
		if (err)
			goto unmap;
	}
	thread = kthread_create(rival_thread, NULL, "rival");
	if (IS_ERR(thread)) {
		err = PTR_ERR(thread);
		goto unmap;
	}
	kthread_bind(thread, cpu);
	wake_up_process(thread);
	return 0;
unmap:
	rival_unmap();
	return err;
}

static void __exit rival_exit(void)
{
	kthread_stop(thread);
	rival_unmap();
	pr_info("rival: manner %d: %lu rounds, %lu wrong words, window moved %lu times\n",
		manner, rounds, wrong, moved);
}

module_init(rival_init);
module_exit(rival_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test: a driver that keeps using the PRAMIN window");
