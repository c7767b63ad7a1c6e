// SPDX-License-Identifier: GPL-2.0-only
/* DAPS, the literal algorithm: some segments go on the fast path and the next ones on the slow
 * path, so that they arrive in order.
 *
 * Kuhn et al., DAPS (IEEE ICC 2014). Algorithm 3 makes a schedule, Algorithm 2 transmits it:
 * - if at most cwnd_f - unack_f segments are left to send, the fast path takes them all;
 * - eta = floor(r_s / r_f); max_f = min(eta, cwnd_f - unack_f);
 * - the next max_f segments go on the fast path f, the cwnd_s - unack_s after them on the slow path
 *   s.
 *
 * daps_fast_limit: "literal" is the formula as printed, which limits one schedule. "outstanding" is
 * max_f = min(eta, cwnd_f) - unack_f: eta limits the segments in flight on f. With "reserved" a
 * schedule puts min(eta, cwnd_f - unack_f) on f, of which at most eta are in flight; the others
 * keep their numbers and wait.
 *
 * daps_schedule: "anew" makes one schedule per opportunity; "to-end" keeps it until the receiver's
 * window admits it.
 *
 * daps_round_trip: how r_s and r_f are measured (helpers.h).
 *
 * The inner `while` of Algorithm 2 is read as `if`: without a congestion window an element is
 * skipped. With more than two paths, the slow ones follow by ascending RTT, each after the share of
 * f that its own eta gives.
 */
#include "helpers.h"

PLAIT_CHOICE(daps_fast_limit,
	     "segments on the fast path that r_s/r_f limits: those in flight (outstanding), those of one schedule (literal), or both, while the others keep their place (reserved)",
	     "reserved", "outstanding", "literal");
PLAIT_CHOICE(daps_schedule,
	     "a new schedule at each opportunity to send (anew), or only when all segments of the last one were sent (to-end)",
	     "anew", "to-end");
PLAIT_CHOICE(daps_round_trip,
	     "round-trip times in use: of packets acknowledged on their own path (own, in Linux the smoothed one), the smallest of these (shortest), or the smoothed one",
	     ROUND_TRIPS);
PLAIT_BOOLEAN(daps_guard, 0,
	      "1: the rule applies only while the paths are unequal and steady, otherwise round-robin; 0: it always applies");
PLAIT_INTEGER(daps_guard_asymmetry_milli, 2000, 1000, 1000000000,
	      "with daps_guard: smallest ratio of the slowest path's round-trip time to the fastest path's, in thousandths");

/* In the order of the words. */
enum { RESERVED, OUTSTANDING, LITERAL };
enum { ANEW, TO_END };

static struct plait_parameter *const parameters[] = {
	&daps_fast_limit, &daps_schedule, &daps_round_trip, &daps_guard,
	&daps_guard_asymmetry_milli, NULL
};

/* S of the paper, as runs of elements on the same path. It contains no segment numbers, because the
 * data queue hands out the segments in order.
 */
struct schedule {
	struct leg {
		u32 segments;
		u8 path;
	} legs[2 * PLAIT_PATHS_MAX];
	u8 length;
	u8 at;
};

struct daps {
	u8 fast_limit;
	u8 lifetime;
	u8 round_trip;			/* enum round_trips */
	bool blind;			/* round-robin for the rest of this opportunity */
	bool may_plan;			/* a schedule may still be made in this opportunity */
	struct rotation rotation;
	struct opportunity opportunity;
	struct guard guard;
	struct schedule schedule;
};

static u32 needs(void)
{
	return plait_value(&daps_fast_limit) == RESERVED ? PLAIT_NEEDS_LIMIT : 0;
}

static void init(void *state)
{
	struct daps *daps = state;

	daps->fast_limit = plait_value(&daps_fast_limit);
	daps->lifetime = plait_value(&daps_schedule);
	daps->round_trip = plait_value(&daps_round_trip);
	daps->rotation.per_turn = U32_MAX;
	daps->guard.enabled = plait_value(&daps_guard);
	daps->guard.round_trip = daps->round_trip;
	daps->guard.asymmetry_milli = plait_value(&daps_guard_asymmetry_milli);
}

/* Appends elements, at most those that are left to be scheduled. */
static void append(struct schedule *schedule, u8 path, u32 segments, u64 *left)
{
	segments = clip(segments, *left);
	*left -= segments;
	if (segments)
		schedule->legs[schedule->length++] = (struct leg){ segments, path };
}

/* max_f: the most segments of a schedule on the fast path before those on a slow one. */
static u32 most_on_fast(u8 fast_limit, const struct plait_path *fast, u64 eta)
{
	u32 limited = clip(fast->cwnd, eta);
	u64 taken = (u64)fast->in_flight + fast->queued;

	if (fast_limit != OUTSTANDING)
		return clip(room(fast), eta);
	return limited > taken ? min_t(u32, limited - taken, room(fast)) : 0;
}

