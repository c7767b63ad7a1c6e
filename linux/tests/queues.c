// SPDX-License-Identifier: GPL-2.0-only
/* Queues and segments against a reference that has an entry for every byte: random operations,
 * where every n-th allocation fails.
 */
#include "random.h"

unsigned long steps;
#define PLAIT_STEP()	(steps++)

#include "../schedulers/queues.c"

enum { SEEDS = 50, BYTES = 400, DATA = PLAIT_PATHS_MAX, GONE };

/* The queue of each byte, and the bytes that each path carries. */
struct reference {
	u8 place[BYTES];
	bool carried[PLAIT_PATHS_MAX][BYTES];
	u64 written, acknowledged, next;
};

static void read_queue(const struct plait_queue *queue, u8 *place, u8 which)
{
	const struct plait_range *range;
	u64 bytes = 0, last = 0, byte;
	bool first = true;

	list_for_each_entry(range, &queue->ranges, node) {
		check(range->start < range->end && range->end <= BYTES);
		check(first || range->start > last);
		for (byte = range->start; byte < range->end; byte++) {
			check(place[byte] == GONE);
			place[byte] = which;
		}
		bytes += range->end - range->start;
		last = range->end;
		first = false;
	}
	check(bytes == queue->bytes);
}

static void read_queues(const struct plait_queues *queues, u64 written, u8 *place)
{
	unsigned int i;

	memset(place, GONE, BYTES);
	read_queue(&queues->recalled, place, DATA);
	for (i = 0; i < PLAIT_PATHS_MAX; i++)
		read_queue(&queues->paths[i], place, i);
	for (u64 byte = queues->next; byte < written; byte++) {
		check(place[byte] == GONE);
		place[byte] = DATA;
	}
}

/* The reference's own enqueue: moves up to this many of the first bytes of the data queue. */
static void reference_enqueue(struct reference *reference, u8 path, u64 bytes)
{
	for (u64 byte = 0; byte < reference->written && bytes; byte++) {
		if (reference->place[byte] == DATA) {
			reference->place[byte] = path;
			bytes--;
		}
	}
}

static u64 count_of(const u8 *place, u8 which)
{
	u64 count = 0;

	for (unsigned int i = 0; i < BYTES; i++)
		count += place[i] == which;
	return count;
}

static void enqueue(struct plait_queues *queues, struct reference *reference)
{
	u8 path = random_below(PLAIT_PATHS_MAX), place[BYTES];
	u64 before = count_of(reference->place, DATA);
	u64 bytes = random_below(40);
	unsigned long failed = memory_failed;
	int error = plait_enqueue(queues, path, bytes, reference->written);
	u64 moved;

	read_queues(queues, reference->written, place);
	moved = before - count_of(place, DATA);
	if (failed == memory_failed) {
		check(!error);
		check(moved == min(bytes, before));
	}
	check(error ? moved < bytes : moved >= min(bytes, before));
	reference_enqueue(reference, path, moved);
}

static void send(struct plait_queues *queues, struct reference *reference)
{
	u8 path = random_below(PLAIT_PATHS_MAX);
	u64 start, end, byte;

	for (byte = 0; byte < BYTES && reference->place[byte] != path; byte++)
		;
	check(plait_first_range(queues, path, &start, &end) == (byte < BYTES));
	if (byte == BYTES)
		return;
	check(start == byte);
	end = start + 1 + random_below(end - start);
	plait_dequeue(queues, path, end);
	plait_carry(queues, path, start, end);
	for (byte = start; byte < end; byte++) {
		check(reference->place[byte] == path);
		reference->place[byte] = GONE;
		reference->carried[path][byte] = true;
	}
}

static void acknowledge(struct plait_queues *queues, struct reference *reference)
{
	u64 up_to = reference->acknowledged + random_below(30);

	reference->acknowledged = min(up_to, reference->written);
	for (u64 byte = 0; byte < reference->acknowledged; byte++) {
		reference->place[byte] = GONE;
		for (unsigned int i = 0; i < PLAIT_PATHS_MAX; i++)
			reference->carried[i][byte] = false;
	}
	plait_acknowledged(queues, reference->acknowledged);
}

static void recall(struct plait_queues *queues, struct reference *reference)
{
	u8 path = random_below(PLAIT_PATHS_MAX);

	plait_requeue(queues, path);
	for (unsigned int i = 0; i < BYTES; i++)
		if (reference->place[i] == path)
			reference->place[i] = DATA;
}

static void recall_all(struct plait_queues *queues, struct reference *reference)
{
	plait_requeue_all(queues, reference->acknowledged);
	for (u64 byte = reference->acknowledged; byte < reference->written; byte++)
		reference->place[byte] = DATA;
}

static void put_down(struct plait_queues *queues, struct reference *reference)
{
	u8 path = random_below(PLAIT_PATHS_MAX);

	plait_put_down(queues, path);
	memset(reference->carried[path], 0, BYTES);
}

