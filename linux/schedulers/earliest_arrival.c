// SPDX-License-Identifier: GPL-2.0-only
/* Plait: each segment goes to the path where it arrives first, by measured bottlenecks.
 *
 * The scheduler `plait` of crates/plait-sched (algorithms/plait.rs), which states the source, the
 * readings and the departures. The functions have its names. Its rules are: 1. earliest arrival, here
 * and in bursts.c; 3. limits, here; 2. trains, in bottleneck.c; 4. copies, 5. last copies, and 6. first
 * copies, in copies.c.
 *
 * The facts here have no segments that wait for retransmission on a path.
 */
#include "earliest_arrival.h"

PLAIT_BOOLEAN(plait_trains, 1,
	      "measure the bottleneck of each path by packet trains; otherwise a path delivers a congestion window per round trip");
PLAIT_BOOLEAN(plait_limits, 1, "bound the queue at the bottleneck of each path");
PLAIT_BOOLEAN(plait_copies, 1, "copy segments on idle paths where the copy arrives earlier");
PLAIT_BOOLEAN(plait_last_copies, 1,
	      "with plait_copies: copy more after the last byte has left the queues");
PLAIT_BOOLEAN(plait_first_copies, 1,
	      "with plait_copies: while data waits for the receiver's window, each measured path that has sent nothing sends a copy");

static struct plait_parameter *const parameters[] = {
	&plait_trains, &plait_limits, &plait_copies, &plait_last_copies, &plait_first_copies, NULL
};

/* The largest number of segments of one decision: each needs a prediction. */
#define RUN		256U
/* Congestion windows of segments that may wait in a path's queue. */
#define AHEAD		64U
/* Congestion windows of segments that make a limit count as a window. */
#define PLENTY		4U
/* Segments in the queue of a bottleneck, if a quarter of the bandwidth-delay product is less. */
#define BURST		24U
/* Segments in the queue of a bottleneck at least. */
#define LEAST		5U

/* 1. Earliest arrival. */

static bool sooner(const struct prediction *a, const struct prediction *b)
{
	return a->arrival < b->arrival || (a->arrival == b->arrival && a->delay < b->delay);
}

/* The time when the bottleneck will have transmitted the segment at a place of those in flight and
 * behind them.
 */
static s64 transmitted(s64 free, s64 now, u64 each, u64 flying, u64 place)
{
	if (place < flying)
		return earlier(free, mul_capped(each, flying - place - 1));
	return later(max(free, now), mul_capped(each, place - flying + 1));
}

/* The time when the bottleneck will have transmitted a segment that is assigned to the path now,
 * behind before others: the later one of the times that its rate and the window allow.
 */
static s64 departure(const struct earliest *earliest, const struct plait_path *path, u32 before)
{
	const struct bottleneck *bottleneck = &earliest->bottlenecks[path->id];
	u32 flying = plait_in_flight(bottleneck, path);
	u64 place = (u64)flying + path->queued + before;
	u32 window = max(earliest->plenty ? min(path->cwnd, path->limit) : path->cwnd, 1U), rest;
	s64 now = as_signed(earliest->now), departs, windows;
	s64 free = as_signed(plait_corrected_free(bottleneck, earliest->now, path));
	u64 each = plait_spacing(bottleneck, path), rounds;

	departs = transmitted(free, now, each, flying, place);
	/* The segment a window earlier is in flight, or leaves some round trips from now. */
	if (place >= window) {
		rounds = div_u64_rem(less(place, max(window, flying)), window, &rest) + 1;
		windows = transmitted(free, now, each, flying, rest);
		departs = max(departs, later(windows, mul_capped(path->srtt, rounds)));
	}
	return max(departs, now);
}

