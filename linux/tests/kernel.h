/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the kernel that engine, facts, queues, segments and log need, for tests in user
 * space. The Makefile creates headers with the kernel's names that include this one.
 */
#ifndef PLAIT_TEST_KERNEL_H
#define PLAIT_TEST_KERNEL_H

#include "../schedulers/user.h"

typedef __s16 s16;
typedef __s32 s32;

#define U8_MAX			0xff
#define __aligned(n)		__attribute__((aligned(n)))
#define __user
#define __init
#define __exit
#define __used			__attribute__((used))
#define ALIGN(value, to)	(((value) + (to) - 1) / (to) * (to))
#define ULONG_MAX		(~0UL)
#define INT_MAX			0x7fffffff
#define BITS_PER_BYTE		8
#define USEC_PER_SEC		1000000L
#define NSEC_PER_USEC		1000L
#define NSEC_PER_MSEC		1000000L

#define min3(a, b, c)		min(min(a, b), c)
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define BUILD_BUG_ON(condition)	static_assert(!(condition), #condition)
#define smp_load_acquire(ptr)	__atomic_load_n(ptr, __ATOMIC_ACQUIRE)
#define smp_store_release(ptr, value)	__atomic_store_n(ptr, value, __ATOMIC_RELEASE)

/* linux/list.h */
struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline void list_add(struct list_head *entry, struct list_head *after)
{
	entry->prev = after;
	entry->next = after->next;
	after->next->prev = entry;
	after->next = entry;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *before)
{
	list_add(entry, before->prev);
}

/* A second call for the same entry fails. */
static inline void list_del(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	entry->next = NULL;
	entry->prev = NULL;
}

#define list_empty(list)		((list)->next == (list))
#define list_is_first(entry, list)	((entry)->prev == (list))
#define list_is_last(entry, list)	((entry)->next == (list))
#define list_entry(ptr, type, member)	container_of(ptr, type, member)
#define list_first_entry(list, type, member)	list_entry((list)->next, type, member)
#define list_last_entry(list, type, member)	list_entry((list)->prev, type, member)
#define list_first_entry_or_null(list, type, member) \
	(list_empty(list) ? NULL : list_first_entry(list, type, member))
#define list_next_entry(entry, member)	list_entry((entry)->member.next, typeof(*(entry)), member)
#define list_prev_entry(entry, member)	list_entry((entry)->member.prev, typeof(*(entry)), member)
#define list_for_each_entry(entry, list, member)				\
	for ((entry) = list_first_entry(list, typeof(*(entry)), member);	\
	     &(entry)->member != (list); (entry) = list_next_entry(entry, member))

/* linux/slab.h: memory that runs out when a test requires it (memory.c). */
#define GFP_ATOMIC	0
#define GFP_KERNEL	0
#define __GFP_NOWARN	0

extern unsigned long memory_live;	/* allocations that were not freed */
extern unsigned long memory_failed;	/* allocations that failed */
extern unsigned int memory_fail_each;	/* every n-th fails; 1: all, 0: none */

void *kmalloc(size_t size, int flags);
void *kzalloc(size_t size, int flags);
void kfree(const void *memory);
#define kvmalloc(size, flags)	kmalloc(size, flags)
#define kvfree(memory)		kfree(memory)

/* linux/rcupdate.h: there are no concurrent readers here. */
struct rcu_head {
	int unused;
};

#define kfree_rcu(memory, member)	kfree(memory)
#define synchronize_rcu()		do { } while (0)
#define rcu_read_lock()			do { } while (0)
#define rcu_read_unlock()		do { } while (0)

/* linux/spinlock.h: checks that a lock is not taken twice, and counts the calls. */
typedef struct {
	bool held;
} spinlock_t;

extern unsigned long locks_taken;

#define DEFINE_SPINLOCK(name)	spinlock_t name

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->held = false;
}

static inline void spin_lock_bh(spinlock_t *lock)
{
	assert(!lock->held);
	lock->held = true;
	locks_taken++;
}

static inline void spin_unlock_bh(spinlock_t *lock)
{
	assert(lock->held);
	lock->held = false;
}

/* linux/module.h */
#define THIS_MODULE		NULL
#define module_init(function)	int module_init_##function(void) { return function(); }
#define module_exit(function)	void module_exit_##function(void) { function(); }
/* Tests write arrays themselves. */
#define module_param_array_named(...)	static_assert(true, "")
#define MODULE_PARM_DESC(...)	static_assert(true, "")
#define MODULE_LICENSE(...)	static_assert(true, "")
#define MODULE_DESCRIPTION(...)	static_assert(true, "")
#define MODULE_VERSION(...)	static_assert(true, "")

#define div_s64(dividend, divisor)	((s64)(dividend) / (divisor))

static inline ssize_t strscpy(char *to, const char *from, size_t size)
{
	return snprintf(to, size, "%s", from);
}

/* The clock of the test. */
extern u64 test_now;

#define ktime_get_ns()			test_now
#define jiffies_to_usecs(jiffies)	((jiffies) * 1000)

#endif
