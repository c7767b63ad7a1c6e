/* SPDX-License-Identifier: GPL-2.0-only */
/* Plait's parts: earliest_arrival.c has its rules 1 and 3, bursts.c the bursts of rule 1, bottleneck.c
 * the estimates (rule 2), and copies.c the rules 4 to 6.
 */
#ifndef PLAIT_EARLIEST_ARRIVAL_H
#define PLAIT_EARLIEST_ARRIVAL_H

#include "helpers.h"

/* Number of segments remembered. */
#define SEGMENTS	1024U
/* Timers are seldom finer, in nanoseconds. */
#define TIMER		1000000U

/* The smallest value of the last one to two periods that have values; U64_MAX if none. */
struct minimum {
	u64 newer;
	u64 older;
	u64 begun;
};

/* The largest value of the last one to two periods. */
struct maximum {
	u64 newer;
	u64 older;
	u64 begun;
};

struct train {
	u64 first_sent;
	u64 last_sent;
	u64 wait;		/* predicted queueing delay of the first segment */
	u64 first_acked;	/* time of the first segment's acknowledgment, if acknowledged */
	u32 sent;		/* segments, without the first one */
	u32 ahead;		/* packets in flight up to the first segment, until acknowledged */
	u32 acked;		/* segments acknowledged after the first one */
	u32 moments;		/* at which they were */
	bool begun;
	bool acknowledged;
};

struct bottleneck {
	struct minimum spacing;
	struct minimum round_trip;
	struct maximum backlog;		/* behind each transmission */
	struct minimum capacity;	/* the backlogs that overflowed the queue */
	u64 free;		/* time when it will have transmitted all that was sent */
	u64 error;		/* by which the newest train was queued longer than predicted */
	u64 last_sent;
	u64 sample;		/* the newest since the last decision, if any */
	struct train train;
	u32 in_flight;		/* segments, by transmissions, acknowledgments and losses */
	u32 sent;		/* packets since the last decision */
	u32 acked;
	bool sampled;
};

/* The path of the last assignment, and the queues that cause the next burst. */
struct bursts {
	u64 written;		/* time of the last write */
	u64 cost;		/* of the queue that lasts, in square microseconds */
	u8 last;		/* the path of the last assignment */
	bool busy;		/* data waited at the last decision: the next data is no write */
};

/* A ring of the newest segments; the place of a segment follows from its number. A segment that no
 * path carries is not remembered.
 */
struct flight {
	u64 departure[SEGMENTS];	/* of the copy that arrives first, from its bottleneck */
	u16 lap[SEGMENTS];		/* the segment's number divided by SEGMENTS */
	u8 carried[SEGMENTS];		/* the paths that carry a copy, or are about to */
	u8 carrier[SEGMENTS];		/* the path of the copy that arrives first */
	u64 end;			/* one more than the newest segment */
};

static_assert(PLAIT_PATHS_MAX <= 8, "a set of paths has eight bits");

struct earliest {
	bool trains;
	bool limits;
	bool copies;
	bool last_copies;
	bool first_copies;
	bool exact;			/* only transmissions since the last decision */
	bool one_way;			/* a usable path has a measured one-way delay */
	bool plenty;			/* much more data waits than the windows take */
	u32 recalls;			/* the queues to be recalled before any assignment */
	u32 repairing;			/* paths whose first loss has recalled all queues */
	u32 suspects;
	u64 now;			/* time of the last decision */
	/* For each path: the first segment that may still be worth a copy there, and the oldest
	 * segment elsewhere whose copy was decided at this moment.
	 */
	u64 cursors[PLAIT_PATHS_MAX];
	u64 copied[PLAIT_PATHS_MAX];
	struct bottleneck bottlenecks[PLAIT_PATHS_MAX];
	struct flight flight;
	struct bursts bursts;
};

struct prediction {
	s64 arrival;
	s64 delay;			/* of the path; decides ties */
};

/* Sums and differences: the nearest value instead of an overflow. */

static inline s64 as_signed(u64 nanos)
{
	return min_t(u64, nanos, S64_MAX);
}

static inline s64 plus(s64 time, s64 span)
{
	s64 sum;

	if (check_add_overflow(time, span, &sum))
		return span < 0 ? S64_MIN : S64_MAX;
	return sum;
}

static inline s64 later(s64 time, u64 span)
{
	return plus(time, as_signed(span));
}

static inline s64 earlier(s64 time, u64 span)
{
	return plus(time, -as_signed(span));
}

static inline u64 add_capped(u64 a, u64 b)
{
	u64 sum;

	return check_add_overflow(a, b, &sum) ? U64_MAX : sum;
}

static inline u64 less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static inline u64 divide_up(u64 dividend, u64 divisor)
{
	u64 quotient = div64_u64(dividend, divisor);

	return quotient + (quotient * divisor != dividend);
}

