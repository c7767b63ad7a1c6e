// SPDX-License-Identifier: GPL-2.0-only
/* DAPS in rounds: every path gets a window of segments each time one of its forward delays has
 * passed.
 *
 * Sarwar et al., Mitigating Receiver's Buffer Blocking by Delay Aware Packet Scheduling in
 * Multipath Data Transfer (IEEE WAINA 2013), in the form for n paths of Ferlin's MPTCP port. With
 * D_i = srtt_i / 2, walk t = D_min ... lcm(D_1 ... D_n). At each t every path with t mod D_i = 0,
 * by ascending D, gets the next cwnd_i segments, assigned ahead. The walk goes only as far as
 * needed: until the queue of every usable path covers its room.
 *
 * daps_rounds_spacing: "one-way" is as printed. A path needs a whole round trip for a window, and
 * segments in flight have left already. So "round-trip" gives the present room at t = D_i and
 * cwnd_i every 2 D_i after that.
 *
 * daps_rounds_replan: "always" recalls all queues and starts again at every opportunity with an
 * open path; "exhausted" does when the period is over, or when a path timed out, failed or came
 * back.
 *
 * Real delays have no small common multiple: D_i is rounded to a multiple of D_min, and both the
 * multiple and the period are capped at daps_rounds_max_period. A path in loss recovery misses its
 * rounds. A path that timed out gets only segments that it can send at once.
 */
#include "helpers.h"

PLAIT_CHOICE(daps_rounds_replan,
	     "recalls all queued segments and plans again at every opportunity (always), or only when the period is over (exhausted), which is cheaper",
	     "exhausted", "always");
PLAIT_CHOICE(daps_rounds_spacing,
	     "a window of segments per forward delay (one-way), as printed, or per round trip (round-trip)",
	     "round-trip", "one-way");
PLAIT_INTEGER(daps_rounds_max_period, 64, 1, 65536,
	      "longest period, and largest ratio of delays that is distinguished, in smallest forward delays");
PLAIT_BOOLEAN(daps_rounds_guard, 0,
	      "1: the rule applies only while the paths are unequal and steady, otherwise round-robin; 0: it always applies");
PLAIT_INTEGER(daps_rounds_guard_asymmetry_milli, 2000, 1000, 1000000000,
	      "with daps_rounds_guard: smallest ratio of the slowest path's round-trip time to the fastest path's, in thousandths");

/* In the order of the words. */
enum { EXHAUSTED, ALWAYS };
enum { ROUND_TRIP, ONE_WAY };

static struct plait_parameter *const parameters[] = {
	&daps_rounds_replan, &daps_rounds_spacing, &daps_rounds_max_period,
	&daps_rounds_guard, &daps_rounds_guard_asymmetry_milli, NULL
};

/* The rounds of one path in a period; times are multiples of D_min. */
struct round {
	u32 due;		/* time of the next round */
	u32 every;		/* D_i */
	u32 step;		/* time between two rounds */
	u32 first;		/* segments of the first round */
	u32 segments;		/* cwnd_i at the beginning of the period */
	u8 path;
};

struct walk {
	struct round rounds[PLAIT_PATHS_MAX];
	u8 length;		/* 0: no walk is on */
	u32 end;		/* the last t of the period */
};

struct daps_rounds {
	u8 replan;
	u8 spacing;
	bool blind;		/* round-robin for the rest of this opportunity */
	bool overtaken;		/* a path timed out, failed or came back since the plan was made */
	u32 max_period;
	/* The queues that may still be recalled in this opportunity. Each is recalled at most once,
	 * because recalled segments are assigned again and would be recalled forever.
	 */
	u32 recalls;
	u32 suspects;
	struct rotation rotation;
	struct opportunity opportunity;
	struct guard guard;
	struct walk walk;
};

static u32 needs(void)
{
	return PLAIT_NEEDS_ASSIGN_AHEAD | PLAIT_NEEDS_RECALL;
}

static void init(void *state)
{
	struct daps_rounds *daps = state;

	daps->replan = plait_value(&daps_rounds_replan);
	daps->spacing = plait_value(&daps_rounds_spacing);
	daps->max_period = plait_value(&daps_rounds_max_period);
	daps->rotation.per_turn = U32_MAX;
	daps->guard.enabled = plait_value(&daps_rounds_guard);
	daps->guard.round_trip = SMOOTHED;
	daps->guard.asymmetry_milli = plait_value(&daps_rounds_guard_asymmetry_milli);
}

/* A delay as a multiple of the smallest: rounded to nearest (a half up), from 1 to most. */
static u32 quantize(u64 delay, u64 smallest, u32 most)
{
	return max(clip(most, ratio(delay + smallest / 2, smallest)), 1U);
}

/* The least common multiple of two positive numbers, or most if it is larger. */
static u32 capped_lcm(u32 a, u32 b, u32 most)
{
	u32 divisor = a, rest = b, next;

	while (rest) {
		next = divisor % rest;
		divisor = rest;
		rest = next;
	}
	return clip(most, (u64)(a / divisor) * b);
}

