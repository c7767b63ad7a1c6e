// SPDX-License-Identifier: GPL-2.0-only
/* Plait: each segment goes to the path where it arrives first, by measured bottlenecks.
 *
 * The scheduler `plait` of crates/plait-sched (algorithms/plait.rs), which states the source, the
 * readings and the departures. The sections here are its files, and the functions have its names:
 * 1. earliest arrival (plait.rs), 2. trains (bottleneck.rs), 3. limits (limits.rs), 4. copies,
 * 5. last copies, and 6. first copies (copies.rs, flight.rs).
 *
 * The facts here have no segments that wait for retransmission on a path.
 */
#include "helpers.h"

PLAIT_BOOLEAN(plait_trains, 1,
	      "measure the bottleneck of each path by packet trains; otherwise a path delivers a congestion window per round trip");
PLAIT_BOOLEAN(plait_limits, 1, "bound the queue at the bottleneck of each path");
PLAIT_BOOLEAN(plait_copies, 1, "copy segments on idle paths where the copy arrives earlier");
PLAIT_BOOLEAN(plait_last_copies, 1,
	      "with plait_copies: copy more after the last byte was assigned");
PLAIT_BOOLEAN(plait_first_copies, 1,
	      "with plait_copies: while data waits for the receiver's window, each measured path that has sent nothing sends a copy");

static struct plait_parameter *const parameters[] = {
	&plait_trains, &plait_limits, &plait_copies, &plait_last_copies, &plait_first_copies, NULL
};

/* The largest number of segments of one decision: each needs a prediction. */
#define RUN		256U
/* Congestion windows of segments that may wait in a path's queue. */
#define AHEAD		64U
/* Segments of a train, at most and at least. */
#define TRAIN		16U
#define SHORTEST	3U
/* Acknowledgments of a whole train that come at fewer moments were delayed together. */
#define MOMENTS		3U
/* A minimum covers between one and two of these periods, in nanoseconds. */
#define PERIOD		5000000000ULL
/* Segments in the queue of a bottleneck, if a quarter of the bandwidth-delay product is less. */
#define BURST		24U
/* Segments in the queue of a bottleneck at least. */
#define LEAST		5U
/* Segments that an overflow of the queue loses at once, at least. */
#define OVERFLOW	2U
/* Segments of the smallest backlog that can overflow a queue. */
#define SMALLEST	6U
/* Timers are seldom finer, in nanoseconds. */
#define TIMER		1000000U
/* Number of segments remembered. */
#define SEGMENTS	1024U

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
	u64 last_sent;
	u64 sample;		/* the newest since the last decision, if any */
	struct train train;
	u32 in_flight;		/* segments, by transmissions, acknowledgments and losses */
	u32 sent;		/* packets since the last decision */
	u32 acked;
	bool sampled;
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
	bool current;			/* only transmissions since the last decision */
	bool one_way;			/* a usable path has a measured one-way delay */
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
};

static s64 as_signed(u64 nanos)
{
	return min_t(u64, nanos, S64_MAX);
}

static s64 plus(s64 time, s64 span)
{
	s64 sum;

	if (check_add_overflow(time, span, &sum))
		return span < 0 ? S64_MIN : S64_MAX;
	return sum;
}

static s64 later(s64 time, u64 span)
{
	return plus(time, as_signed(span));
}

static s64 earlier(s64 time, u64 span)
{
	return plus(time, -as_signed(span));
}

static u64 add_capped(u64 a, u64 b)
{
	u64 sum;

	return check_add_overflow(a, b, &sum) ? U64_MAX : sum;
}

static u64 less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static u64 divide_up(u64 dividend, u64 divisor)
{
	u64 quotient = div64_u64(dividend, divisor);

	return quotient + (quotient * divisor != dividend);
}

/* 2. Trains: estimates of a path's bottleneck. */

static void minimum_note(struct minimum *minimum, u64 now, u64 value)
{
	if (less(now, minimum->begun) > PERIOD)
		*minimum = (struct minimum){ U64_MAX, minimum->newer, now };
	minimum->newer = min(minimum->newer, value);
}

