// SPDX-License-Identifier: GPL-2.0-only
/* BLEST: a slower path stays unused while its segments would block the receiver's window for longer
 * than the fastest path needs to fill it.
 *
 * Ferlin, Alay, Mehani, Boreli, BLEST: Blocking Estimation-based MPTCP Scheduler for Heterogeneous
 * Networks (IFIP Networking 2016), and its authors' code. While a segment is in flight on the slow
 * path, the fast path, which is full, could send X segments. "kernel" estimates X as the code does,
 * by rounds and slow start, with lambda from 1 to 1.3; "paper" uses the formula of the text, with
 * delta. Both factors grow after a round trip in which the window was full while a path could send;
 * otherwise they shrink.
 */
#include "helpers.h"

#define ONE		1000U
#define LARGEST		1000000U	/* largest lambda and delta */
#define MAX_ROUNDS	16U

PLAIT_CHOICE(blest_reading,
	     "estimate of the segments that the fast path could send meanwhile: that of the authors' code (kernel), or the paper's formula (paper)",
	     "kernel", "paper");
PLAIT_INTEGER(blest_correction_milli, 10, 0, 1000,
	      "with blest_reading=paper: change of that estimate per round trip, in thousandths");

static struct plait_parameter *const parameters[] = {
	&blest_reading, &blest_correction_milli, NULL
};

struct extremes {
	u64 least;			/* 0 if it was never measured */
	u64 most;
};

struct blest {
	u64 changed;			/* time of the last change of the factor */
	u32 factor;			/* lambda or delta, in thousandths */
	u32 correction;
	u32 suspects;
	bool paper;
	bool blocked;			/* since then */
	struct extremes round_trips[PLAIT_PATHS_MAX];
};

static u32 needs(void)
{
	return 0;
}

static void init(void *state)
{
	struct blest *blest = state;

	blest->paper = plait_value(&blest_reading);
	blest->correction = plait_value(&blest_correction_milli);
	blest->factor = blest->paper ? ONE : 1200;
}

/* The least and the largest round-trip time of a path, including the present one. */
static struct extremes extremes_of(struct blest *blest, const struct plait_path *path)
{
	struct extremes *known = &blest->round_trips[path->id];

	if (path->srtt) {
		known->least = known->least ? min(known->least, path->srtt) : path->srtt;
		known->most = max(known->most, path->srtt);
	}
	return *known;
}

static void adapt(struct blest *blest, u64 now, const struct plait_path *fast,
		  const struct plait_path *slow)
{
	u64 period = blest->paper ? fast->srtt : extremes_of(blest, slow).least;

	if ((now > blest->changed ? now - blest->changed : 0) < period)
		return;
	blest->changed = now;
	if (blest->paper)
		blest->factor = blest->blocked ?
			min(blest->factor + blest->correction, LARGEST) :
			blest->factor - min(blest->factor, blest->correction);
	else
		blest->factor = blest->blocked ? min(blest->factor + 40, 1300U) :
			max(blest->factor - 10, ONE);
	blest->blocked = false;
}

/* The segments that the fast path could send while a segment is in flight on the slow path. */
static u64 sent_meanwhile(struct blest *blest, const struct plait_path *fast,
			  const struct plait_path *slow, u32 fast_window)
{
	struct extremes round_trips = extremes_of(blest, slow);
	u64 place = (u64)slow->in_flight + slow->queued + 1, window = max(slow->cwnd, 1U);
	u64 lasts = round_trips.most, mean, rounds = 0;

	if (place < window)
		lasts = round_trips.least +
			mul_u64_u32_div(round_trips.most - round_trips.least, place, window);
	lasts = max(lasts, slow->srtt);
	round_trips = extremes_of(blest, fast);
	mean = (round_trips.least + round_trips.most) / 2;
	if (mean)
		rounds = min_t(u64, div64_u64(lasts, mean), U32_MAX);
	rounds++;
	if (fast->ssthresh == U32_MAX)
		return (u64)fast_window * ((1U << min_t(u64, rounds, MAX_ROUNDS)) - 1);
	window = max_t(u64, fast_window, (u64)fast->ssthresh + 1);
	return mul_capped(window + (rounds - 1) / 2, rounds);
}

/* BPF has no numbers of 128 bits, and no parameter that asks for this reading. */
#ifndef __bpf__
static u32 micros(const struct plait_path *path)
{
	return min_t(u64, max_t(u64, div_u64(path->srtt, 1000), 1), U32_MAX);
}

/* X = (2 w r_f + r_s - r_f) r_s / (2 r_f r_f), multiplied out. */
static bool blocks_by_formula(const struct blest *blest, u32 fast_round, u32 slow_round,
			      u32 fast_window, u64 left)
{
	unsigned __int128 sent = (unsigned __int128)2 * fast_window * fast_round;

	sent = (sent + slow_round - fast_round) * slow_round;
	return sent * blest->factor > (unsigned __int128)(left * 2 * ONE) * ((u64)fast_round * fast_round);
}
#endif

static bool blocks(struct blest *blest, const struct plait_path *fast,
		   const struct plait_path *slow, u64 window)
{
	u64 carried = (u64)slow->in_flight + slow->queued + 1;
	/* Values beyond 32 bits are unreasonable. */
	u64 left = min_t(u64, window > carried ? window - carried : 0, U32_MAX);
	u32 fast_window = max(fast->cwnd, 1U);

#ifndef __bpf__
	if (blest->paper)
		return blocks_by_formula(blest, micros(fast), micros(slow), fast_window, left);
#endif
	return mul_capped(sent_meanwhile(blest, fast, slow, fast_window), blest->factor) > left * ONE;
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *fast, *path, *slow = fastest(open_paths(paths, count), paths, count);
	u64 most = sendable(connection);
	struct blest *blest = state;

	if (!slow)
		return plait_wait();
	if (!most) {
		for_each_path(path, paths, count)
			blest->blocked |= connection->unassigned && (path->in_flight || path->queued);
		return plait_wait();
	}
	fast = fastest(trusted(blest->suspects, usable(paths, count)), paths, count);
	if (!fast || !fast->srtt || fast->srtt >= slow->srtt)
		return plait_assign(slow->id, clip(room(slow), most));
	adapt(blest, now, fast, slow);
	if (blocks(blest, fast, slow, connection->window))
		return plait_wait();
	return plait_assign(slow->id, 1);
}

static void on_event(void *state, const struct plait_event *event,
		     const struct plait_connection *connection, const struct plait_path *paths,
		     unsigned int count)
{
	struct blest *blest = state;

	suspects_on_event(&blest->suspects, event);
	if (event->kind == PLAIT_ACKED && event->path < count)
		extremes_of(blest, &paths[event->path]);
}

const struct plait_algorithm plait_blest = {
	.name = "blest",
	.kernel_name = "blest",
	.state_size = sizeof(struct blest),
	.parameters = parameters,
	.needs = needs,
	.init = init,
	.decide = decide,
	.on_event = on_event,
};
