// SPDX-License-Identifier: GPL-2.0-only
/* The data queue and the path queues, as ascending lists of ranges. */
#include <linux/minmax.h>
#include <linux/slab.h>

#include "queues.h"

struct range {
	struct list_head node;
	u64	start;
	u64	end;
};

static void queue_init(struct plait_queue *queue)
{
	INIT_LIST_HEAD(&queue->ranges);
	queue->bytes = 0;
}

static struct range *first_range(struct plait_queue *queue)
{
	return list_first_entry_or_null(&queue->ranges, struct range, node);
}

static void drop(struct plait_queue *queue, struct range *range)
{
	queue->bytes -= range->end - range->start;
	list_del(&range->node);
	kfree(range);
}

static void cut_below(struct plait_queue *queue, u64 first)
{
	struct range *range, *next;

	list_for_each_entry_safe(range, next, &queue->ranges, node) {
		if (range->start >= first)
			return;
		if (range->end > first) {
			queue->bytes -= first - range->start;
			range->start = first;
			return;
		}
		drop(queue, range);
	}
}

/* Puts a range into its place, and together with those that it touches. */
static int insert(struct plait_queue *queue, u64 start, u64 end)
{
	struct list_head *before = &queue->ranges;
	struct range *range, *next;

	list_for_each_entry_safe_reverse(range, next, &queue->ranges, node) {
		if (range->end < start) {
			before = &range->node;
			break;
		}
		if (range->start > end)
			continue;
		start = min(start, range->start);
		end = max(end, range->end);
		drop(queue, range);
	}
	range = kmalloc(sizeof(*range), GFP_ATOMIC);
	if (!range)
		return -ENOMEM;
	range->start = start;
	range->end = end;
	list_add(&range->node, before);
	queue->bytes += end - start;
	return 0;
}

void plait_queues_init(struct plait_queues *queues, u64 next)
{
	unsigned int i;

	queues->next = next;
	queue_init(&queues->recalled);
	for (i = 0; i < PLAIT_PATHS_MAX; i++)
		queue_init(&queues->paths[i]);
}

void plait_queues_free(struct plait_queues *queues)
{
	plait_acknowledged(queues, U64_MAX);
}

u64 plait_unassigned(const struct plait_queues *queues, u64 end)
{
	return queues->recalled.bytes + (end - queues->next);
}

u64 plait_next(struct plait_queues *queues)
{
	struct range *range = first_range(&queues->recalled);

	return range ? range->start : queues->next;
}

int plait_enqueue(struct plait_queues *queues, unsigned int path, u64 bytes, u64 end)
{
	struct plait_queue *queue = &queues->paths[path];
	struct range *range;
	u64 part;

	while (bytes && (range = first_range(&queues->recalled))) {
		part = min(bytes, range->end - range->start);
		if (insert(queue, range->start, range->start + part))
			return -ENOMEM;
		bytes -= part;
		cut_below(&queues->recalled, range->start + part);
	}
	part = min(bytes, end - queues->next);
	if (!part)
		return 0;
	if (insert(queue, queues->next, queues->next + part))
		return -ENOMEM;
	queues->next += part;
	return 0;
}

void plait_requeue(struct plait_queues *queues, unsigned int path)
{
	struct range *range;

	while ((range = first_range(&queues->paths[path]))) {
		/* Without memory it stays where it is. */
		if (insert(&queues->recalled, range->start, range->end))
			return;
		drop(&queues->paths[path], range);
	}
}

void plait_requeue_all(struct plait_queues *queues, u64 first)
{
	unsigned int i;

	for (i = 0; i < PLAIT_PATHS_MAX; i++)
		cut_below(&queues->paths[i], U64_MAX);
	cut_below(&queues->recalled, U64_MAX);
	if (first < queues->next && insert(&queues->recalled, first, queues->next))
		queues->next = first;
}

bool plait_first_range(struct plait_queues *queues, unsigned int path, u64 *start, u64 *end)
{
	struct range *range = first_range(&queues->paths[path]);

	if (!range)
		return false;
	*start = range->start;
	*end = range->end;
	return true;
}

void plait_dequeue(struct plait_queues *queues, unsigned int path, u64 first)
{
	cut_below(&queues->paths[path], first);
}

void plait_acknowledged(struct plait_queues *queues, u64 first)
{
	unsigned int i;

	cut_below(&queues->recalled, first);
	for (i = 0; i < PLAIT_PATHS_MAX; i++)
		cut_below(&queues->paths[i], first);
}

u64 plait_backlog(const struct plait_queues *queues)
{
	u64 bytes = 0;
	unsigned int i;

	for (i = 0; i < PLAIT_PATHS_MAX; i++)
		bytes += queues->paths[i].bytes;
	return bytes;
}
