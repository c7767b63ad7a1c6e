// SPDX-License-Identifier: GPL-2.0-only
/* Intelligent delivery delay: each segment is assigned, ahead of the windows, to the path over
 * which it is predicted to arrive first.
 *
 * The outlook of Alam, Minimum Delivery Delay Multipath TCP Scheduler (University of Bremen,
 * 2016): "advance packet scheduling by estimating the forward paths' behaviour". There is no
 * algorithm, but two tables of twelve packets; this is the simplest rule that gives the second
 * one.
 *
 * A segment arrives when it departs plus the delivery delay of the path. It departs
 * - after what waits and leaves before it, one serialization time for each segment;
 * - if there is no room for it in the window, a smoothed round-trip time after the segment a
 *   whole window before it.
 * When a segment in flight departed is not among the facts: the last is taken to have left when
 * the path was told to send it, or a serialization time after the one before, and the others back
 * to back before it.
 *
 * Nothing is assigned while no path is open: it would only bind segments to windows and delays of
 * now. Everything is recalled and planned again when a path loses, times out, fails or comes
 * back.
 */
#include "helpers.h"

PLAIT_INTEGER(intelligent_delivery_delay_ahead, 64, 1, 65536,
	      "congestion windows that may wait in a path's queue; fewer follow changes sooner, more use slower paths");

static struct plait_parameter *const parameters[] = {
	&intelligent_delivery_delay_ahead, NULL
};

struct intelligent {
	u32 ahead;
	u32 recalls;			/* the queues to be recalled before anything is assigned */
	u32 suspects;
	u64 decided;			/* when the last decision was made */
	bool current;			/* since then nothing happened but transmissions */
	u64 free[PLAIT_PATHS_MAX];	/* when the last segment that was sent has left */
	u32 sent[PLAIT_PATHS_MAX];	/* sent since, if not: the next decision shows when */
};

static u32 needs(void)
{
	return PLAIT_NEEDS_ASSIGN_AHEAD | PLAIT_NEEDS_RECALL;
}

static void init(void *state)
{
	struct intelligent *intelligent = state;

	intelligent->ahead = plait_value(&intelligent_delivery_delay_ahead);
}

static s64 later(s64 time, u64 span)
{
	s64 sum;

	return check_add_overflow(time, (s64)min_t(u64, span, S64_MAX), &sum) ? S64_MAX : sum;
}

static s64 earlier(s64 time, u64 span)
{
	return time - (s64)min_t(u64, span, S64_MAX);	/* times are not negative */
}

/* How long a segment occupies the path. A path that was given little delivered little; it can
 * deliver a window in a round trip.
 */
static u64 spacing(const struct plait_path *path)
{
	u64 bits = (u64)path->mss * 8 * 1000000000;
	u64 measured = path->delivery_rate ? div64_u64(bits, path->delivery_rate) : 0;

	return min(measured, div_u64(path->srtt, max(path->cwnd, 1U)));
}

/* Takes note of segments that were sent now. */
static void occupy(struct intelligent *intelligent, u64 now, const struct plait_path *path,
		   u32 segments)
{
	u64 *free = &intelligent->free[path->id];

	*free = later(max(now, *free), mul_capped(spacing(path), segments));
}

/* When a segment assigned to the path now would leave. */
static s64 departure(const struct intelligent *intelligent, u64 now,
		     const struct plait_path *path)
{
	u32 window = max(path->cwnd, 1U);
	u64 place = (u64)path->in_flight + path->queued;
	u64 rounds = 0, free = intelligent->free[path->id];
	s64 departs;

	/* So many windows before it is a segment that is in flight, or for which there is room. */
	if (place >= window)
		rounds = div_u64(place - max(path->in_flight, window), window) + 1;
	place -= rounds * window;
	if (place < path->in_flight)
		departs = earlier(free, mul_capped(spacing(path), path->in_flight - place));
	else
		departs = later(max(free, now), mul_capped(spacing(path), place - path->in_flight));
	return max_t(s64, later(departs, mul_capped(path->srtt, rounds)), now);
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	struct intelligent *intelligent = state;
	bool timestamps = any_forward_delay(paths, count);
	s64 arrival, delay, best_arrival = 0, best_delay = 0;
	const struct plait_path *path, *best = NULL;
	u32 candidates = usable(paths, count);

	if (!intelligent->current) {
		for_each_path(path, paths, count) {
			if (intelligent->sent[path->id])
				occupy(intelligent, now, path, intelligent->sent[path->id]);
			intelligent->sent[path->id] = 0;
		}
	}
	intelligent->current = true;
	intelligent->decided = now;

	path = next_recall(&intelligent->recalls, paths, count);
	if (path)
		return plait_recall(path->id);
	/* What is assigned from here on stays, until something happens again. */
	intelligent->recalls = 0;

	if (!sendable(connection) || !open_paths(paths, count))
		return plait_wait();
	for_each_path_of(path, candidates, paths, count) {
		if (path->in_recovery)
			continue;
		if (!room(path) && suspects_exclude(intelligent->suspects, path->id, candidates))
			continue;
		delay = delivery_delay(path, timestamps);
		if (delay != PLAIT_UNKNOWN && path->srtt) {
			arrival = departure(intelligent, now, path);
			arrival = delay < 0 ? arrival + delay : later(arrival, delay);
		} else if (room(path)) {
			/* It is to be measured, before all others. */
			arrival = S64_MIN;
			delay = S64_MIN;
		} else {
			continue;
		}
		if (!best || arrival < best_arrival ||
		    (arrival == best_arrival && delay < best_delay)) {
			best = path;
			best_arrival = arrival;
			best_delay = delay;
		}
	}
	/* If that is far enough ahead on the best path, a worse one is not used while the best
	 * one works.
	 */
	if (!best || best->queued >= (u64)max(best->cwnd, 1U) * intelligent->ahead)
		return plait_wait();
	return plait_assign(best->id, 1);
}

static void on_event(void *state, const struct plait_event *event,
		     const struct plait_connection *connection, const struct plait_path *paths,
		     unsigned int count)
{
	struct intelligent *intelligent = state;

	if (event->kind == PLAIT_SENT) {
		if (intelligent->current)
			occupy(intelligent, intelligent->decided, &paths[event->path], 1);
		else
			intelligent->sent[event->path]++;
		return;
	}
	intelligent->current = false;
	suspects_on_event(&intelligent->suspects, event);
	if (event->kind != PLAIT_ACKED)
		intelligent->recalls = U32_MAX;
}

const struct plait_algorithm plait_intelligent_delivery_delay = {
	.name = "intelligent-delivery-delay",
	.kernel_name = "intelligent-dd",
	.state_size = sizeof(struct intelligent),
	.parameters = parameters,
	.needs = needs,
	.init = init,
	.decide = decide,
	.on_event = on_event,
};
