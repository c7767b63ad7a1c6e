// SPDX-License-Identifier: GPL-2.0-only
/* The numbers of segments, as a list of runs. */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "segments.h"

static struct plait_run *first_run(const struct plait_segments *segments)
{
	return list_first_entry(&segments->runs, struct plait_run, node);
}

static struct plait_run *last_run(const struct plait_segments *segments)
{
	return list_last_entry(&segments->runs, struct plait_run, node);
}

static bool is_last(const struct plait_segments *segments, const struct plait_run *run)
{
	return list_is_last(&run->node, &segments->runs);
}

static u64 end_number(const struct plait_segments *segments, const struct plait_run *run)
{
	return is_last(segments, run) ? segments->next : list_next_entry(run, node)->number;
}

static u64 end_byte(const struct plait_segments *segments, const struct plait_run *run)
{
	return is_last(segments, run) ? segments->end : list_next_entry(run, node)->start;
}

void plait_segments_init(struct plait_segments *segments, u64 start)
{
	segments->next = 0;
	segments->end = start;
	segments->first = (struct plait_run) { .start = start };
	INIT_LIST_HEAD(&segments->runs);
	list_add(&segments->first.node, &segments->runs);
}

static void drop(struct plait_segments *segments, struct plait_run *run)
{
	list_del(&run->node);
	if (run != &segments->first)
		kfree(run);
}

void plait_segments_free(struct plait_segments *segments)
{
	while (!list_empty(&segments->runs))
		drop(segments, first_run(segments));
}

/* True if the last run can continue with segments of this size. */
static bool goes_on(const struct plait_segments *segments, const struct plait_run *run, u64 size)
{
	return run->size == size &&
	       segments->end - run->start == (segments->next - run->number) * size;
}

static bool begin_run(struct plait_segments *segments, u64 size)
{
	struct plait_run *run = last_run(segments);

	if (goes_on(segments, run, size))
		return true;
	if (segments->next != run->number) {
		run = kmalloc(sizeof(*run), GFP_ATOMIC | __GFP_NOWARN);
		if (!run)
			return false;
		list_add_tail(&run->node, &segments->runs);
	}
	run->number = segments->next;
	run->start = segments->end;
	run->size = size;
	return true;
}

static void number(struct plait_segments *segments, u64 count, u64 size)
{
	if (count && begin_run(segments, size))
		segments->next += count;
	segments->end += count * size;
}

void plait_segments_number(struct plait_segments *segments, u64 end, u32 size)
{
	u64 whole;
	u32 rest;

	if (end <= segments->end)
		return;
	whole = div_u64_rem(end - segments->end, size, &rest);
	number(segments, whole, size);
	number(segments, rest > 0, rest);
}

void plait_segments_forget(struct plait_segments *segments, u64 below)
{
	struct plait_run *run;

	while (run = first_run(segments), !is_last(segments, run)) {
		if (end_byte(segments, run) > below)
			break;
		drop(segments, run);
	}
}

/* The last run that begins at the byte or before it, or the first one. */
static const struct plait_run *run_at(const struct plait_segments *segments, u64 byte)
{
	const struct plait_run *run = first_run(segments);

	/* Search from the nearer end. */
	if (byte < run->start || byte - run->start < (segments->end - run->start) / 2) {
		while (!is_last(segments, run) && list_next_entry(run, node)->start <= byte)
			run = list_next_entry(run, node);
		return run;
	}
	run = last_run(segments);
	while (run->start > byte && !list_is_first(&run->node, &segments->runs))
		run = list_prev_entry(run, node);
	return run;
}

u64 plait_segment_at(const struct plait_segments *segments, u64 byte)
{
	const struct plait_run *run = run_at(segments, byte);
	u64 end = end_number(segments, run);

	if (byte >= segments->end)
		return segments->next;
	if (byte < run->start || end == run->number)
		return run->number;
	return min(run->number + div64_u64(byte - run->start, run->size), end - 1);
}

bool plait_segment_bytes(const struct plait_segments *segments, u64 number, u64 *start,
			 u64 *end)
{
	const struct plait_run *run = first_run(segments);

	if (number < run->number || number >= segments->next)
		return false;
	if (number - run->number < (segments->next - run->number) / 2) {
		while (end_number(segments, run) <= number)
			run = list_next_entry(run, node);
	} else {
		run = last_run(segments);
		while (run->number > number)
			run = list_prev_entry(run, node);
	}
	*start = run->start + (number - run->number) * run->size;
	*end = number + 1 == end_number(segments, run) ? end_byte(segments, run) :
							 *start + run->size;
	return true;
}
