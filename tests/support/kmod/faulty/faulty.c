// SPDX-License-Identifier: GPL-2.0
/*
 * A test module with one fault on request, for each detector of a debug kernel:
 * that its complaint is seen is what makes silence about gpulens mean something.
 * Loading it does the fault; nothing else here is wrong.
 */
#include <linux/compiler.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *fault = "none";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "which one: beyond, freed, index, shift, leak, atomic, order, rcu, hung, warning, race");

static uint runs = 20000;
module_param(runs, uint, 0444);
MODULE_PARM_DESC(runs, "race: how often each of the two threads counts (default 20000)");

static u32 sink;

/* KASAN: one word behind what was allocated. */
static int do_beyond(void)
{
	u32 *words = kcalloc(4, sizeof(*words), GFP_KERNEL);
	u32 at = 4;

	if (!words)
		return -ENOMEM;
	OPTIMIZER_HIDE_VAR(at);
	sink = READ_ONCE(words[at]);
	kfree(words);
	return 0;
}

/* KASAN: what was given back. */
static int do_freed(void)
{
	u32 *words = kcalloc(4, sizeof(*words), GFP_KERNEL), *kept = words;

	if (!words)
		return -ENOMEM;
	OPTIMIZER_HIDE_VAR(kept);
	kfree(words);
	sink = READ_ONCE(*kept);
	return 0;
}

/* UBSAN: behind the end of an array, though still in the struct. */
static int do_index(void)
{
	struct {
		u32 words[4];
		u32 more[4];
	} both = {};
	u32 at = 5;

	OPTIMIZER_HIDE_VAR(at);
	sink = both.words[at];
	return 0;
}

/* UBSAN: further than the type is wide. */
static int do_shift(void)
{
	u32 by = 40;

	OPTIMIZER_HIDE_VAR(by);
	sink = 1U << by;
	return 0;
}

/* kmemleak: nothing points to it any more. */
static int do_leak(void)
{
	void *lost = kmalloc(100, GFP_KERNEL);

	if (!lost)
		return -ENOMEM;
	memset(lost, 0x5a, 100);
	OPTIMIZER_HIDE_VAR(lost);
	return 0;
}

/* DEBUG_ATOMIC_SLEEP: with a spinlock held. */
static int do_atomic(void)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
	return 0;
}

/* lockdep: two locks in both orders, though nobody waits here. */
static int do_order(void)
{
	static DEFINE_MUTEX(first);
	static DEFINE_MUTEX(second);

	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
	return 0;
}

/* RCU: a pointer followed where it may go away. */
static int do_rcu(void)
{
	static u32 __rcu *word;

	sink = rcu_dereference(word) ? 1 : 0;
	return 0;
}

/* The watch over hung tasks: 12 s in which not even a signal ends it. */
static int do_hung(void)
{
	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_timeout(12 * HZ);
	return 0;
}

static int do_warning(void)
{
	WARN(1, "faulty: a warning\n");
	return 0;
}

/* KCSAN: two threads count in the same word. */
static u32 counted;

static int count(void *unused)
{
	u32 i;

	for (i = 0; i < runs; i++) {
		counted++;
		cond_resched();
	}
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static int do_race(void)
{
	struct task_struct *both[2] = {};
	int i, err = 0;

	for (i = 0; i < 2 && !err; i++) {
		both[i] = kthread_run(count, NULL, "faulty/%d", i);
		if (IS_ERR(both[i]))
			err = PTR_ERR(both[i]);
	}
	for (i = 0; i < 2; i++)
		if (!IS_ERR_OR_NULL(both[i]))
			kthread_stop(both[i]);
	return err;
}

static const struct {
	const char *name;
	int (*run)(void);
} faults[] = {
	{ "beyond", do_beyond },
	{ "freed", do_freed },
	{ "index", do_index },
	{ "shift", do_shift },
	{ "leak", do_leak },
	{ "atomic", do_atomic },
	{ "order", do_order },
	{ "rcu", do_rcu },
	{ "hung", do_hung },
	{ "warning", do_warning },
	{ "race", do_race },
};

static int __init faulty_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++)
		if (!strcmp(fault, faults[i].name))
			return faults[i].run();
	return -EINVAL;
}
module_init(faulty_init);

static void __exit faulty_exit(void)
{
}
module_exit(faulty_exit);

MODULE_DESCRIPTION("Faults for tests of a debug kernel");
MODULE_LICENSE("GPL");