/* Algorithm 3, for measured paths. */
static void make_schedule(struct daps *daps, u64 unassigned, const struct plait_path *paths,
			  unsigned int count)
{
	struct schedule *schedule = &daps->schedule;
	u32 slow_paths = usable(paths, count);
	u8 which = daps->round_trip;
	const struct plait_path *fast = fastest_by(which, slow_paths, paths, count), *slow;
	u32 most, on_fast = 0;
	u64 left = unassigned;

	schedule->length = 0;
	schedule->at = 0;
	if (!fast)
		return;
	slow_paths &= ~BIT(fast->id);
	if (!slow_paths || unassigned <= room(fast)) {
		append(schedule, fast->id, room(fast), &left);
		return;
	}
	while (slow_paths) {
		slow = fastest_by(which, slow_paths, paths, count);
		slow_paths &= ~BIT(slow->id);
		most = most_on_fast(daps->fast_limit, fast,
				    ratio(round_trip(which, slow), round_trip(which, fast)));
		append(schedule, fast->id, most - on_fast, &left);
		on_fast = most;
		append(schedule, slow->id, room(slow), &left);
	}
}

/* Algorithm 2: finds the next elements that can be transmitted now, if any; sendable is not 0. */
static bool next_leg(struct schedule *schedule, u64 sendable, const struct plait_path *paths,
		     unsigned int count, struct plait_decision *decision)
{
	u32 open = open_paths(paths, count);
	u32 available, segments;
	struct leg *leg;

	while (schedule->at < schedule->length) {
		leg = &schedule->legs[schedule->at];
		available = open & BIT(leg->path) ? room(&paths[leg->path]) : 0;
		segments = clip(min(leg->segments, available), sendable);
		leg->segments -= segments;
		/* The rest of a leg waits only for the receiver's window. */
		if (!leg->segments || segments == available)
			schedule->at++;
		if (segments) {
			*decision = plait_assign(leg->path, segments);
			return true;
		}
	}
	return false;
}

/* With "reserved": finds the first limit that eta has to change, if any. */
static bool hold_back(const struct daps *daps, const struct plait_path *paths, unsigned int count,
		      struct plait_decision *decision)
{
	u32 candidates = usable(paths, count);
	const struct plait_path *path, *fast = NULL;
	u64 longest = 0;
	u32 limit;

	if (daps->fast_limit != RESERVED)
		return false;
	if (!daps->blind && (candidates & (candidates - 1)))	/* two at least */
		fast = fastest_by(daps->round_trip, candidates, paths, count);
	for_each_path_of(path, candidates, paths, count)
		longest = max(longest, round_trip(daps->round_trip, path));
	for_each_path(path, paths, count) {
		limit = PLAIT_NONE;
		if (path == fast)
			limit = clip(U32_MAX, ratio(longest, round_trip(daps->round_trip, fast)));
		if (path->limit != limit) {
			*decision = plait_limit(path->id, limit);
			return true;
		}
	}
	return false;
}

static void begin(struct daps *daps, const struct plait_path *paths, unsigned int count)
{
	/* The guard also checks while paths are unmeasured, because it compares with its last
	 * check.
	 */
	bool admitted = guard_admits(&daps->guard, paths, count);

	daps->blind = !admitted || !all_measured(usable(paths, count), paths, count);
	daps->may_plan = true;
	if (daps->blind || daps->lifetime == ANEW)
		daps->schedule.length = 0;
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	struct daps *daps = state;
	struct plait_decision decision;

	if (opportunity_begins(&daps->opportunity, now))
		begin(daps, paths, count);
	if (daps->may_plan && hold_back(daps, paths, count, &decision))
		return decision;
	if (!sendable(connection))
		return opportunity_end(&daps->opportunity);
	if (daps->blind) {
		decision = rotate(&daps->rotation, connection, paths, count);
		return decision.kind == PLAIT_WAIT ? opportunity_end(&daps->opportunity) : decision;
	}
	while (!next_leg(&daps->schedule, sendable(connection), paths, count, &decision)) {
		if (!daps->may_plan)
			return opportunity_end(&daps->opportunity);
		make_schedule(daps, connection->unassigned, paths, count);
		/* The schedule consists of room that exists now: its first element can be
		 * transmitted.
		 */
		daps->may_plan = daps->lifetime == TO_END && daps->schedule.length;
	}
	return decision;
}

static void on_event(void *state, const struct plait_event *event,
		     const struct plait_connection *connection, const struct plait_path *paths,
		     unsigned int count)
{
	struct daps *daps = state;

	opportunity_on_event(&daps->opportunity, event);
	if (daps->guard.enabled)
		guard_on_event(&daps->guard, event);
}

const struct plait_algorithm plait_daps = {
	.name = "daps",
	.kernel_name = "daps",
	.state_size = sizeof(struct daps),
	.by_packet = true,
	.parameters = parameters,
	.needs = needs,
	.init = init,
	.decide = decide,
	.on_event = on_event,
};
