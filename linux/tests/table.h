/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/rhashtable.h: a list, and insertions that find no memory when a test requires it. */
#ifndef PLAIT_TEST_TABLE_H
#define PLAIT_TEST_TABLE_H

#include "kernel.h"

struct rhash_head {
	struct rhash_head *next;
};

struct rhashtable_params {
	size_t	key_len, key_offset, head_offset;
	bool	automatic_shrinking;
};

struct rhashtable {
	struct rhash_head *first;
};

struct rhashtable_iter {
	struct rhash_head *next;
	size_t	head_offset;
};

static inline int rhashtable_init(struct rhashtable *table, const struct rhashtable_params *params)
{
	table->first = NULL;
	return 0;
}

static inline void rhashtable_destroy(struct rhashtable *table)
{
	assert(!table->first);
}

static inline void *rhashtable_lookup_fast(struct rhashtable *table, const void *key,
					   const struct rhashtable_params params)
{
	for (struct rhash_head *at = table->first; at; at = at->next) {
		char *entry = (char *)at - params.head_offset;

		if (!memcmp(entry + params.key_offset, key, params.key_len))
			return entry;
	}
	return NULL;
}

static inline int rhashtable_insert_fast(struct rhashtable *table, struct rhash_head *head,
					 const struct rhashtable_params params)
{
	void *memory = kmalloc(1, GFP_ATOMIC);

	if (!memory)
		return -ENOMEM;
	kfree(memory);
	head->next = table->first;
	table->first = head;
	return 0;
}

static inline int rhashtable_remove_fast(struct rhashtable *table, struct rhash_head *head,
					 const struct rhashtable_params params)
{
	struct rhash_head **at = &table->first;

	while (*at != head)
		at = &(*at)->next;
	*at = head->next;
	return 0;
}

#define rhashtable_walk_enter(table, iter) \
	(*(iter) = (struct rhashtable_iter) { (table)->first, parameters.head_offset })
#define rhashtable_walk_start(iter)	((void)(iter))
#define rhashtable_walk_stop(iter)	((void)(iter))
#define rhashtable_walk_exit(iter)	((void)(iter))
#define IS_ERR(pointer)			((void)(pointer), false)

static inline void *rhashtable_walk_next(struct rhashtable_iter *iter)
{
	struct rhash_head *at = iter->next;

	if (!at)
		return NULL;
	iter->next = at->next;
	return (char *)at - iter->head_offset;
}

#endif
