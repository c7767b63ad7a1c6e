/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that schedulers share: readings of the facts, decisions, and small pieces of state. */
#ifndef PLAIT_HELPERS_H
#define PLAIT_HELPERS_H

#include "parameters.h"
#include "plait.h"

/* Sets of paths have a bit per path. */

#define for_each_path(path, paths, count)					\
	for ((path) = (paths); (path) < (paths) + (count); (path)++)

#define for_each_path_of(path, set, paths, count)				\
	for ((path) = next_path_of(set, paths, (paths) + (count));		\
	     (path) < (paths) + (count);					\
	     (path) = next_path_of(set, (path) + 1, (paths) + (count)))

static inline const struct plait_path *next_path_of(u32 set, const struct plait_path *path,
						    const struct plait_path *end)
{
	while (path < end && !(set & BIT(path->id)))
		path++;
	return path;
}

/* The paths that new data may use now: the active ones, or the backup ones if none is active. */
static inline u32 usable(const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *path;
	u32 active = 0, backup = 0;

	for_each_path(path, paths, count) {
		if (path->state == PLAIT_ACTIVE)
			active |= BIT(path->id);
		else if (path->state == PLAIT_BACKUP)
			backup |= BIT(path->id);
	}
	return active ?: backup;
}

/* The congestion window less segments in flight and queued. */
static inline u32 window_room(const struct plait_path *path)
{
	u64 taken = (u64)path->in_flight + path->queued;

	return path->cwnd > taken ? path->cwnd - taken : 0;
}

/* Number of segments that the usable path can send at once. */
static inline u32 room(const struct plait_path *path)
{
	return path->in_recovery ? 0 : window_room(path);
}

/* The usable paths that can send at once. */
static inline u32 open_paths(const struct plait_path *paths, unsigned int count)
{
	u32 candidates = usable(paths, count), open = 0;
	const struct plait_path *path;

	for_each_path_of(path, candidates, paths, count)
		if (room(path))
			open |= BIT(path->id);
	return open;
}

/* The round-trip times that count, in the order of the words of the parameter: of packets
 * acknowledged on their own path, the smallest of these, or the transport's estimate. They may
 * differ where acknowledgments cover all paths (CMT-SCTP); in Linux the first equals the last.
 */
enum round_trips { OWN, SHORTEST, SMOOTHED };

#define ROUND_TRIPS "own", "shortest", "smoothed"

/* 0 while there is none. Without a time of its own, a path has the transport's estimate. */
static inline u64 round_trip(u8 which, const struct plait_path *path)
{
	u64 own = which == OWN ? path->own_rtt : which == SHORTEST ? path->min_rtt : 0;

	return own ?: path->srtt;
}

/* The path with the smallest round-trip time, the first of equals; unmeasured is 0. */
static inline const struct plait_path *fastest_by(u8 which, u32 set,
						  const struct plait_path *paths,
						  unsigned int count)
{
	const struct plait_path *path, *best = NULL;

	for_each_path_of(path, set, paths, count)
		if (!best || round_trip(which, path) < round_trip(which, best))
			best = path;
	return best;
}

static inline const struct plait_path *fastest(u32 set, const struct plait_path *paths,
					       unsigned int count)
{
	return fastest_by(SMOOTHED, set, paths, count);
}

static inline bool all_measured(u32 set, const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *path;

	for_each_path_of(path, set, paths, count)
		if (!path->srtt)
			return false;
	return true;
}

/* Delivery delays of paths on one scale: the forward delays if some usable path has one, otherwise
 * half the round-trip times of all paths. The two do not mix, because half a round-trip time lacks
 * the difference of the clocks.
 */
static inline bool any_forward_delay(const struct plait_path *paths, unsigned int count)
{
	u32 candidates = usable(paths, count);
	const struct plait_path *path;

	for_each_path_of(path, candidates, paths, count)
		if (path->forward_delay != PLAIT_UNKNOWN)
			return true;
	return false;
}

static inline s64 delivery_delay(const struct plait_path *path, bool timestamps)
{
	if (timestamps)
		return path->forward_delay;
	return path->srtt ? (s64)(path->srtt / 2) : PLAIT_UNKNOWN;
}

/* Segments that may be assigned if all of them have to leave at once. */
static inline u64 sendable(const struct plait_connection *connection)
{
	return min(connection->unassigned, connection->window_left);
}

/* The smaller of an amount on a path and an amount of the stream. */
static inline u32 clip(u32 segments, u64 stream)
{
	return min_t(u64, segments, stream);
}

/* A product of times and amounts: the largest value instead of an overflow. */
static inline u64 mul_capped(u64 a, u64 b)
{
	u64 product;

	return check_mul_overflow(a, b, &product) ? U64_MAX : product;
}

/* The quotient, rounded down; 1 if the divisor is 0. */
static inline u64 ratio(u64 dividend, u64 divisor)
{
	return divisor ? div64_u64(dividend, divisor) : 1;
}

/* Decisions. */

static inline struct plait_decision plait_wait(void)
{
	return (struct plait_decision){ .kind = PLAIT_WAIT };
}

static inline struct plait_decision plait_assign(u8 path, u32 segments)
{
	return (struct plait_decision){ .kind = PLAIT_ASSIGN, .path = path, .amount = segments };
}

static inline struct plait_decision plait_recall(u8 path)
{
	return (struct plait_decision){ .kind = PLAIT_RECALL, .path = path };
}

static inline struct plait_decision plait_limit(u8 path, u32 in_flight)
{
	return (struct plait_decision){ .kind = PLAIT_LIMIT, .path = path, .amount = in_flight };
}

/* Turns: round-robin, also the fallback of other schedulers. */
struct rotation {
	u32 per_turn;
	u8 next;	/* the first open path from this one on has the turn */
};

