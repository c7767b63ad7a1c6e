// SPDX-License-Identifier: GPL-2.0-only
/* The data queue, the path queues and the data that paths carry, as ascending lists of ranges. */
#include <linux/minmax.h>
#include <linux/slab.h>

#include "queues.h"

/* Tests count the steps of searches. */
#ifndef PLAIT_STEP
#define PLAIT_STEP()	do { } while (0)
#endif

static void queue_init(struct plait_queue *queue)
{
	INIT_LIST_HEAD(&queue->ranges);
	queue->place = NULL;
	queue->bytes = 0;
}

static bool is_reserve(const struct plait_queues *queues, const struct plait_range *range)
{
	return range >= queues->reserve && range < queues->reserve + ARRAY_SIZE(queues->reserve);
}

static struct plait_range *from_reserve(struct plait_queues *queues)
{
	struct plait_range *range;

	range = list_first_entry_or_null(&queues->spare, struct plait_range, node);
	if (range)
		list_del(&range->node);
	return range;
}

static void give_back(struct plait_queues *queues, struct plait_range *range)
{
	if (is_reserve(queues, range))
		list_add(&range->node, &queues->spare);
	else
		kfree(range);
}

static struct plait_range *first_range(const struct plait_queue *queue)
{
	if (list_empty(&queue->ranges))
		return NULL;
	return list_first_entry(&queue->ranges, struct plait_range, node);
}

/* The range after this one, or the first one after NULL. */
static struct plait_range *following(const struct plait_queue *queue, struct plait_range *range)
{
	if (!range)
		return first_range(queue);
	return list_is_last(&range->node, &queue->ranges) ? NULL : list_next_entry(range, node);
}

static struct plait_range *preceding(const struct plait_queue *queue, struct plait_range *range)
{
	return list_is_first(&range->node, &queue->ranges) ? NULL : list_prev_entry(range, node);
}

/* The last range that begins at the byte or before it; NULL if there is none. Most bytes come in
 * ascending order, so it is near the end of the last search.
 */
static struct plait_range *at_or_before(struct plait_queue *queue, u64 byte)
{
	struct plait_range *range = queue->place, *next;

	if (!range && !list_empty(&queue->ranges))
		range = list_last_entry(&queue->ranges, struct plait_range, node);
	while (range && range->start > byte) {
		PLAIT_STEP();
		range = preceding(queue, range);
	}
	while ((next = following(queue, range)) && next->start <= byte) {
		PLAIT_STEP();
		range = next;
	}
	queue->place = range ? range : first_range(queue);
	return range;
}

static void take_out(struct plait_queue *queue, struct plait_range *range)
{
	if (queue->place == range)
		queue->place = preceding(queue, range);
	queue->bytes -= range->end - range->start;
	list_del(&range->node);
}

static void drop(struct plait_queues *queues, struct plait_queue *queue,
		 struct plait_range *range)
{
	take_out(queue, range);
	give_back(queues, range);
}

static void empty(struct plait_queues *queues, struct plait_queue *queue)
{
	struct plait_range *range;

	while ((range = first_range(queue)))
		drop(queues, queue, range);
}

static void cut_below(struct plait_queues *queues, struct plait_queue *queue, u64 first)
{
	struct plait_range *range;

	while ((range = first_range(queue)) && range->end <= first)
		drop(queues, queue, range);
	if (range && range->start < first) {
		queue->bytes -= first - range->start;
		range->start = first;
	}
}

/* Extends a range of the queue up to end, and merges the ranges that it touches. */
static void grow(struct plait_queues *queues, struct plait_queue *queue,
		 struct plait_range *range, u64 end)
{
	struct plait_range *next;

	while ((next = following(queue, range)) && next->start <= end) {
		end = max(end, next->end);
		drop(queues, queue, next);
	}
	if (end > range->end) {
		queue->bytes += end - range->end;
		range->end = end;
	}
	queue->place = range;
}

/* Puts a range that is in no queue into its place, and merges the ranges that it touches. */
static void adopt(struct plait_queues *queues, struct plait_queue *queue,
		  struct plait_range *range)
{
	struct plait_range *before = at_or_before(queue, range->start);
	u64 end = range->end;

	if (before && before->end >= range->start) {
		give_back(queues, range);
		range = before;
	} else {
		list_add(&range->node, before ? &before->node : &queue->ranges);
		queue->bytes += range->end - range->start;
	}
	grow(queues, queue, range, end);
}

/* Puts bytes into their place, if an existing range can take them. */
static bool extend(struct plait_queues *queues, struct plait_queue *queue, u64 start, u64 end)
{
	struct plait_range *range = at_or_before(queue, start);

	if (!range || range->end < start) {
		range = following(queue, range);
		if (!range || range->start > end)
			return false;
		queue->bytes += range->start - start;
		range->start = start;
	}
	grow(queues, queue, range, end);
	return true;
}

