/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers that are the same in every run (SplitMix64), and a check that prints its place. */
#ifndef PLAIT_TEST_RANDOM_H
#define PLAIT_TEST_RANDOM_H

#include "kernel.h"

/* memory.c */
extern u64 random_state;
extern char test_case[128];	/* printed when a check fails */

static inline u64 random_next(void)
{
	u64 z = (random_state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* A number less than bound. */
static inline u32 random_below(u32 bound)
{
	return random_next() % bound;
}

#define check(condition) do {							\
	if (!(condition)) {							\
		fprintf(stderr, "%s:%d: %s: not %s\n", __FILE__, __LINE__, test_case, #condition); \
		exit(1);							\
	}									\
} while (0)

#endif
