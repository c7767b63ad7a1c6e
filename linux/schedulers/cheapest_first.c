// SPDX-License-Identifier: GPL-2.0-only
/* Cheapest first: the open path with the lowest cost takes as many segments as its window admits.
 *
 * CPF of MP-DCCP, 3GPP's priority-based steering: the path of the highest priority that has room in
 * its window, among equals the one with the lowest smoothed round-trip time.
 */
#include "helpers.h"

static u32 needs(void)
{
	return 0;
}

static void init(void *state)
{
}

static bool is_better(const struct plait_path *path, const struct plait_path *best)
{
	if (path->cost != best->cost)
		return path->cost < best->cost;
	return path->srtt < best->srtt;
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *path, *best = NULL;
	u32 open = open_paths(paths, count);

	for_each_path_of(path, open, paths, count)
		if (!best || is_better(path, best))
			best = path;
	if (!best || !sendable(connection))
		return plait_wait();
	return plait_assign(best->id, clip(room(best), sendable(connection)));
}

const struct plait_algorithm plait_cheapest_first = {
	.name = "cheapest-first",
	.kernel_name = "cheapest-first",
	.needs = needs,
	.init = init,
	.decide = decide,
};