/* bottleneck.c */

static inline u64 minimum_get(const struct minimum *minimum)
{
	return min(minimum->newer, minimum->older);
}

static inline bool has_train(const struct bottleneck *bottleneck)
{
	return minimum_get(&bottleneck->spacing) != U64_MAX;
}

/* True if nothing was sent on the path since it came up. */
static inline bool is_unused(const struct bottleneck *bottleneck)
{
	return !bottleneck->free;
}

/* True if the spacing is known, by a train or by the controller's pacing. */
static inline bool is_measured(const struct bottleneck *bottleneck, const struct plait_path *path)
{
	return has_train(bottleneck) || path->pacing_rate;
}

static inline u64 least_round_trip(const struct bottleneck *bottleneck,
				   const struct plait_path *path)
{
	u64 least = minimum_get(&bottleneck->round_trip);

	return least == U64_MAX ? path->srtt : least;
}

void plait_bottleneck_init(struct bottleneck *bottleneck);
/* The time that a segment occupies the bottleneck. Before the first train, a path delivers a window
 * per round trip.
 */
u64 plait_spacing(const struct bottleneck *bottleneck, const struct plait_path *path);

/* The time when it will have transmitted all that was sent, later by the error of the newest
 * prediction.
 */
u64 plait_corrected_free(const struct bottleneck *bottleneck, u64 now,
			 const struct plait_path *path);
/* True if at most two segments are at the bottleneck. */
bool plait_is_idle(const struct bottleneck *bottleneck, u64 now, const struct plait_path *path);

/* The capacity of the queue in segments; U64_MAX until it has overflowed. */
u64 plait_capacity(const struct bottleneck *bottleneck, const struct plait_path *path);
/* Segments in flight. While a pacer holds back packets, the facts show a full window. */
u32 plait_in_flight(const struct bottleneck *bottleneck, const struct plait_path *path);
/* The delay after the bottleneck without queues, and a quarter of the round-trip variation;
 * PLAIT_UNKNOWN until measured.
 */
s64 plait_path_delay(const struct earliest *earliest, const struct plait_path *path);
/* Notes a transmission. If the time of the last decision is not exact for it, the next decision
 * corrects it.
 */
void plait_bottleneck_on_sent(struct bottleneck *bottleneck, u64 now, bool exact,
			      const struct plait_path *path);
void plait_bottleneck_on_acked(struct bottleneck *bottleneck, const struct plait_event *event);
/* Notes lost segments, at the time of the last decision. If several are lost at once, the queue has
 * overflowed. It holds no more than the largest backlog of the last one to two round trips. Single
 * losses, and those after a small backlog, count as random.
 */
void plait_bottleneck_on_lost(struct bottleneck *bottleneck, u64 now, u32 segments,
			      const struct plait_path *path);
/* Ends the train: a lost packet needed no time at the bottleneck. */
void plait_bottleneck_end_train(struct bottleneck *bottleneck);
/* Evaluates the events since the last decision. */
void plait_bottleneck_refresh(struct bottleneck *bottleneck, u64 now, const struct plait_path *path,
			      bool trains);

/* earliest_arrival.c */

/* Predicts the arrival of a segment that is assigned to the path now, behind before others; false
 * if the path takes no such segment.
 */
bool plait_predict(const struct earliest *earliest, const struct plait_path *path, u32 before,
		   u32 candidates, struct prediction *prediction);

/* bursts.c */

/* The lead of the path that took the last segment over the others: its additional delay. The
 * burst ends when the path with the least delay is idle.
 */
u64 plait_lead(const struct earliest *earliest, const struct plait_connection *connection,
	       const struct plait_path *paths, unsigned int count);
/* Notes whether data waits. A write that meets a lasting queue may begin a burst. */
void plait_note_writes(struct earliest *earliest, const struct plait_connection *connection,
		       const struct plait_path *paths, unsigned int count);

/* copies.c */

void plait_flight_on_sent(struct earliest *earliest, const struct plait_event *event,
			  const struct plait_path *paths, unsigned int count);
/* Forgets the copies on a path that failed or timed out. The copy that arrives first stays, so that
 * its delay shows its loss.
 */
void plait_flight_forget(struct flight *flight, u8 path);
/* Finds the most useful copy on an idle path. */
bool plait_copy(struct earliest *earliest, const struct plait_connection *connection,
		const struct plait_path *paths, unsigned int count,
		struct plait_decision *decision);
/* The time when the oldest segment that an idle path may copy counts as lost; U64_MAX if there is
 * none, or if it already does.
 */
u64 plait_next_copy(const struct earliest *earliest, const struct plait_connection *connection,
		    const struct plait_path *paths, unsigned int count);

#endif