static u64 minimum_get(const struct minimum *minimum)
{
	return min(minimum->newer, minimum->older);
}

static void maximum_note(struct maximum *maximum, u64 now, u64 period, u64 value)
{
	u64 age = less(now, maximum->begun);

	if (age > period)
		*maximum = (struct maximum){ 0, age > 2 * period ? 0 : maximum->newer, now };
	maximum->newer = max(maximum->newer, value);
}

static u64 maximum_get(const struct maximum *maximum)
{
	return max(maximum->newer, maximum->older);
}

static void bottleneck_init(struct bottleneck *bottleneck)
{
	*bottleneck = (struct bottleneck){
		.spacing = { U64_MAX, U64_MAX, 0 },
		.round_trip = { U64_MAX, U64_MAX, 0 },
		.capacity = { U64_MAX, U64_MAX, 0 },
	};
}

static bool has_train(const struct bottleneck *bottleneck)
{
	return minimum_get(&bottleneck->spacing) != U64_MAX;
}

/* True if nothing was sent on the path since it came up. */
static bool is_unused(const struct bottleneck *bottleneck)
{
	return !bottleneck->free;
}

/* True if the spacing is known, by a train or by the controller's pacing. */
static bool is_measured(const struct bottleneck *bottleneck, const struct plait_path *path)
{
	return has_train(bottleneck) || path->pacing_rate;
}

/* The time that a segment occupies the bottleneck. Before the first train, a path delivers a window
 * per round trip.
 */
static u64 spacing(const struct bottleneck *bottleneck, const struct plait_path *path)
{
	u64 bits = (u64)path->mss * 8 * 1000000000;
	u64 pacing = path->pacing_rate ? div64_u64(bits, path->pacing_rate) : 0;

	if (has_train(bottleneck))
		return max(minimum_get(&bottleneck->spacing), pacing);
	return path->pacing_rate ? pacing : div_u64(path->srtt, max(path->cwnd, 1U));
}

static u64 least_round_trip(const struct bottleneck *bottleneck, const struct plait_path *path)
{
	u64 least = minimum_get(&bottleneck->round_trip);

	return least == U64_MAX ? path->srtt : least;
}

/* The capacity of the queue in segments; U64_MAX until it has overflowed. */
static u64 capacity(const struct bottleneck *bottleneck, const struct plait_path *path)
{
	u64 least = minimum_get(&bottleneck->capacity);

	return least == U64_MAX ? U64_MAX :
				  div64_u64(least, max_t(u64, spacing(bottleneck, path), 1));
}

/* Segments in flight. While a pacer holds back packets, the facts show a full window. */
static u32 in_flight(const struct bottleneck *bottleneck, const struct plait_path *path)
{
	return path->pacing_rate ? min(path->in_flight, bottleneck->in_flight) : path->in_flight;
}

/* The delay after the bottleneck without queues, and half of the round-trip variation;
 * PLAIT_UNKNOWN until measured.
 */
static s64 path_delay(const struct earliest *earliest, const struct plait_path *path)
{
	u64 least = least_round_trip(&earliest->bottlenecks[path->id], path);
	s64 delay;

	if (!path->srtt)
		return PLAIT_UNKNOWN;
	if (earliest->one_way) {
		if (path->forward_delay == PLAIT_UNKNOWN)
			return PLAIT_UNKNOWN;
		/* Queues lengthen the forward delay and the round trip alike. */
		delay = earlier(path->forward_delay, less(path->srtt, least));
	} else {
		delay = (least + less(path->own_rtt, path->srtt)) / 2;
	}
	return later(delay, path->rttvar / 2);
}

/* Puts the newest packets into the train. */
static void extend(struct bottleneck *bottleneck, u64 now, u32 sent, const struct plait_path *path)
{
	struct train *train = &bottleneck->train;
	u64 own;

	bottleneck->last_sent = now;
	if (!train->begun) {
		own = mul_capped(spacing(bottleneck, path), sent);
		*train = (struct train){
			.begun = true,
			.first_sent = now,
			.last_sent = now,
			.wait = less(less(bottleneck->free, now), own),
			.sent = sent - 1,
			.ahead = max_t(u32, less(path->in_flight, sent - 1), 1),
		};
	} else if (!train->acknowledged && train->sent + sent < TRAIN) {
		train->last_sent = now;
		train->sent += sent;
	}
}