static void compare(struct plait_queues *queues, const struct reference *reference, bool forgets)
{
	u8 place[BYTES];
	u64 backlog = 0;

	read_queues(queues, reference->written, place);
	check(!memcmp(place, reference->place, BYTES));
	for (unsigned int i = 0; i < PLAIT_PATHS_MAX; i++) {
		backlog += count_of(place, i);
		for (u64 byte = 0; byte < BYTES; byte++) {
			bool carries = plait_carries(queues, i, byte);
			u64 lacks = plait_first_uncarried(queues, i, byte);

			check(carries <= reference->carried[i][byte]);
			check(forgets || carries == reference->carried[i][byte]);
			check(lacks >= byte && !plait_carries(queues, i, lacks));
			check(lacks == byte || plait_carries(queues, i, lacks - 1));
			check(lacks == byte || carries);
		}
	}
	check(plait_backlog(queues) == backlog);
	check(plait_unassigned(queues, reference->written) == count_of(place, DATA));
}

static void random_operations(u64 seed, unsigned int fail_each)
{
	struct reference reference = { };
	struct plait_queues queues;

	snprintf(test_case, sizeof(test_case), "queues, seed %llu, memory fails at every %uth",
		 (unsigned long long)seed, fail_each);
	random_state = seed;
	memory_failed = 0;
	memory_fail_each = fail_each;
	memset(reference.place, GONE, BYTES);
	plait_queues_init(&queues, 0);
	for (int i = 0; i < 400 && reference.acknowledged < BYTES; i++) {
		u32 what = random_below(40);
		u64 more = min_t(u64, random_below(20), BYTES - reference.written);

		if (what < 8)
			while (more--)
				reference.place[reference.written++] = DATA;
		else if (what < 22)
			enqueue(&queues, &reference);
		else if (what < 30)
			send(&queues, &reference);
		else if (what < 34)
			recall(&queues, &reference);
		else if (what < 38)
			acknowledge(&queues, &reference);
		else if (what < 39)
			put_down(&queues, &reference);
		else
			recall_all(&queues, &reference);
		compare(&queues, &reference, memory_failed);
	}
	plait_queues_free(&queues);
	check(!memory_live);
}

/* Without any memory some data can always be assigned and sent. */
static void progress_without_memory(void)
{
	struct plait_queues queues;
	u64 sent = 0, start, end;

	snprintf(test_case, sizeof(test_case), "queues without memory");
	memory_fail_each = 1;
	plait_queues_init(&queues, 0);
	while (sent < 10000) {
		unsigned int path = random_below(PLAIT_PATHS_MAX);

		for (unsigned int i = 0; i < 30; i++)
			plait_enqueue(&queues, random_below(PLAIT_PATHS_MAX), 10, 10000);
		plait_requeue(&queues, path);
		plait_enqueue(&queues, path, 10, 10000);
		for (path = 0; path < PLAIT_PATHS_MAX; path++)
			if (plait_first_range(&queues, path, &start, &end))
				break;
		check(path < PLAIT_PATHS_MAX);
		plait_dequeue(&queues, path, end);
		sent += end - start;
	}
	check(sent == 10000 && !plait_unassigned(&queues, 10000));
	plait_queues_free(&queues);
}

/* Segments that alternate between two paths are all recalled and assigned again. The steps of all
 * searches grow linearly with the number of segments, not with its square.
 */
static unsigned long steps_of_interleaved_recalls(u64 segments)
{
	struct plait_queues queues;

	memory_fail_each = 0;
	plait_queues_init(&queues, 0);
	steps = 0;
	for (u64 i = 0; i < segments; i++)
		plait_enqueue(&queues, i % 2, 10, 10 * segments);
	for (int again = 0; again < 3; again++) {
		plait_requeue(&queues, again % 2);
		for (u64 i = 0; i < segments / 2; i++)
			plait_enqueue(&queues, 2 + i % 3, 10, 10 * segments);
		plait_requeue(&queues, 1 - again % 2);
		for (int path = 4; path >= 2; path--)
			plait_requeue(&queues, path);
		for (u64 i = 0; i < segments; i++)
			plait_enqueue(&queues, i % 2, 10, 10 * segments);
	}
	check(queues.paths[0].bytes + queues.paths[1].bytes == 10 * segments);
	plait_queues_free(&queues);
	return steps;
}

int test_queues(void)
{
	static const unsigned int fail_each[] = { 0, 1, 2, 3, 4, 5, 7, 11, 29 };
	unsigned long few, many;

	for (u64 seed = 0; seed < SEEDS; seed++)
		for (unsigned int i = 0; i < ARRAY_SIZE(fail_each); i++)
			random_operations(seed, fail_each[i]);
	progress_without_memory();
	snprintf(test_case, sizeof(test_case), "interleaved recalls");
	few = steps_of_interleaved_recalls(512);
	many = steps_of_interleaved_recalls(4096);
	check(many <= 9 * few && many <= 20 * 4096);
	check(!memory_live);
	printf("queues: %lu sequences of operations as the reference, %lu steps for 4096 segments\n",
	       SEEDS * ARRAY_SIZE(fail_each), many);
	return 0;
}
