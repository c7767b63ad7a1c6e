// SPDX-License-Identifier: GPL-2.0-only
/* Intelligent delivery delay: assigns each segment, ahead of the windows, to the path where its
 * predicted arrival is earliest.
 *
 * The outlook of Alam, Minimum Delivery Delay Multipath TCP Scheduler (University of Bremen, 2016):
 * "advance packet scheduling by estimating the forward paths' behaviour". It contains no algorithm,
 * but two tables of twelve packets; this is the simplest rule that gives the second one.
 *
 * A segment arrives when it departs plus the delivery delay of the path. It departs
 * - after the segments that are queued before it, one serialization time for each;
 * - if the window has no room for it, a smoothed round-trip time after the segment a whole window
 *   before it.
 *
 * The facts do not contain the departure times of segments in flight. The last one is assumed to
 * have left when the path was told to send it, or a serialization time after the one before. The
 * others are assumed to have left back to back before it.
 *
 * Nothing is assigned while no path is open: it would only bind segments to the present windows and
 * delays. All queues are recalled and planned again when a path begins or ends loss recovery, times
 * out, fails or comes back.
 */
#include "helpers.h"

PLAIT_INTEGER(intelligent_delivery_delay_ahead, 64, 1, 65536,
	      "congestion windows of segments that may wait in a path's queue; fewer follow changes sooner, more use slower paths");

static struct plait_parameter *const parameters[] = {
	&intelligent_delivery_delay_ahead, NULL
};

