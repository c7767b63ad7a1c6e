// SPDX-License-Identifier: GPL-2.0-only
/* Weighted round-robin: the paths take turns of one segment, in proportion to their weights.
 *
 * As in MLVPN, and in other devices that bond lines, each path has a counter. A packet goes to the
 * open path with the smallest one. Then all counters above zero fall by 1, and the chosen path's is
 * set to the sum of the weights divided by its own ("mlvpn"). By "shares" the counter is raised by
 * that, and all fall, so that no fraction of a turn is lost. In whole numbers, every open path
 * earns its weight as credit; the path with the most credit gets the turn, and pays the sum that
 * all have earned.
 */
#include "helpers.h"

PLAIT_CHOICE(weighted_reading,
	     "fraction of a turn: kept, so that the shares equal the weights (shares), or dropped as in MLVPN's code (mlvpn)",
	     "shares", "mlvpn");

static struct plait_parameter *const parameters[] = { &weighted_reading, NULL };

enum { SHARES, MLVPN };

#define MOST_WEIGHT	65535

struct weighted {
	s64 counts[PLAIT_PATHS_MAX];	/* credits, or counters times the weights */
	u8 reading;
};

static u32 needs(void)
{
	return 0;
}

static void init(void *state)
{
	struct weighted *weighted = state;

	weighted->reading = plait_value(&weighted_reading);
}

static s64 weight(const struct plait_path *path)
{
	return clamp_t(u32, path->weight, 1, MOST_WEIGHT);
}

/* Returns the open path whose turn it is; at least one is open. */
static const struct plait_path *turn_by_shares(s64 *counts, u32 open,
					       const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *path, *most = NULL;
	s64 earned = 0;

	for_each_path_of(path, open, paths, count) {
		counts[path->id] += weight(path);
		earned += weight(path);
		if (!most || counts[path->id] > counts[most->id])
			most = path;
	}
	counts[most->id] -= earned;
	return most;
}

/* Compares counters as fractions with the weights as denominators. */
static const struct plait_path *turn_by_counters(s64 *counts, u32 open,
						 const struct plait_path *paths,
						 unsigned int count)
{
	const struct plait_path *path, *least = NULL;
	u32 candidates = usable(paths, count);
	s64 total = 0;

	for_each_path_of(path, open, paths, count)
		if (!least ||
		    counts[path->id] * weight(least) < counts[least->id] * weight(path))
			least = path;
	for_each_path_of(path, candidates, paths, count) {
		if (counts[path->id] > 0)
			counts[path->id] -= weight(path);
		total += weight(path);
	}
	counts[least->id] = total;
	return least;
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	struct weighted *weighted = state;
	u32 open = open_paths(paths, count);
	const struct plait_path *path;

	if (!open || !sendable(connection))
		return plait_wait();
	if (weighted->reading == MLVPN) {
		path = turn_by_counters(weighted->counts, open, paths, count);
		return plait_assign(path->id, 1);
	}
	path = turn_by_shares(weighted->counts, open, paths, count);
	/* A single open path earns as much as it pays. */
	if (open == BIT(path->id))
		return plait_assign(path->id, clip(room(path), sendable(connection)));
	return plait_assign(path->id, 1);
}

const struct plait_algorithm plait_weighted = {
	.name = "weighted",
	.kernel_name = "weighted",
	.state_size = sizeof(struct weighted),
	.parameters = parameters,
	.needs = needs,
	.init = init,
	.decide = decide,
};