/* Begins a period with the present delays and windows; all usable paths are measured. */
static void start_walk(struct daps_rounds *daps, const struct plait_path *paths, unsigned int count)
{
	u32 candidates = usable(paths, count);
	const struct plait_path *fast = fastest(candidates, paths, count), *path;
	struct walk *walk = &daps->walk;
	struct round *round;

	walk->length = 0;
	walk->end = 1;
	for_each_path_of(path, candidates, paths, count) {
		if (!path->cwnd || path->in_recovery)
			continue;
		round = &walk->rounds[walk->length++];
		round->path = path->id;
		round->every = quantize(path->srtt, fast->srtt, daps->max_period);
		round->due = round->every;
		if (daps->spacing == ONE_WAY) {
			round->step = round->every;
			round->first = path->cwnd;
		} else {
			round->step = 2 * round->every;
			round->first = window_room(path);
		}
		round->segments = path->cwnd;
		if (suspects_exclude(daps->suspects, path->id, candidates)) {
			round->first = window_room(path);
			round->segments = 0;
		}
		walk->end = capped_lcm(walk->end, round->every, daps->max_period);
	}
	if (daps->spacing == ROUND_TRIP)
		walk->end *= 2;
}

/* The next round: the first by time, then by ascending D, then by number. */
static struct round *next_round(struct walk *walk)
{
	struct round *round, *next = NULL;

	for (round = walk->rounds; round < walk->rounds + walk->length; round++)
		if (!next || round->due < next->due ||
		    (round->due == next->due && round->every < next->every))
			next = round;
	return next;
}

/* Finds the next step: the path whose round is due, and its number of segments. At the end of the
 * period it stops the walk and returns false.
 */
static bool step(struct walk *walk, const struct plait_path *paths, unsigned int count,
		 u64 unassigned, struct plait_decision *decision)
{
	u32 candidates = usable(paths, count);
	struct round *round;
	u32 segments;

	while ((round = next_round(walk))) {
		if (round->due > walk->end)
			break;
		segments = round->due == round->every ? round->first : round->segments;
		round->due += round->step;
		if (paths[round->path].in_recovery || !(candidates & BIT(round->path)))
			continue;
		if (segments) {
			*decision = plait_assign(round->path, clip(segments, unassigned));
			return true;
		}
	}
	walk->length = 0;
	return false;
}

static void begin(struct daps_rounds *daps, const struct plait_path *paths, unsigned int count)
{
	/* The guard also checks while paths are unmeasured, because it compares with its last
	 * check.
	 */
	bool admitted = guard_admits(&daps->guard, paths, count);

	daps->blind = !admitted || !all_measured(usable(paths, count), paths, count);
	if (daps->blind || daps->replan == ALWAYS)
		daps->walk.length = 0;
	daps->recalls = U32_MAX;
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	struct daps_rounds *daps = state;
	const struct plait_path *path;
	struct plait_decision decision;

	if (opportunity_begins(&daps->opportunity, now))
		begin(daps, paths, count);
	if (!open_paths(paths, count))
		return opportunity_end(&daps->opportunity);
	/* Queued segments of the previous plan are planned again, even if there is no other data to
	 * plan.
	 */
	if (daps->overtaken) {
		path = next_recall(&daps->recalls, paths, count);
		if (path)
			return plait_recall(path->id);
	}
	daps->overtaken = false;
	if (!sendable(connection))
		return opportunity_end(&daps->opportunity);
	if (daps->blind)
		return rotate(&daps->rotation, connection, paths, count);
	/* A period that is over, or was never begun, has no next step. Some path is open, so a new
	 * period has one.
	 */
	while (!step(&daps->walk, paths, count, connection->unassigned, &decision)) {
		path = next_recall(&daps->recalls, paths, count);
		if (path)
			return plait_recall(path->id);
		/* Assignments of a period in progress stay, however many periods this opportunity
		 * takes.
		 */
		daps->recalls = 0;
		start_walk(daps, paths, count);
	}
	return decision;
}

static void on_event(void *state, const struct plait_event *event,
		     const struct plait_connection *connection, const struct plait_path *paths,
		     unsigned int count)
{
	struct daps_rounds *daps = state;

	opportunity_on_event(&daps->opportunity, event);
	suspects_on_event(&daps->suspects, event);
	if (daps->guard.enabled)
		guard_on_event(&daps->guard, event);
	switch (event->kind) {
	case PLAIT_TIMEOUT:
	case PLAIT_PATH_DOWN:
	case PLAIT_PATH_UP:
		daps->walk.length = 0;
		daps->overtaken = true;
		break;
	}
}

const struct plait_algorithm plait_daps_rounds = {
	.name = "daps-rounds",
	.kernel_name = "daps-rounds",
	.state_size = sizeof(struct daps_rounds),
	.by_packet = true,
	.parameters = parameters,
	.needs = needs,
	.init = init,
	.decide = decide,
	.on_event = on_event,
};