struct intelligent {
	u32 ahead;
	u32 recalls;			/* the queues to be recalled before any assignment */
	u32 repairing;			/* paths whose first loss has recalled all queues */
	u32 suspects;
	u64 decided;			/* time of the last decision */
	bool fresh;			/* only transmissions since then */
	u64 free[PLAIT_PATHS_MAX];	/* time when the last sent segment has left */
	u32 sent[PLAIT_PATHS_MAX];	/* sent while not fresh; the next decision gives the time */
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

/* The time that a segment occupies the path. A path that got little data delivered little; it can
 * deliver a window in a round trip.
 */
static u64 spacing(const struct plait_path *path)
{
	u64 bits = (u64)path->mss * 8 * 1000000000;
	u64 measured = path->delivery_rate ? div64_u64(bits, path->delivery_rate) : 0;

	return min(measured, div_u64(path->srtt, max(path->cwnd, 1U)));
}

/* Notes segments that were sent now. */
static void occupy(struct intelligent *intelligent, u64 now, const struct plait_path *path,
		   u32 segments)
{
	u64 *free = &intelligent->free[path->id];

	*free = later(max(now, *free), mul_capped(spacing(path), segments));
}

/* The time when a segment assigned to the path now, behind before others, would leave. */
static s64 departure(const struct intelligent *intelligent, u64 now,
		     const struct plait_path *path, u32 before)
{
	u32 window = max(path->cwnd, 1U);
	u64 place = (u64)path->in_flight + path->queued + before;
	u64 rounds = 0, free = intelligent->free[path->id];
	s64 departs;

	/* A segment this many windows earlier is in flight, or there is room for it. */
	if (place >= window)
		rounds = div_u64(place - max(path->in_flight, window), window) + 1;
	place -= rounds * window;
	if (place < path->in_flight)
		departs = earlier(free, mul_capped(spacing(path), path->in_flight - place));
	else
		departs = later(max(free, now), mul_capped(spacing(path), place - path->in_flight));
	return max_t(s64, later(departs, mul_capped(path->srtt, rounds)), now);
}

/* The largest number of segments of one decision: each needs a prediction. */
#define RUN	256U

struct prediction {
	s64 arrival;
	s64 delay;			/* of the path; decides ties */
};

/* Predicts the arrival of a segment assigned to the path now, behind before others; false if the
 * path takes no such segment.
 */
static bool predict(const struct intelligent *intelligent, u64 now, const struct plait_path *path,
		    u32 before, u32 candidates, bool timestamps, struct prediction *prediction)
{
	bool has_room = room(path) > before;
	s64 arrival, delay;

	if (path->in_recovery ||
	    (!has_room && suspects_exclude(intelligent->suspects, path->id, candidates)))
		return false;
	delay = delivery_delay(path, timestamps);
	if (delay != PLAIT_UNKNOWN && path->srtt) {
		arrival = departure(intelligent, now, path, before);
		arrival = delay < 0 ? arrival + delay : later(arrival, delay);
		*prediction = (struct prediction){ arrival, delay };
		return true;
	}
	/* An unmeasured path goes before all others, to be measured. */
	*prediction = (struct prediction){ S64_MIN, S64_MIN };
	return has_room;
}

static bool sooner(const struct prediction *a, const struct prediction *b)
{
	return a->arrival < b->arrival || (a->arrival == b->arrival && a->delay < b->delay);
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	struct intelligent *intelligent = state;
	bool timestamps = any_forward_delay(paths, count);
	const struct plait_path *path, *best = NULL, *rival = NULL;
	struct prediction soonest = {}, second = {}, next;
	u32 candidates = usable(paths, count);
	u32 open = open_paths(paths, count);
	u32 segments, most;
	u64 ahead;

	if (!intelligent->fresh) {
		for_each_path(path, paths, count) {
			if (intelligent->sent[path->id])
				occupy(intelligent, now, path, intelligent->sent[path->id]);
			intelligent->sent[path->id] = 0;
		}
	}
	intelligent->fresh = true;
	intelligent->decided = now;

	path = next_recall(&intelligent->recalls, paths, count);
	if (path)
		return plait_recall(path->id);
	/* Assignments from here on stay until the next event. */
	intelligent->recalls = 0;

	if (!sendable(connection) || !open)
		return plait_wait();
	for_each_path_of(path, candidates, paths, count) {
		if (!predict(intelligent, now, path, 0, candidates, timestamps, &next))
			continue;
		if (!best || sooner(&next, &soonest)) {
			rival = best;
			second = soonest;
			best = path;
			soonest = next;
		} else if (!rival || sooner(&next, &second)) {
			rival = path;
			second = next;
		}
	}
	/* If the best path has enough segments ahead, a worse one is not used while the best one
	 * works.
	 */
	if (!best)
		return plait_wait();
	ahead = min_t(u64, mul_capped(max(best->cwnd, 1U), intelligent->ahead), U32_MAX);
	if (best->queued >= ahead)
		return plait_wait();
	/* The facts of the other paths do not change while the best path takes segments. As long as
	 * the next segment arrives first there too, one decision covers all of them.
	 */
	most = min(clip(ahead - best->queued, sendable(connection)), RUN);
	for (segments = 1; segments < most; segments++) {
		if (!(open & ~BIT(best->id)) && room(best) <= segments)
			break;
		if (!predict(intelligent, now, best, segments, candidates, timestamps, &next))
			break;
		if (rival && !sooner(&next, &second) &&
		    (sooner(&second, &next) || rival->id < best->id))
			break;
	}
	return plait_assign(best->id, segments);
}

static void on_event(void *state, const struct plait_event *event,
		     const struct plait_connection *connection, const struct plait_path *paths,
		     unsigned int count)
{
	struct intelligent *intelligent = state;
	u32 path = BIT(event->path);

	if (event->kind == PLAIT_SENT) {
		if (intelligent->fresh)
			occupy(intelligent, intelligent->decided, &paths[event->path], 1);
		else
			intelligent->sent[event->path]++;
		return;
	}
	intelligent->fresh = false;
	suspects_on_event(&intelligent->suspects, event);
	/* A plan costs as much as the queued segments. The losses of one window reduce it once, so
	 * they cause two plans: at the first loss, and at the end.
	 */
	switch (event->kind) {
	case PLAIT_LOST:
		if (intelligent->repairing & path)
			return;
		if (paths[event->path].repairing)
			intelligent->repairing |= path;
		break;
	case PLAIT_ACKED:
		if (!(intelligent->repairing & path) || paths[event->path].repairing)
			return;
		intelligent->repairing &= ~path;
		break;
	}
	intelligent->recalls = U32_MAX;
}

const struct plait_algorithm plait_intelligent_delivery_delay = {
	.name = "intelligent-delivery-delay",
	.kernel_name = "intelligent-dd",
	.state_size = sizeof(struct intelligent),
	.by_packet = true,
	.parameters = parameters,
	.needs = needs,
	.init = init,
	.decide = decide,
	.on_event = on_event,
};