bool plait_predict(const struct earliest *earliest, const struct plait_path *path, u32 before,
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
	delay = plait_path_delay(earliest, path);
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

/* Predicts the arrival on a path, less the lead if the path took the last segment. */
static bool predict_led(const struct earliest *earliest, const struct plait_path *path, u32 before,
			u32 candidates, u64 lead, struct prediction *prediction)
{
	if (!plait_predict(earliest, path, before, candidates, prediction))
		return false;
	if (path->id == earliest->bursts.last)
		prediction->arrival = earlier(prediction->arrival, lead);
	return true;
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
	u64 led = plait_lead(earliest, connection, paths, count);
	u32 segments, most;
	u64 ahead;

	if (!sendable(connection) || !open)
		return plait_wait();
	for_each_path_of(path, candidates, paths, count) {
		if (!predict_led(earliest, path, 0, candidates, led, &next))
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
		if (!predict_led(earliest, best, segments, candidates, led, &next))
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
	each = max_t(u64, plait_spacing(bottleneck, path), 1);
	product = divide_up(least_round_trip(bottleneck, path), each);
	queue = max_t(u64, BURST, product / 4 + 3);
	fill = plait_capacity(bottleneck, path);
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
	const struct plait_path *path;
	u64 first = U64_MAX, each;

	for_each_path_of(path, candidates, paths, count) {
		if (path->limit >= path->cwnd || path->in_flight < path->limit ||
		    (!path->queued && !sendable(connection)))
			continue;
		each = plait_spacing(&earliest->bottlenecks[path->id], path);
		first = min(first, mul_capped(each, BURST / 3));
	}
	return add_capped(earliest->now, max_t(u64, first, TIMER));
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
		plait_bottleneck_init(&earliest->bottlenecks[i]);
	}
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	struct earliest *earliest = state;
	struct plait_decision decision;
	const struct plait_path *path;
	u64 until, windows = 0;
	int i;

	if (!earliest->exact || earliest->now != now) {
		earliest->now = now;
		earliest->exact = true;
		for (i = 0; i < PLAIT_PATHS_MAX; i++)
			earliest->copied[i] = U64_MAX;
		earliest->one_way = any_forward_delay(paths, count);
		for_each_path(path, paths, count) {
			windows += path->cwnd;
			plait_bottleneck_refresh(&earliest->bottlenecks[path->id], now, path,
						 earliest->trains);
		}
		earliest->plenty = connection->unassigned >
				   add_capped(connection->window_left, windows * PLENTY);
	}
	if (earliest->limits && limited(earliest, connection, paths, count, &decision))
		return decision;
	path = next_recall(&earliest->recalls, paths, count);
	if (path)
		return plait_recall(path->id);
	/* Assignments from here on stay until the next event. */
	earliest->recalls = 0;
	plait_note_writes(earliest, connection, paths, count);
	decision = assign(earliest, connection, paths, count);
	if (decision.kind != PLAIT_WAIT) {
		earliest->bursts.last = decision.path;
		return decision;
	}
	if (earliest->copies && !sendable(connection) &&
	    plait_copy(earliest, connection, paths, count, &decision))
		return decision;
	until = min(next_limit(earliest, connection, paths, count),
		    plait_next_copy(earliest, connection, paths, count));
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
		plait_bottleneck_on_sent(bottleneck, earliest->now, earliest->exact,
					 &paths[event->path]);
		plait_flight_on_sent(earliest, event, paths, count);
		return;
	case PLAIT_ACKED:
		plait_bottleneck_on_acked(bottleneck, event);
		all = (earliest->repairing & bit) && !paths[event->path].repairing;
		break;
	case PLAIT_PATH_UP:
		plait_bottleneck_init(bottleneck);
		break;
	case PLAIT_LOST:
		plait_bottleneck_on_lost(bottleneck, earliest->now, event->amount,
					 &paths[event->path]);
		all = !(earliest->repairing & bit);
		break;
	default:
		plait_bottleneck_end_train(bottleneck);
		plait_flight_forget(&earliest->flight, event->path);
	}
	earliest->exact = false;
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