/* Notes a transmission. The time of the last decision is exact if it is current; otherwise the next
 * decision corrects it.
 */
static void bottleneck_on_sent(struct bottleneck *bottleneck, u64 now, bool current,
			       const struct plait_path *path)
{
	bottleneck->free = add_capped(max(bottleneck->free, now), spacing(bottleneck, path));
	maximum_note(&bottleneck->backlog, now, least_round_trip(bottleneck, path),
		     bottleneck->free - now);
	bottleneck->in_flight++;
	if (current)
		extend(bottleneck, now, 1, path);
	else
		bottleneck->sent++;
}

/* Ends the train: a lost packet needed no time at the bottleneck. */
static void end_train(struct bottleneck *bottleneck)
{
	bottleneck->sent = 0;
	bottleneck->train.begun = false;
}

/* Notes lost segments, at the time of the last decision. If several are lost at once, the queue has
 * overflowed. It holds no more than the largest backlog of the last one to two round trips. Single
 * losses, and those after a small backlog, count as random.
 */
static void bottleneck_on_lost(struct bottleneck *bottleneck, u64 now, u32 segments,
			       const struct plait_path *path)
{
	u64 backlog = maximum_get(&bottleneck->backlog);

	bottleneck->in_flight = less(bottleneck->in_flight, segments);
	if (segments >= OVERFLOW && backlog >= mul_capped(spacing(bottleneck, path), SMALLEST))
		minimum_note(&bottleneck->capacity, now, backlog);
	end_train(bottleneck);
}

/* The spacing that the train shows, if the newest acknowledgment ends it; otherwise 0. */
static u64 measure(struct bottleneck *bottleneck, u64 now, u32 acked, const struct plait_path *path)
{
	u64 waited = less(path->latest_rtt, least_round_trip(bottleneck, path));
	struct train *train = &bottleneck->train;
	u64 sent, back, each;
	bool queued, smaller;

	/* A retransmission fills a gap, and many segments are acknowledged at once. */
	if (path->repairing)
		train->begun = false;
	if (!train->begun)
		return 0;
	if (train->acknowledged) {
		train->acked += acked;
		train->moments++;
	} else if (acked < train->ahead) {
		train->ahead -= acked;
		return 0;
	} else {
		/* The acknowledgment may cover more of the train: the train begins at its end. */
		train->acknowledged = true;
		train->first_acked = now;
		bottleneck->free = less(bottleneck->free, less(train->wait, waited));
		train->sent = less(train->sent, acked - train->ahead);
	}
	if (train->sent >= SHORTEST && train->acked < train->sent && path->in_flight)
		return 0;
	train->begun = false;
	if (train->acked < SHORTEST || train->moments < MOMENTS)
		return 0;
	sent = train->last_sent - train->first_sent;
	back = now - train->first_acked;
	each = div_u64(max(back, sent), train->acked);
	queued = back > sent / 8 * 9 ||
		 path->latest_rtt > least_round_trip(bottleneck, path) / 8 * 9;
	/* The sender may have spaced the train: its spacing is an upper bound. */
	smaller = has_train(bottleneck) && each < minimum_get(&bottleneck->spacing);
	return queued || smaller ? each : 0;
}