static inline struct plait_decision rotate(struct rotation *rotation,
					   const struct plait_connection *connection,
					   const struct plait_path *paths, unsigned int count)
{
	u32 open = open_paths(paths, count);
	u32 later = open & ~(BIT(rotation->next) - 1);
	const struct plait_path *path;
	u32 segments;

	if (!open || !sendable(connection))
		return plait_wait();
	path = &paths[__ffs(later ?: open)];
	rotation->next = path->id + 1;
	segments = min(room(path), rotation->per_turn);
	return plait_assign(path->id, clip(segments, sendable(connection)));
}

/* An opportunity: the decisions that the engine asks for at one moment. It ends with a wait. It
 * also ends when time passes, or with any event but a transmission, because an engine stops asking
 * when nothing is left to decide about.
 */
struct opportunity {
	u64 now;
	bool begun;
};

/* True if an opportunity begins with this decision. */
static inline bool opportunity_begins(struct opportunity *opportunity, u64 now)
{
	bool begins = !opportunity->begun || opportunity->now != now;

	*opportunity = (struct opportunity){ .now = now, .begun = true };
	return begins;
}

static inline struct plait_decision opportunity_end(struct opportunity *opportunity)
{
	opportunity->begun = false;
	return plait_wait();
}

static inline void opportunity_on_event(struct opportunity *opportunity,
					const struct plait_event *event)
{
	if (event->kind != PLAIT_SENT)
		opportunity->begun = false;
}

/* Recalls: empties the non-empty queues among these paths one by one, each once. */
static inline const struct plait_path *next_recall(u32 *recalls, const struct plait_path *paths,
						   unsigned int count)
{
	const struct plait_path *path;

	for_each_path_of(path, *recalls, paths, count) {
		if (path->queued) {
			*recalls &= ~BIT(path->id);
			return path;
		}
	}
	return NULL;
}

/* Suspects: paths that timed out and have acknowledged nothing since. The facts of such a path date
 * from before the timeout, so a plan would put recalled segments into its queue again and again.
 */
static inline void suspects_on_event(u32 *suspects, const struct plait_event *event)
{
	switch (event->kind) {
	case PLAIT_TIMEOUT:
	case PLAIT_PATH_DOWN:
		*suspects |= BIT(event->path);
		break;
	case PLAIT_ACKED:
	case PLAIT_PATH_UP:
		*suspects &= ~BIT(event->path);
		break;
	}
}

/* True if no segment may wait in the queue of a path: the path is a suspect, and another usable one
 * is not.
 */
static inline bool suspects_exclude(u32 suspects, u8 path, u32 candidates)
{
	return (suspects & BIT(path)) && (candidates & ~suspects);
}

/* The candidates that are not suspects, or all if there are none. */
static inline u32 trusted(u32 suspects, u32 candidates)
{
	return candidates & ~suspects ?: candidates;
}

/* True if arrivals can be compared, so that segments may be assigned ahead: there are two
 * candidates or more, and each is measured, not in loss recovery and not excluded. Otherwise the
 * first paths would get the receiver's whole window, and a path that joins would have nothing to
 * send.
 */
static inline bool comparable(u32 suspects, u32 candidates, const struct plait_path *paths,
			      unsigned int count)
{
	const struct plait_path *path;

	/* One bit at most. */
	if (!(candidates & (candidates - 1)))
		return false;
	for_each_path_of(path, candidates, paths, count)
		if (!path->srtt || path->in_recovery ||
		    suspects_exclude(suspects, path->id, candidates))
			return false;
	return true;
}

/* The guard of DAPS (Kuhn et al., ICC 2014, section III.C): a schedule is worth making only while
 * (4) r_s >> r_f, (5) each RTT sample is within 10 % of the one before, and (6) no window shrinks
 * or is in slow start. The paper leaves ">>" open; here it is r_s >= asymmetry * r_f.
 */
struct guard {
	bool enabled;
	u8 round_trip;			/* enum round_trips */
	u32 asymmetry_milli;
	u32 steady;			/* the paths whose newest sample is close to the last */
	u64 rtt[PLAIT_PATHS_MAX];	/* newest sample, 0 before the first */
	u32 cwnd[PLAIT_PATHS_MAX];	/* at the last check */
};

static inline void guard_on_event(struct guard *guard, const struct plait_event *event)
{
	u64 last, difference;

	if (event->kind != PLAIT_ACKED || !event->rtt)
		return;
	last = guard->rtt[event->path];
	difference = max(last, event->rtt) - min(last, event->rtt);
	guard->steady &= ~BIT(event->path);
	/* A first sample differs by more than a tenth of 0. */
	if (difference <= div_u64(last, 10))
		guard->steady |= BIT(event->path);
	guard->rtt[event->path] = event->rtt;
}

/* Each call compares the windows with those of the call before. */
static inline bool guard_admits(struct guard *guard, const struct plait_path *paths,
				unsigned int count)
{
	u32 candidates = usable(paths, count);
	u64 shortest = U64_MAX, longest = 0;
	const struct plait_path *path;
	bool steady = true;

	if (!guard->enabled)
		return true;
	for_each_path_of(path, candidates, paths, count) {
		shortest = min(shortest, round_trip(guard->round_trip, path));
		longest = max(longest, round_trip(guard->round_trip, path));
		steady &= (guard->steady & BIT(path->id)) &&
			  path->cwnd >= guard->cwnd[path->id] && path->cwnd >= path->ssthresh;
		guard->cwnd[path->id] = path->cwnd;
	}
	/* Rounding down is exact, because the required ratio is a whole number. */
	return steady && ratio(longest * 1000, shortest) >= guard->asymmetry_milli;
}

#endif
