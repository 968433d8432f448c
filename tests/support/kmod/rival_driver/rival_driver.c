// SPDX-License-Identifier: GPL-2.0
/*
 * A test module that schedules work on one GPU as its driver would, all the time, on one
 * processor: it submits lists to two runlists in turn, preempts a TSG and waits for it,
 * and changes channels. It knows nothing of gpulens and takes no notice of it. What it
 * finds other than it left it is counted.
 *
 * manner 0: each sequence of registers with interrupts off, with a pause between them.
 * manner 1: preemptible, and asleep between BASE and RUNLIST of a submit.
 *
 * Registers: open-gpu-doc volta/gv100/dev_fifo.ref.txt (kind 0, as Kepler .. Pascal have
 * them), turing/tu104/dev_fifo.ref.txt (kind 1), ampere/ga100/dev_runlist.ref.txt
 * (kind 2). Never load this on a machine with a real GPU.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/pci.h>

#define BAR0_SIZE	0x1000000

static char *gpu;
module_param(gpu, charp, 0444);
MODULE_PARM_DESC(gpu, "PCI address, e.g. 0000:00:04.0");

static uint kind;
module_param(kind, uint, 0444);
MODULE_PARM_DESC(kind, "0: Kepler to Volta, 1: Turing, 2: Ampere and later");

static uint manner;
module_param(manner, uint, 0444);
MODULE_PARM_DESC(manner, "0: interrupts off, 1: preemptible with pauses");

static uint ids[2];
module_param_array(ids, uint, NULL, 0444);
MODULE_PARM_DESC(ids, "the two runlists");

static uint bases[2];
module_param_array(bases, uint, NULL, 0444);
MODULE_PARM_DESC(bases, "kind 2: where the registers of each begin");

static ulong lists[8];
module_param_array(lists, ulong, NULL, 0444);
MODULE_PARM_DESC(lists, "address in GPU memory and entries of two lists for each runlist");

static uint channels[2];
module_param_array(channels, uint, NULL, 0444);
MODULE_PARM_DESC(channels, "on the first runlist: whose NEXT bit, and which channel's ENABLE bit it changes");

static uint preempt;
module_param(preempt, uint, 0444);
MODULE_PARM_DESC(preempt, "what it writes to PREEMPT");

static bool preempt_runlists;
module_param(preempt_runlists, bool, 0444);
MODULE_PARM_DESC(preempt_runlists, "it preempts the second runlist as well");

static ulong limit;
module_param(limit, ulong, 0444);
MODULE_PARM_DESC(limit, "rounds after which it rests; 0: never");

static int cpu = 1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "processor it runs on");

static ulong rounds;
module_param(rounds, ulong, 0444);
MODULE_PARM_DESC(rounds, "rounds done so far");

static ulong wrong_list;
module_param(wrong_list, ulong, 0444);
MODULE_PARM_DESC(wrong_list, "times a runlist had another list than was submitted last");

static ulong wrong_next;
module_param(wrong_next, ulong, 0444);
MODULE_PARM_DESC(wrong_next, "times a channel's NEXT bit was not as it was left");

static ulong wrong_enable;
module_param(wrong_enable, ulong, 0444);
MODULE_PARM_DESC(wrong_enable, "times a channel's ENABLE bit was not as it was left");

static ulong stuck;
module_param(stuck, ulong, 0444);
MODULE_PARM_DESC(stuck, "times a preempt or a submit stayed pending for a second");

static ulong preempts;
module_param(preempts, ulong, 0444);
MODULE_PARM_DESC(preempts, "preempts asked for");

struct list {
	u64 base;
	u32 length;
};

static struct pci_dev *pdev;
static void __iomem *bar0;
static struct task_struct *thread;
static struct list now[2];		/* of each runlist: submitted last; no length: none yet */
static bool next_bit, enabled = true;

static u32 rd(u32 off)
{
	return ioread32(bar0 + off);
}