static bool insert(struct plait_queues *queues, struct plait_queue *queue, u64 start, u64 end,
		   bool important)
{
	struct plait_range *range;

	if (extend(queues, queue, start, end))
		return true;
	range = kmalloc(sizeof(*range), GFP_ATOMIC | __GFP_NOWARN);
	if (!range && important)
		range = from_reserve(queues);
	if (!range)
		return false;
	range->start = start;
	range->end = end;
	adopt(queues, queue, range);
	return true;
}

void plait_queues_init(struct plait_queues *queues, u64 next)
{
	unsigned int i;

	queues->next = next;
	queue_init(&queues->recalled);
	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		queue_init(&queues->paths[i]);
		queue_init(&queues->carried[i]);
	}
	INIT_LIST_HEAD(&queues->spare);
	for (i = 0; i < ARRAY_SIZE(queues->reserve); i++)
		list_add(&queues->reserve[i].node, &queues->spare);
}

void plait_queues_free(struct plait_queues *queues)
{
	unsigned int i;

	empty(queues, &queues->recalled);
	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		empty(queues, &queues->paths[i]);
		empty(queues, &queues->carried[i]);
	}
}

u64 plait_unassigned(const struct plait_queues *queues, u64 end)
{
	return queues->recalled.bytes + (end - queues->next);
}

u64 plait_next(const struct plait_queues *queues)
{
	const struct plait_range *range = first_range(&queues->recalled);

	return range ? range->start : queues->next;
}

u64 plait_first_unsent(const struct plait_queues *queues)
{
	u64 first = plait_next(queues);
	unsigned int i;

	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		const struct plait_range *range = first_range(&queues->paths[i]);

		if (range)
			first = min(first, range->start);
	}
	return first;
}

int plait_enqueue(struct plait_queues *queues, unsigned int path, u64 bytes, u64 end)
{
	struct plait_queue *queue = &queues->paths[path];
	struct plait_range *range;
	u64 part;

	while (bytes && (range = first_range(&queues->recalled))) {
		part = min(bytes, range->end - range->start);
		if (part < range->end - range->start &&
		    insert(queues, queue, range->start, range->start + part, true)) {
			cut_below(queues, &queues->recalled, range->start + part);
			return 0;
		}
		/* The whole range, as requested, or because it cannot be split. */
		take_out(&queues->recalled, range);
		adopt(queues, queue, range);
		bytes -= part;
	}
	part = min(bytes, end - queues->next);
	if (!part)
		return 0;
	if (!insert(queues, queue, queues->next, queues->next + part, true))
		return -ENOMEM;
	queues->next += part;
	return 0;
}

void plait_requeue(struct plait_queues *queues, unsigned int path)
{
	struct plait_queue *queue = &queues->paths[path];
	struct plait_range *range;

	/* One pass over both queues: each range goes behind the previous one. */
	queues->recalled.place = first_range(&queues->recalled);
	while ((range = first_range(queue))) {
		take_out(queue, range);
		adopt(queues, &queues->recalled, range);
	}
}

void plait_requeue_all(struct plait_queues *queues, u64 first)
{
	unsigned int i;

	for (i = 0; i < PLAIT_PATHS_MAX; i++)
		empty(queues, &queues->paths[i]);
	empty(queues, &queues->recalled);
	queues->next = min(queues->next, first);
}

bool plait_first_range(const struct plait_queues *queues, unsigned int path, u64 *start,
		       u64 *end)
{
	const struct plait_range *range = first_range(&queues->paths[path]);

	if (!range)
		return false;
	*start = range->start;
	*end = range->end;
	return true;
}

void plait_dequeue(struct plait_queues *queues, unsigned int path, u64 first)
{
	cut_below(queues, &queues->paths[path], first);
}

void plait_acknowledged(struct plait_queues *queues, u64 first)
{
	unsigned int i;

	cut_below(queues, &queues->recalled, first);
	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		cut_below(queues, &queues->paths[i], first);
		cut_below(queues, &queues->carried[i], first);
	}
	/* Data that was to be sent again may have arrived meanwhile. */
	queues->next = max(queues->next, first);
}

u64 plait_backlog(const struct plait_queues *queues)
{
	u64 bytes = 0;
	unsigned int i;

	for (i = 0; i < PLAIT_PATHS_MAX; i++)
		bytes += queues->paths[i].bytes;
	return bytes;
}

void plait_carry(struct plait_queues *queues, unsigned int path, u64 start, u64 end)
{
	insert(queues, &queues->carried[path], start, end, false);
}

bool plait_carries(struct plait_queues *queues, unsigned int path, u64 byte)
{
	const struct plait_range *range = at_or_before(&queues->carried[path], byte);

	return range && byte < range->end;
}

u64 plait_first_uncarried(struct plait_queues *queues, unsigned int path, u64 byte)
{
	const struct plait_range *range = at_or_before(&queues->carried[path], byte);

	/* Ranges do not touch each other. */
	return range && byte < range->end ? range->end : byte;
}

void plait_put_down(struct plait_queues *queues, unsigned int path)
{
	empty(queues, &queues->carried[path]);
}