/* Evaluates the events since the last decision. */
static void refresh(struct bottleneck *bottleneck, u64 now, const struct plait_path *path,
		    bool trains)
{
	u32 sent = bottleneck->sent, acked = bottleneck->acked;
	u64 measured, each, latest, earliest = 0;
	u32 flying;

	bottleneck->sent = 0;
	bottleneck->acked = 0;
	if (path->in_flight < path->cwnd)
		bottleneck->in_flight = path->in_flight;
	if (sent) {
		each = spacing(bottleneck, path);
		bottleneck->free = max(bottleneck->free, add_capped(now, mul_capped(each, sent)));
		extend(bottleneck, now, sent, path);
	}
	if (bottleneck->sampled)
		minimum_note(&bottleneck->round_trip, now, bottleneck->sample);
	bottleneck->sampled = false;
	if (!acked)
		return;
	measured = measure(bottleneck, now, acked, path);
	if (measured && trains)
		minimum_note(&bottleneck->spacing, now, measured);
	each = spacing(bottleneck, path);
	flying = in_flight(bottleneck, path);
	latest = add_capped(now, mul_capped(each, flying));
	if (flying)
		earliest = max(add_capped(bottleneck->last_sent, each),
			       less(latest, least_round_trip(bottleneck, path)));
	bottleneck->free = max(min(bottleneck->free, latest), earliest);
}

/* 1. Earliest arrival. */

struct prediction {
	s64 arrival;
	s64 delay;			/* of the path; decides ties */
};

static bool sooner(const struct prediction *a, const struct prediction *b)
{
	return a->arrival < b->arrival || (a->arrival == b->arrival && a->delay < b->delay);
}

/* The time when the bottleneck will have transmitted a segment that is assigned to the path now,
 * behind before others.
 */
static s64 departure(const struct earliest *earliest, const struct plait_path *path, u32 before)
{
	const struct bottleneck *bottleneck = &earliest->bottlenecks[path->id];
	u32 flying = in_flight(bottleneck, path);
	u64 place = (u64)flying + path->queued + before;
	u32 window = max(min(path->cwnd, path->limit), 1U), rest;
	s64 now = as_signed(earliest->now), free = as_signed(bottleneck->free), departs;
	u64 each = spacing(bottleneck, path), rounds = 0;

	/* The segment a window earlier is in flight, or leaves some round trips from now. */
	if (place >= window) {
		rounds = div_u64_rem(less(place, max(window, flying)), window, &rest) + 1;
		place = rest;
	}
	if (place < flying)
		departs = earlier(free, mul_capped(each, flying - place - 1));
	else
		departs = later(max(free, now), mul_capped(each, place - flying + 1));
	return max(later(departs, mul_capped(path->srtt, rounds)), now);
}

/* Predicts the arrival of a segment that is assigned to the path now, behind before others; false
 * if the path takes no such segment.
 */
static bool predict(const struct earliest *earliest, const struct plait_path *path, u32 before,
		    u32 candidates, struct prediction *prediction)
{
	bool unmeasured = earliest->trains && !is_measured(&earliest->bottlenecks[path->id], path);
	bool has_room = room(path) > before;
	s64 delay;

	if (path->in_recovery)
		return false;
	if (!has_room && (suspects_exclude(earliest->suspects, path->id, candidates) ||
			  (unmeasured && (candidates & (candidates - 1)))))
		return false;
	delay = path_delay(earliest, path);
	if (delay != PLAIT_UNKNOWN) {
		*prediction = (struct prediction){
			plus(departure(earliest, path, before), delay), delay
		};
		return true;
	}
	/* An unmeasured path goes before all others, to be measured. */
	*prediction = (struct prediction){ S64_MIN, S64_MIN };
	return has_room;
}