static void wr(u32 off, u32 val)
{
	iowrite32(val, bar0 + off);
}

static unsigned long begin(void)
{
	unsigned long flags = 0;

	if (!manner)
		local_irq_save(flags);
	return flags;
}

static void end(unsigned long flags)
{
	if (!manner)
		local_irq_restore(flags);
}

/* Between two registers. The emulator of a machine turns to its other processor here. */
static void pause(void)
{
	if (manner)
		usleep_range(50, 200);
	else
		cpu_relax();
}

static void wait_clear(u32 off, u32 mask)
{
	unsigned long end_of_wait = jiffies + HZ;

	while (rd(off) & mask) {
		if (time_after(jiffies, end_of_wait)) {
			stuck++;
			return;
		}
		cpu_relax();
		cond_resched();
	}
}

/* Registers of runlist n: NV_PFIFO_RUNLIST_BASE_LO(i), or NV_RUNLIST_SUBMIT_BASE_LO and so on. */
static u32 submit_block(u32 n)
{
	return kind == 1 ? 0x2b00 + 16 * ids[n] : bases[n] + 0x80;
}

static bool is_list(u32 n, struct list l)
{
	u32 at = submit_block(n);

	if (!kind)	/* NV_PFIFO_ENG_RUNLIST_BASE(i) PTR 27:0; ENG_RUNLIST(i) LENGTH 15:0 */
		return (u64)(rd(0x2280 + 8 * ids[n]) & 0xfffffff) << 12 == l.base &&
		       (rd(0x2284 + 8 * ids[n]) & 0xffff) == l.length;
	return rd(at) == (u32)l.base && rd(at + 4) == l.base >> 32 &&
	       (rd(at + 8) & 0xffff) == l.length;
}

static void check_list(u32 n)
{
	if (now[n].length && !is_list(n, now[n]) && !wrong_list++)
		pr_info("rival_driver: runlist %u has another list than %u entries at %#llx\n",
			ids[n], now[n].length, now[n].base);
}

static void submit(u32 n, struct list l)
{
	u32 at = submit_block(n);
	unsigned long flags = begin();

	check_list(n);
	if (!kind) {	/* NV_PFIFO_RUNLIST_BASE, NV_PFIFO_RUNLIST: LENGTH 15:0, ID 23:20 */
		wr(0x2270, l.base >> 12);
		pause();
		wr(0x2274, l.length | ids[n] << 20);
	} else {
		wr(at, l.base);
		wr(at + 4, l.base >> 32);
		pause();
		wr(at + 8, l.length);
	}
	now[n] = l;
	check_list(n);
	end(flags);
	if (!kind)	/* NV_PFIFO_ENG_RUNLIST_PENDING */
		wait_clear(0x2284 + 8 * ids[n], 1 << 20);
	else		/* SUBMIT_INFO_PENDING */
		wait_clear(at + 12, 1 << 15);
	check_list(0);
	check_list(1);
}

/* A preempt that another asked for is not written over: the driver has one at a time. */
static void preempt_and_wait(u32 off, u32 val, u32 pending)
{
	unsigned long flags = begin();
	bool free = !(rd(off) & pending);

	if (free) {
		wr(off, val);
		preempts++;
	}
	end(flags);
	wait_clear(off, pending);
}

static void preempt_something(void)
{
	unsigned long flags;
	u32 v;

	if (kind < 2)	/* NV_PFIFO_PREEMPT_PENDING */
		preempt_and_wait(0x2634, preempt, 1 << 20);
	else		/* NV_RUNLIST_PREEMPT: TSG_PREEMPT_PENDING, RUNLIST_PREEMPT_PENDING */
		preempt_and_wait(bases[0] + 0x98, preempt, 3 << 20);
	if (!preempt_runlists)
		return;
	if (kind == 2) {
		preempt_and_wait(bases[1] + 0x98, 0, 3 << 20);
		return;
	}
	flags = begin();
	v = rd(0x2638);		/* NV_PFIFO_RUNLIST_PREEMPT: a bit each */
	pause();
	wr(0x2638, v | 1 << ids[1]);
	end(flags);
}

