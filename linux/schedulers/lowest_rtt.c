// SPDX-License-Identifier: GPL-2.0-only
/* Lowest RTT: the open path with the smallest smoothed round-trip time takes as many segments as
 * its window admits.
 *
 * The default scheduler of MPTCP, as described in Raiciu et al., How Hard Can It Be? (USENIX NSDI
 * 2012): "send on the subflow with the lowest RTT that has space in its congestion window". An
 * unmeasured path goes first.
 */
#include "helpers.h"

static u32 needs(void)
{
	return 0;
}

static void init(void *state)
{
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *path = fastest(open_paths(paths, count), paths, count);

	if (!path || !sendable(connection))
		return plait_wait();
	/* As many as fit at once: no fact of the rule changes before they are sent. */
	return plait_assign(path->id, clip(room(path), sendable(connection)));
}

const struct plait_algorithm plait_lowest_rtt = {
	.name = "lowest-rtt",
	.kernel_name = "lowest-rtt",
	.needs = needs,
	.init = init,
	.decide = decide,
};