/* The next assignment; a wait if there is none. */
static struct plait_decision assign(const struct earliest *earliest,
				    const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *path, *best = NULL, *rival = NULL;
	struct prediction soonest = {}, second = {}, next;
	u32 candidates = usable(paths, count);
	u32 open = open_paths(paths, count);
	u32 segments, most;
	u64 ahead;

	if (!sendable(connection) || !open)
		return plait_wait();
	for_each_path_of(path, candidates, paths, count) {
		if (!predict(earliest, path, 0, candidates, &next))
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
	if (!best)
		return plait_wait();
	ahead = min_t(u64, mul_capped(max(best->cwnd, 1U), AHEAD), U32_MAX);
	most = min(clip(less(ahead, best->queued), sendable(connection)), RUN);
	if (!most)
		return plait_wait();
	/* Assignments do not change the facts of the other paths, so one decision covers all
	 * segments that arrive first over this path.
	 */
	for (segments = 1; segments < most; segments++) {
		if (!(open & ~BIT(best->id)) && room(best) <= segments)
			break;
		if (!predict(earliest, best, segments, candidates, &next))
			break;
		if (rival && !sooner(&next, &second) &&
		    (sooner(&second, &next) || rival->id < best->id))
			break;
	}
	return plait_assign(best->id, segments);
}

/* 3. Limits. */

/* The limit that a path should have. */
static u32 wanted_limit(const struct earliest *earliest, const struct plait_path *path,
			const struct plait_connection *connection)
{
	const struct bottleneck *bottleneck = &earliest->bottlenecks[path->id];
	u64 each, product, queue, fill, backlog, limit;

	if (!has_train(bottleneck) || path->cwnd < path->ssthresh || path->pacing_rate)
		return PLAIT_NONE;
	each = max_t(u64, spacing(bottleneck, path), 1);
	product = divide_up(least_round_trip(bottleneck, path), each);
	queue = max_t(u64, BURST, product / 4 + 3);
	fill = capacity(bottleneck, path);
	if (fill != U64_MAX)
		queue = min(queue, max_t(u64, div_u64(fill * 2, 5), LEAST));
	backlog = divide_up(less(bottleneck->free, earliest->now), each);
	/* Endless data always waits for the window, so its queues are drained, too. */
	if (connection->unassigned > connection->window_left)
		limit = less(path->in_flight + queue, backlog);
	else
		limit = path->in_flight + less(queue, backlog);
	limit = max_t(u64, limit, 2);
	return limit >= path->cwnd ? PLAIT_NONE : limit;
}

/* Finds the next change of a limit. Limits matter only while there is data to send. */
static bool limited(const struct earliest *earliest, const struct plait_connection *connection,
		    const struct plait_path *paths, unsigned int count,
		    struct plait_decision *decision)
{
	const struct plait_path *path;
	u32 wanted;

	for_each_path(path, paths, count) {
		if (!path->queued && !sendable(connection))
			continue;
		wanted = wanted_limit(earliest, path, connection);
		if (wanted == path->limit)
			continue;
		if (wanted != PLAIT_NONE && path->limit != PLAIT_NONE &&
		    max(wanted, path->limit) - min(wanted, path->limit) <= 1)
			continue;
		*decision = plait_limit(path->id, wanted);
		return true;
	}
	return false;
}

/* The time of the next decision if no event happens before, while limits hold paths back: a third
 * of the burst has left a bottleneck then. U64_MAX if no limit does.
 */
static u64 next_limit(const struct earliest *earliest, const struct plait_connection *connection,
		      const struct plait_path *paths, unsigned int count)
{
	u32 candidates = usable(paths, count);
	u64 first = U64_MAX, third, at;
	const struct plait_path *path;
	bool held_back = false;

	for_each_path_of(path, candidates, paths, count) {
		if (path->limit >= path->cwnd || path->in_flight < path->limit ||
		    (!path->queued && !sendable(connection)))
			continue;
		third = mul_capped(spacing(&earliest->bottlenecks[path->id], path), BURST / 3);
		first = min(first, third);
		held_back = true;
	}
	at = add_capped(earliest->now, max_t(u64, first, TIMER));
	return held_back ? at : U64_MAX;
}

/* The flight: the newest segments, with the times at which they leave the bottlenecks. */

/* The arrival of a segment that left the bottleneck of a path at this time. */
static s64 arrival_at(const struct earliest *earliest, u8 path, u64 departure,
		      const struct plait_path *paths, unsigned int count)
{
	s64 delay = path < count ? path_delay(earliest, &paths[path]) : PLAIT_UNKNOWN;

	return delay == PLAIT_UNKNOWN ? S64_MAX : plus(as_signed(departure), delay);
}

/* The arrival of the segment at this place. */
static s64 arrival_of(const struct earliest *earliest, u32 place, const struct plait_path *paths,
		      unsigned int count)
{
	const struct flight *flight = &earliest->flight;

	return arrival_at(earliest, flight->carrier[place], flight->departure[place], paths, count);
}

static u32 place_of(u64 segment)
{
	return segment % SEGMENTS;
}

static bool is_remembered(const struct flight *flight, u64 segment)
{
	u32 place = place_of(segment);

	return flight->carried[place] && flight->lap[place] == (u16)(segment / SEGMENTS);
}

static void flight_on_sent(struct earliest *earliest, const struct plait_event *event,
			   const struct plait_path *paths, unsigned int count)
{
	struct flight *flight = &earliest->flight;
	u64 free = earliest->bottlenecks[event->path].free;
	u32 place = place_of(event->amount);
	bool lost;

	/* The engine may not know the number. */
	if (event->amount == U64_MAX)
		return;
	flight->end = max(flight->end, event->amount + 1);
	if (event->amount < less(flight->end, SEGMENTS))
		return;
	if (!is_remembered(flight, event->amount)) {
		flight->departure[place] = free;
		flight->lap[place] = event->amount / SEGMENTS;
		flight->carried[place] = 0;
		flight->carrier[place] = event->path;
	} else {
		/* The engine sent a lost segment again, on its path or on one without a copy. */
		lost = flight->carrier[place] == event->path ||
		       (event->retransmission && !(flight->carried[place] & BIT(event->path)));
		if (lost || arrival_at(earliest, event->path, free, paths, count) <
			    arrival_of(earliest, place, paths, count)) {
			flight->departure[place] = free;
			flight->carrier[place] = event->path;
		}
	}
	flight->carried[place] |= BIT(event->path);
}

/* Forgets the copies on a path that failed or timed out. The copy that arrives first stays, so that
 * its delay shows its loss.
 */
static void forget(struct flight *flight, u8 path)
{
	u32 place;

	for (place = 0; place < SEGMENTS; place++)
		if (flight->carrier[place] != path)
			flight->carried[place] &= ~BIT(path);
}

/* 4. Copies, 5. last copies, and 6. first copies. */

/* True after the last byte was assigned. */
static bool is_ending(const struct earliest *earliest, const struct plait_connection *connection)
{
	return earliest->last_copies && connection->finished && !connection->unassigned;
}

/* The time after which the segment at this place counts as lost without an acknowledgment. */
static s64 patience(const struct earliest *earliest, u32 place, const struct plait_path *carrier,
		    bool last)
{
	s64 round = as_signed(least_round_trip(&earliest->bottlenecks[carrier->id], carrier));
	s64 variation = as_signed(carrier->rttvar);
	s64 late = last ? variation : round / 4 + min(4 * variation, round);

	return plus(as_signed(earliest->flight.departure[place]), round + variation / 2 + late);
}

/* The time when the oldest segment that an idle path may copy counts as lost; U64_MAX if there is
 * none, or if it already does.
 */
static u64 next_copy(const struct earliest *earliest, const struct plait_connection *connection,
		     const struct plait_path *paths, unsigned int count)
{
	bool last = is_ending(earliest, connection);
	const struct flight *flight = &earliest->flight;
	u32 open = open_paths(paths, count), place;
	u64 first = U64_MAX;
	const struct plait_path *path;
	s64 ahead;

	if (!earliest->copies || sendable(connection))
		return U64_MAX;
	for_each_path_of(path, open, paths, count) {
		place = place_of(path->uncarried);
		if (path->uncarried == PLAIT_UNKNOWN || !is_remembered(flight, path->uncarried) ||
		    flight->carrier[place] >= count)
			continue;
		ahead = patience(earliest, place, &paths[flight->carrier[place]], last) -
			as_signed(earliest->now);
		if (ahead >= 0)
			first = min(first, (u64)ahead);
	}
	if (first == U64_MAX)
		return U64_MAX;
	return add_capped(earliest->now, max_t(u64, first, TIMER));
}

/* The arrival of the oldest segment in flight that a path lacks, which may be lost. A segment that
 * is no longer remembered counts as lost.
 */
static s64 due(const struct earliest *earliest, u64 segment, s64 delay, bool last,
	       const struct plait_path *paths, unsigned int count)
{
	const struct flight *flight = &earliest->flight;
	s64 now = as_signed(earliest->now), round;
	u32 place = place_of(segment);
	const struct plait_path *carrier;
	bool silent;

	if (!is_remembered(flight, segment))
		return segment < less(flight->end, SEGMENTS) ? S64_MAX : S64_MIN;
	if (flight->carrier[place] >= count)
		return S64_MIN;
	carrier = &paths[flight->carrier[place]];
	silent = now > patience(earliest, place, carrier, last);
	if (silent || (carrier->state != PLAIT_ACTIVE && carrier->state != PLAIT_BACKUP) ||
	    (earliest->suspects & BIT(carrier->id))) {
		round = as_signed(least_round_trip(&earliest->bottlenecks[carrier->id], carrier));
		return plus(plus(now, delay), round + round / 2);
	}
	return arrival_of(earliest, place, paths, count);
}

/* The first segment from this one on that the path lacks and that arrives after a time; the end if
 * there is none. Predictions seldom change, so earlier segments need no second look.
 */
static u64 next_late(const struct earliest *earliest, u64 segment, u8 path, s64 time,
		     const struct plait_path *paths, unsigned int count)
{
	const struct flight *flight = &earliest->flight;
	u32 place;

	for (segment = max(segment, less(flight->end, SEGMENTS)); segment < flight->end; segment++) {
		place = place_of(segment);
		if (is_remembered(flight, segment) && !(flight->carried[place] & BIT(path)) &&
		    time < arrival_of(earliest, place, paths, count))
			break;
	}
	return flight->end > segment ? segment : flight->end;
}

/* Finds the most useful copy on an idle path. */
static bool copy(struct earliest *earliest, const struct plait_connection *connection,
		 const struct plait_path *paths, unsigned int count,
		 struct plait_decision *decision)
{
	bool last = is_ending(earliest, connection);
	bool first = earliest->first_copies && connection->unassigned;
	u32 candidates = usable(paths, count), open = open_paths(paths, count);
	s64 now = as_signed(earliest->now), soonest = 0, own, useful;
	struct flight *flight = &earliest->flight;
	const struct plait_path *path, *best = NULL;
	const struct bottleneck *bottleneck;
	u64 segment, found = 0, idle;
	struct prediction copied;
	bool fresh;

	if (!connection->has_oldest)
		return false;
	for_each_path_of(path, open, paths, count) {
		if (path->uncarried == PLAIT_UNKNOWN ||
		    !predict(earliest, path, 0, candidates, &copied) ||
		    copied.arrival == S64_MIN || path->in_flight >= path->limit)
			continue;
		bottleneck = &earliest->bottlenecks[path->id];
		/* Copies do not queue up behind one another and delay new data. */
		idle = add_capped(earliest->now, mul_capped(spacing(bottleneck, path), 2));
		if (!last && bottleneck->free > idle)
			continue;
		own = max_t(s64, plus(copied.arrival - now, -copied.delay), 0);
		own = later(own, least_round_trip(bottleneck, path) / 2);
		useful = plus(copied.arrival, last ? 0 : own / 4);
		segment = path->uncarried;
		fresh = earliest->copied[path->id] != segment;
		if (!fresh || useful >= due(earliest, segment, copied.delay, last, paths, count)) {
			u64 *cursor = &earliest->cursors[path->id];

			*cursor = next_late(earliest, max(*cursor, connection->oldest_unacked),
					    path->id, useful, paths, count);
			if (*cursor < flight->end)
				segment = *cursor;
			else if (!fresh || !(last || (first && is_unused(bottleneck))))
				continue;
		}
		if (!best || copied.arrival < soonest) {
			best = path;
			soonest = copied.arrival;
			found = segment;
		}
	}
	if (!best)
		return false;
	earliest->copied[best->id] = found;
	if (is_remembered(flight, found))
		flight->carried[place_of(found)] |= BIT(best->id);
	*decision = (struct plait_decision){
		.kind = PLAIT_REINJECT, .path = best->id, .amount = found
	};
	return true;
}

/* The interface. */

static u32 needs(void)
{
	return PLAIT_NEEDS_ASSIGN_AHEAD | PLAIT_NEEDS_RECALL | PLAIT_NEEDS_REINJECT |
	       PLAIT_NEEDS_LIMIT | PLAIT_NEEDS_UNCARRIED;
}

static void init(void *state)
{
	struct earliest *earliest = state;
	int i;

	earliest->trains = plait_value(&plait_trains);
	earliest->limits = plait_value(&plait_limits);
	earliest->copies = plait_value(&plait_copies);
	earliest->last_copies = plait_value(&plait_last_copies);
	earliest->first_copies = plait_value(&plait_first_copies);
	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		earliest->copied[i] = U64_MAX;
		bottleneck_init(&earliest->bottlenecks[i]);
	}
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	struct earliest *earliest = state;
	struct plait_decision decision;
	const struct plait_path *path;
	u64 until;
	int i;

	if (!earliest->current || earliest->now != now) {
		earliest->now = now;
		earliest->current = true;
		for (i = 0; i < PLAIT_PATHS_MAX; i++)
			earliest->copied[i] = U64_MAX;
		earliest->one_way = any_forward_delay(paths, count);
		for_each_path(path, paths, count)
			refresh(&earliest->bottlenecks[path->id], now, path, earliest->trains);
	}
	if (earliest->limits && limited(earliest, connection, paths, count, &decision))
		return decision;
	path = next_recall(&earliest->recalls, paths, count);
	if (path)
		return plait_recall(path->id);
	/* Assignments from here on stay until the next event. */
	earliest->recalls = 0;
	decision = assign(earliest, connection, paths, count);
	if (decision.kind != PLAIT_WAIT)
		return decision;
	if (earliest->copies && !sendable(connection) &&
	    copy(earliest, connection, paths, count, &decision))
		return decision;
	until = min(next_limit(earliest, connection, paths, count),
		    next_copy(earliest, connection, paths, count));
	if (until != U64_MAX)
		decision.amount = until;
	return decision;
}

