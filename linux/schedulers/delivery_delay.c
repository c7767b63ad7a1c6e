// SPDX-License-Identifier: GPL-2.0-only
/* Delivery delay: the open path with the shortest delay to the receiver takes as many segments as
 * its window admits.
 *
 * Alam, Performance Evaluation of Minimum Delivery Delay Multipath TCP Scheduler Implemented in
 * Linux Kernel (University of Bremen, 2016): argmin of the delivery delay, the smoothed TSval -
 * TSecr, over the available paths. It leaves out the way back, and contains the difference of the
 * two clocks, which is the same on all paths. An unmeasured path goes first if others are measured.
 * Without timestamps half the RTT replaces the delay.
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
	bool timestamps = any_forward_delay(paths, count);
	const struct plait_path *path, *best = NULL;
	u32 open = open_paths(paths, count);
	s64 delay, best_delay = 0;

	/* The first of equals; PLAIT_UNKNOWN, an unmeasured path, is the smallest. */
	for_each_path_of(path, open, paths, count) {
		delay = delivery_delay(path, timestamps);
		if (!best || delay < best_delay) {
			best = path;
			best_delay = delay;
		}
	}
	if (!best || !sendable(connection))
		return plait_wait();
	return plait_assign(best->id, clip(room(best), sendable(connection)));
}

const struct plait_algorithm plait_delivery_delay = {
	.name = "delivery-delay",
	.kernel_name = "delivery-delay",
	.needs = needs,
	.init = init,
	.decide = decide,
};
