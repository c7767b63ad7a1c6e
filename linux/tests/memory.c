// SPDX-License-Identifier: GPL-2.0-only
/* Allocations that fail, counters, and the state of the random numbers. */
#include "random.h"

unsigned long memory_live, memory_failed, locks_taken;
unsigned int memory_fail_each;
static unsigned int memory_turn;
u64 test_now, random_state;
char test_case[128];

void *kmalloc(size_t size, int flags)
{
	if (memory_fail_each && ++memory_turn % memory_fail_each == 0) {
		memory_failed++;
		return NULL;
	}
	memory_live++;
	return malloc(size);
}

void *kzalloc(size_t size, int flags)
{
	void *memory = kmalloc(size, flags);

	return memory ? memset(memory, 0, size) : NULL;
}

void kfree(const void *memory)
{
	memory_live -= memory != NULL;
	free((void *)memory);
}