static void on_event(void *state, const struct plait_event *event,
		     const struct plait_connection *connection, const struct plait_path *paths,
		     unsigned int count)
{
	struct earliest *earliest = state;
	struct bottleneck *bottleneck;
	u32 bit = BIT(event->path);
	bool all = true;

	if (event->path >= count)
		return;
	bottleneck = &earliest->bottlenecks[event->path];
	switch (event->kind) {
	case PLAIT_SENT:
		bottleneck_on_sent(bottleneck, earliest->now, earliest->current,
				   &paths[event->path]);
		flight_on_sent(earliest, event, paths, count);
		return;
	case PLAIT_ACKED:
		bottleneck->acked += event->amount;
		bottleneck->in_flight = less(bottleneck->in_flight, event->amount);
		if (event->rtt) {
			bottleneck->sample = event->rtt;
			bottleneck->sampled = true;
		}
		all = (earliest->repairing & bit) && !paths[event->path].repairing;
		break;
	case PLAIT_PATH_UP:
		bottleneck_init(bottleneck);
		break;
	case PLAIT_LOST:
		bottleneck_on_lost(bottleneck, earliest->now, event->amount, &paths[event->path]);
		all = !(earliest->repairing & bit);
		break;
	default:
		end_train(bottleneck);
		forget(&earliest->flight, event->path);
	}
	earliest->current = false;
	suspects_on_event(&earliest->suspects, event);
	if (event->kind != PLAIT_ACKED)
		memset(earliest->cursors, 0, sizeof(earliest->cursors));
	if (!all)
		return;
	/* A plan costs as much as the queued segments. The losses of one window cause two plans: at
	 * the first loss, and at the end of loss recovery.
	 */
	earliest->repairing &= ~bit;
	if (paths[event->path].repairing)
		earliest->repairing |= bit;
	earliest->recalls = U32_MAX;
}

const struct plait_algorithm plait_earliest_arrival = {
	.name = "plait",
	.kernel_name = "plait",
	.state_size = sizeof(struct earliest),
	.by_packet = true,
	.parameters = parameters,
	.needs = needs,
	.init = init,
	.decide = decide,
	.on_event = on_event,
};
