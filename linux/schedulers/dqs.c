// SPDX-License-Identifier: GPL-2.0-only
/* DQS: fills each path to its send window, by ascending average time of a successful transmission.
 *
 * Huang and Zhang, A Data Scheduling Scheme Based on Double Queue and Send-window. Segments are
 * dispatched to paths by ascending T_i = (1 - l^4) FT_i + (l + l^2 + l^3 - 3 l^4) RTO_i (eq. 9), as
 * many as fill the path's window. l is the loss rate, FT_i = RTT_i / 2 (eq. 1) and RTT_i <- 0.75
 * RTT_i + 0.25 sample (eq. 2). When a path fails or times out, its queued segments return to the
 * data queue.
 *
 * dqs_window: "free" is the free part of the send window. "whole", step 2 read literally, is a
 * window of segments for each path whose queue is empty. Before its first sample a path has its
 * smoothed RTT, or zero, so that it goes first. A path that timed out comes last until it
 * acknowledges something. Otherwise its own segments might be dispatched to it again.
 */
#include "helpers.h"

PLAIT_CHOICE(dqs_window,
	     "segments for a path: the free part of its send window (free), or a whole window when its queue is empty (whole)",
	     "free", "whole");

enum { FREE, WHOLE };	/* in the order of the words */

static struct plait_parameter *const parameters[] = { &dqs_window, NULL };

struct dqs {
	bool whole;
	u32 recalls;
	u32 suspects;
	u64 rtt[PLAIT_PATHS_MAX];	/* RTT_i; 0 before the first sample */
};

static u32 needs(void)
{
	u32 needs = PLAIT_NEEDS_RECALL;

	if (plait_value(&dqs_window) == WHOLE)
		needs |= PLAIT_NEEDS_ASSIGN_AHEAD;
	return needs;
}

static void init(void *state)
{
	struct dqs *dqs = state;

	dqs->whole = plait_value(&dqs_window) == WHOLE;
}

/* Eq. (9), for a loss rate in parts per million (larger ones count as the whole). */
static u64 transmission_time(u64 forward, u64 rto, u32 loss_ppm)
{
	/* The factors have 18 decimals: the products of times and factors take 128 bits. */
	const u64 one = 1000000000000000000;
	const u32 ppm = 1000000;
	u64 first = min(loss_ppm, ppm);
	u64 second = first * first;
	u64 third = second * first;
	u64 fourth = mul_u64_u64_div_u64(third, first, ppm);
	u64 arrived = one - fourth;
	u64 lost = first * ppm * ppm + second * ppm + third - 3 * fourth;
	u64 whole_forward = mul_u64_u64_div_u64(arrived, forward, one);
	u64 whole_rto = mul_u64_u64_div_u64(lost, rto, one);
	/* Both are rounded down; the fractions may add up to one more. The remainders are the
	 * differences modulo 2^64, because they are less than that.
	 */
	u64 rest = (arrived * forward - whole_forward * one) + (lost * rto - whole_rto * one);

	return whole_forward + whole_rto + (rest >= one);
}

/* T_i: the average time of a successful transmission. */
static u64 average_time(const struct dqs *dqs, const struct plait_path *path)
{
	u64 rtt = dqs->rtt[path->id] ?: path->srtt;

	/* Most paths have no losses: this check spares them the divisions. */
	return path->loss_ppm ? transmission_time(rtt / 2, path->rto, path->loss_ppm) : rtt / 2;
}

/* n_i: the number of segments that the path takes now. */
static u32 amount(const struct dqs *dqs, const struct plait_connection *connection,
		  const struct plait_path *path)
{
	if (!dqs->whole)
		return clip(room(path), sendable(connection));
	if (path->in_recovery || path->queued)
		return 0;
	return clip(path->cwnd, connection->unassigned);
}

/* The path of a set that takes segments and has the smallest T, the first of equals. */
static const struct plait_path *soonest(const struct dqs *dqs, u32 set,
					const struct plait_connection *connection,
					const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *path, *best = NULL;
	u64 time, best_time = 0;

	for_each_path_of(path, set, paths, count) {
		if (!amount(dqs, connection, path))
			continue;
		time = average_time(dqs, path);
		if (!best || time < best_time) {
			best = path;
			best_time = time;
		}
	}
	return best;
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	struct dqs *dqs = state;
	u32 trusted = usable(paths, count) & ~dqs->suspects;
	u32 suspected = usable(paths, count) & dqs->suspects;
	const struct plait_path *path;

	path = next_recall(&dqs->recalls, paths, count);
	if (path)
		return plait_recall(path->id);
	dqs->recalls = 0;

	if (!sendable(connection))
		return plait_wait();
	path = soonest(dqs, trusted, connection, paths, count) ?:
	       soonest(dqs, suspected, connection, paths, count);
	return path ? plait_assign(path->id, amount(dqs, connection, path)) : plait_wait();
}

static void on_event(void *state, const struct plait_event *event,
		     const struct plait_connection *connection, const struct plait_path *paths,
		     unsigned int count)
{
	struct dqs *dqs = state;
	u64 *rtt = &dqs->rtt[event->path];

	suspects_on_event(&dqs->suspects, event);
	switch (event->kind) {
	case PLAIT_ACKED:
		if (event->rtt)
			*rtt = *rtt ? (3 * *rtt + event->rtt) / 4 : event->rtt;	/* eq. (2) */
		break;
	case PLAIT_TIMEOUT:
	case PLAIT_PATH_DOWN:
		dqs->recalls |= BIT(event->path);
		break;
	}
}

const struct plait_algorithm plait_dqs = {
	.name = "dqs",
	.kernel_name = "dqs",
	.state_size = sizeof(struct dqs),
	.by_packet = true,
	.parameters = parameters,
	.needs = needs,
	.init = init,
	.decide = decide,
	.on_event = on_event,
};
