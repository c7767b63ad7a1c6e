// SPDX-License-Identifier: GPL-2.0-only
/* STTF, shortest transfer time first: assigns each segment, ahead of the windows, to the path where
 * it would arrive first as windows grow. Queued segments are planned again when that would change
 * their paths.
 *
 * Hurtig, Grinnemo, Brunstrom, Ferlin, Alay, Kuhn, Low-Latency Scheduling in MPTCP (IEEE/ACM ToN
 * 27(1), 2019), as its authors published it (version 0.91). A segment with room in the window takes
 * half the latest round trip. A queued segment takes one more for each further window, which
 * doubles up to its threshold and then grows by one. If the first round trips of two paths are
 * alike, the rule is lowest RTT.
 *
 * Nothing is assigned ahead unless two paths are usable and all of them can be compared.
 */
#include "helpers.h"

#define ONE	1000U

PLAIT_INTEGER(sttf_alike_milli, 100, 0, 100000,
	      "lowest RTT schedules the connection if the first round trips differ by less, in thousandths; 0: never");

static struct plait_parameter *const parameters[] = { &sttf_alike_milli, NULL };

struct sttf {
	u32 alike;
	u32 suspects;
	u32 recalls;			/* the queues that are being recalled */
	u8 known;			/* number of known first round trips, two at most */
	u8 first_path[2];
	u64 first[2];
	struct opportunity opportunity;
};

/* The arrival time after a number of queued segments, and the number of segments that arrive in the
 * same round.
 */
struct rounds {
	u64 halves;			/* of round trips */
	u64 left;
	u64 window;
	u64 threshold;
};

static u32 needs(void)
{
	return PLAIT_NEEDS_ASSIGN_AHEAD | PLAIT_NEEDS_RECALL;
}

static void init(void *state)
{
	struct sttf *sttf = state;

	sttf->alike = plait_value(&sttf_alike_milli);
}

/* Moves to the first round with room. */
static void settle(struct rounds *rounds)
{
	while (!rounds->left) {
		rounds->halves += 2;
		if (rounds->window < rounds->threshold)
			rounds->window = min(2 * rounds->window, rounds->threshold);
		else
			rounds->window++;
		rounds->left = rounds->window;
	}
}

static struct rounds begin(const struct plait_path *path)
{
	struct rounds rounds = {
		.halves = 1,
		.left = path->cwnd > path->in_flight ? path->cwnd - path->in_flight : 0,
		.window = max(path->cwnd, 1U),
		.threshold = path->ssthresh == U32_MAX ? U64_MAX : path->ssthresh,
	};

	settle(&rounds);
	return rounds;
}

static void take(struct rounds *rounds, u64 segments)
{
	while (segments) {
		u64 here = min(segments, rounds->left);

		rounds->left -= here;
		segments -= here;
		settle(rounds);
	}
}

static u64 time_of(const struct plait_path *path, const struct rounds *rounds)
{
	return mul_capped(path->latest_rtt, rounds->halves) / 2;
}

/* Notes first round trips. True if those of the first two paths are alike. */
static bool paths_are_alike(struct sttf *sttf, const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *path;
	u64 less, more;

	for_each_path(path, paths, count) {
		if (sttf->known == 2)
			break;
		if (!path->srtt || (sttf->known && sttf->first_path[0] == path->id))
			continue;
		sttf->first_path[sttf->known] = path->id;
		sttf->first[sttf->known++] = max_t(u64, path->latest_rtt, 1);
	}
	if (sttf->known < 2)
		return false;
	less = min(sttf->first[0], sttf->first[1]);
	more = max(sttf->first[0], sttf->first[1]);
	return mul_capped(more, ONE) < mul_capped(less, ONE + sttf->alike);
}

/* The paths on which segments may wait. */
static u32 planned_paths(const struct sttf *sttf, u32 candidates, const struct plait_path *paths,
			 unsigned int count)
{
	u32 trust = trusted(sttf->suspects, candidates), planned = 0;
	const struct plait_path *path;

	for_each_path_of(path, trust, paths, count)
		if (!path->in_recovery && path->srtt)
			planned |= BIT(path->id);
	return planned;
}

/* The queues to be recalled: all, if the length of any would change by more than a segment. */
static u32 outdated(u32 planned, const struct plait_path *paths, unsigned int count)
{
	struct rounds rounds[PLAIT_PATHS_MAX];
	const struct plait_path *path, *best;
	u64 length[PLAIT_PATHS_MAX] = {};
	u64 waiting = 0, here;
	u32 with = 0;

	for_each_path_of(path, planned, paths, count) {
		rounds[path->id] = begin(path);
		waiting += path->queued;
		if (path->queued)
			with |= BIT(path->id);
	}
	while (waiting) {
		best = NULL;
		for_each_path_of(path, planned, paths, count)
			if (!best || time_of(path, &rounds[path->id]) <
				     time_of(best, &rounds[best->id]))
				best = path;
		if (!best)
			break;
		here = min(rounds[best->id].left, waiting);
		take(&rounds[best->id], here);
		length[best->id] += here;
		waiting -= here;
	}
	for_each_path_of(path, planned, paths, count)
		if (length[path->id] > (u64)path->queued + 1 || length[path->id] + 1 < path->queued)
			return with;
	return 0;
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	struct sttf *sttf = state;
	bool begins = opportunity_begins(&sttf->opportunity, now);
	u32 candidates = usable(paths, count), planned;
	const struct plait_path *path, *first = NULL;
	u64 least = 0, segments = 0;
	bool ahead;

	if (paths_are_alike(sttf, paths, count)) {
		path = fastest(open_paths(paths, count), paths, count);
		if (!path || !sendable(connection))
			return plait_wait();
		return plait_assign(path->id, clip(room(path), sendable(connection)));
	}
	planned = planned_paths(sttf, candidates, paths, count);
	if (begins)
		sttf->recalls = outdated(planned, paths, count);
	path = next_recall(&sttf->recalls, paths, count);
	if (path)
		return plait_recall(path->id);
	sttf->recalls = 0;
	if (!sendable(connection))
		return opportunity_end(&sttf->opportunity);
	ahead = comparable(sttf->suspects, candidates, paths, count);
	for_each_path_of(path, candidates, paths, count) {
		u64 time = 0, here = ahead ? U64_MAX : room(path);

		if (here && (planned & BIT(path->id))) {
			struct rounds rounds = begin(path);

			take(&rounds, path->queued);
			time = time_of(path, &rounds);
			here = min(here, rounds.left);
		}
		if (here && (!first || time < least)) {
			first = path;
			least = time;
			segments = here;
		}
	}
	if (!first)
		return opportunity_end(&sttf->opportunity);
	return plait_assign(first->id, clip(min_t(u64, segments, U32_MAX), sendable(connection)));
}

static void on_event(void *state, const struct plait_event *event,
		     const struct plait_connection *connection, const struct plait_path *paths,
		     unsigned int count)
{
	struct sttf *sttf = state;

	opportunity_on_event(&sttf->opportunity, event);
	suspects_on_event(&sttf->suspects, event);
}

const struct plait_algorithm plait_sttf = {
	.name = "sttf",
	.kernel_name = "sttf",
	.state_size = sizeof(struct sttf),
	.parameters = parameters,
	.needs = needs,
	.init = init,
	.decide = decide,
	.on_event = on_event,
};