/* NV_PCCSR_CHANNEL: NEXT 1, ENABLE_SET 10, ENABLE_CLR 11; faults 22, 23 are cleared by ones. */
static void change_pccsr(void)
{
	u32 off = 0x800004 + 8 * channels[0], v;
	unsigned long flags = begin();

	v = rd(off);
	if (!!(v & 1 << 1) != next_bit && !wrong_next++)
		pr_info("rival_driver: channel %u is %#x, NEXT was %d\n", channels[0], v, next_bit);
	next_bit = !next_bit;
	pause();
	wr(off, (v & ~(3 << 22 | 1 << 1)) | next_bit << 1);
	end(flags);

	off = 0x800004 + 8 * channels[1];
	flags = begin();
	v = rd(off);
	if ((v & 1) != enabled && !wrong_enable++)
		pr_info("rival_driver: channel %u is %#x\n", channels[1], v);
	enabled = !enabled;
	pause();
	wr(off, (v & ~(3 << 22)) | (enabled ? 1 << 10 : 1 << 11));
	end(flags);
}

/* NV_CHRAM_CHANNEL: bit 0 of what is written says whether ones clear; ENABLE 1, NEXT 2. */
static void change_chram(void)
{
	u32 chram = rd(bases[0] + 4) & ~0xf, off = chram + 4 * channels[0], v;

	v = rd(off);
	if (!!(v & 1 << 2) != next_bit && !wrong_next++)
		pr_info("rival_driver: channel %u is %#x, NEXT was %d\n", channels[0], v, next_bit);
	next_bit = !next_bit;
	wr(off, 1 << 2 | (next_bit ? 0 : 1));

	off = chram + 4 * channels[1];
	v = rd(off);
	if (!!(v & 1 << 1) != enabled && !wrong_enable++)
		pr_info("rival_driver: channel %u is %#x\n", channels[1], v);
	enabled = !enabled;
	wr(off, 1 << 1 | (enabled ? 0 : 1));
}

static int rival_thread(void *unused)
{
	u32 which;

	while (!kthread_should_stop()) {
		if (limit && rounds >= limit) {
			msleep(20);
			continue;
		}
		which = 2 * (rounds & 1);	/* of the two lists of each runlist, in turn */
		submit(0, (struct list){ lists[which], lists[which + 1] });
		submit(1, (struct list){ lists[4 + which], lists[5 + which] });
		preempt_something();
		if (kind < 2)
			change_pccsr();
		else
			change_chram();
		rounds++;
		/* Now and then a list stays for a while, as it does of real work. */
		if (rounds % 16)
			cond_resched();
		else
			msleep(20);
	}
	return 0;
}

static int __init rival_init(void)
{
	unsigned int domain, bus, slot, func;
	int err = -ENOMEM;

	if (!gpu || kind > 2 || sscanf(gpu, "%x:%x:%x.%x", &domain, &bus, &slot, &func) != 4)
		return -EINVAL;
	pdev = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, func));
	if (!pdev)
		return -ENODEV;
	bar0 = ioremap(pci_resource_start(pdev, 0), BAR0_SIZE);
	if (!bar0)
		goto put;
	thread = kthread_create(rival_thread, NULL, "rival_driver");
	if (IS_ERR(thread)) {
		err = PTR_ERR(thread);
		goto unmap;
	}
	kthread_bind(thread, cpu);
	wake_up_process(thread);
	return 0;
unmap:
	iounmap(bar0);
put:
	pci_dev_put(pdev);
	return err;
}

static void __exit rival_exit(void)
{
	kthread_stop(thread);
	iounmap(bar0);
	pci_dev_put(pdev);
}

module_init(rival_init);
module_exit(rival_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test: a driver that keeps scheduling work on a GPU");
