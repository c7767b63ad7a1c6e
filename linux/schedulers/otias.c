// SPDX-License-Identifier: GPL-2.0-only
/* OTIAS: assigns each segment, ahead of the windows, to the path where it would arrive first if
 * path queues drain by a window per round trip.
 *
 * Yang, Wang, Amer, Out-of-Order Transmission for In-Order Arrival Scheduling for Multipath TCP
 * (IEEE WAINA 2014): the path with the least (wait + 1/2) r takes the segment. wait is the number
 * of round trips until it leaves, from the window w, the segments in flight x, and the queued
 * segments q. The readings of wait: "ceiling" is 0 if q < w - x, otherwise q - (w - x) + 1 by w,
 * rounded up; "floor" is q - (w - x) by w, rounded down; "real" is not rounded, and has all
 * unassigned segments for q.
 *
 * Nothing is assigned ahead unless two paths are usable and all of them can be compared.
 */
#include "helpers.h"

PLAIT_CHOICE(otias_reading,
	     "count of the round trips until a segment leaves: with the segment itself (ceiling), without it (floor), or not rounded (real)",
	     "ceiling", "floor", "real");

static struct plait_parameter *const parameters[] = { &otias_reading, NULL };

enum { CEILING, FLOOR, REAL };

/* A bound for the number of waiting segments. */
#define MOST	(1ULL << 60)

struct otias {
	u32 suspects;
	u8 reading;
};

/* The place of the next segment on a path, and the number of segments with the same time. */
struct place {
	s64 time;
	u64 segments;
};

static u32 needs(void)
{
	return PLAIT_NEEDS_ASSIGN_AHEAD;
}

static void init(void *state)
{
	struct otias *otias = state;

	otias->reading = plait_value(&otias_reading);
}

static s64 capped(u64 amount)
{
	return min_t(u64, amount, S64_MAX);
}

static s64 sum(s64 a, s64 b)
{
	s64 result;

	if (check_add_overflow(a, b, &result))
		return a < 0 ? S64_MIN : S64_MAX;
	return result;
}

/* Not rounded: the rounds may be negative. */
static s64 real_time(const struct plait_path *path, u64 unassigned, u32 window)
{
	s64 waits = (s64)min_t(u64, unassigned, MOST) + path->in_flight - path->cwnd;
	s64 time, rounds;
	u64 part;
	u32 rest;

	if (waits >= 0) {
		rounds = div_u64_rem(waits, window, &rest);
	} else {
		rounds = -(s64)div_u64_rem(-waits, window, &rest);
		if (rest) {
			rounds--;
			rest = window - rest;
		}
	}
	part = mul_u64_u32_div(path->srtt, rest, window);
	if (check_mul_overflow(rounds, capped(path->srtt), &time))
		time = rounds < 0 ? S64_MIN : S64_MAX;
	return sum(time, sum(capped(part), capped(path->srtt / 2)));
}

/* The arrival over a measured path. */
static struct place arrival(const struct otias *otias, const struct plait_path *path,
			    u64 unassigned)
{
	u32 window = max(path->cwnd, 1U);
	u64 taken = (u64)path->queued + path->in_flight;
	u64 free, rounds, waits;
	struct place place = {};

	switch (otias->reading) {
	case CEILING:
		free = path->cwnd > path->in_flight ? path->cwnd - path->in_flight : 0;
		rounds = 0;
		place.segments = free - path->queued;
		if (path->queued >= free) {
			waits = path->queued - free;
			rounds = div_u64(waits, window) + 1;
			place.segments = rounds * window - waits;
		}
		break;
	case FLOOR:
		waits = taken > path->cwnd ? taken - path->cwnd : 0;
		free = path->cwnd > taken ? path->cwnd - taken : 0;
		rounds = div_u64(waits, window);
		place.segments = free + window - (waits - rounds * window);
		break;
	default:
		place.time = real_time(path, unassigned, window);
		place.segments = 1;
		return place;
	}
	place.time = capped(mul_capped(path->srtt, 2 * rounds + 1) / 2);
	return place;
}

/* False if the path takes no segment; ahead tells whether a segment may exceed the window. */
static bool find_place(const struct otias *otias, const struct plait_path *path, u32 candidates,
		       u64 unassigned, bool ahead, struct place *place)
{
	u64 here = ahead ? U64_MAX : room(path);

	*place = (struct place){ .time = S64_MIN, .segments = here };
	if (path->srtt && !suspects_exclude(otias->suspects, path->id, candidates))
		*place = arrival(otias, path, unassigned);
	place->segments = min(place->segments, here);
	return here;
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	u32 candidates = usable(paths, count);
	const struct plait_path *path, *first = NULL;
	const struct otias *otias = state;
	struct place place, best = {};
	bool ahead = comparable(otias->suspects, candidates, paths, count);

	if (!sendable(connection))
		return plait_wait();
	for_each_path_of(path, candidates, paths, count) {
		if (!find_place(otias, path, candidates, connection->unassigned, ahead, &place))
			continue;
		if (!first || place.time < best.time) {
			first = path;
			best = place;
		}
	}
	if (!first)
		return plait_wait();
	return plait_assign(first->id, clip(min_t(u64, best.segments, U32_MAX), sendable(connection)));
}

static void on_event(void *state, const struct plait_event *event,
		     const struct plait_connection *connection, const struct plait_path *paths,
		     unsigned int count)
{
	struct otias *otias = state;

	suspects_on_event(&otias->suspects, event);
}

const struct plait_algorithm plait_otias = {
	.name = "otias",
	.kernel_name = "otias",
	.state_size = sizeof(struct otias),
	.parameters = parameters,
	.needs = needs,
	.init = init,
	.decide = decide,
	.on_event = on_event,
};
