// SPDX-License-Identifier: GPL-2.0-only
/* Round-robin: the paths take turns.
 *
 * "Blind round-robin", Algorithm 1 of Kuhn et al., DAPS (IEEE ICC 2014): loop over the paths and
 * send on each the amount that eq. (1) allows, min(cwnd - unack, rwnd - sum of unack). The rotation
 * outlives the call, as in CMT-SCTP's implementation. Read literally, the algorithm would start at
 * the first path at every chance to send, and favour it whenever the receiver's window is scarce.
 * Segments that a window cuts off a turn are not made up later.
 */
#include "helpers.h"

PLAIT_INTEGER(round_robin_segments, 1, 1, 1000000,
	      "segments per turn, if round_robin_cwnd_limited is 0");
PLAIT_BOOLEAN(round_robin_cwnd_limited, 1,
	      "1: a turn fills the path's congestion window; 0: it has round_robin_segments segments");

static struct plait_parameter *const parameters[] = {
	&round_robin_segments, &round_robin_cwnd_limited, NULL
};

static u32 needs(void)
{
	return 0;
}

static void init(void *state)
{
	struct rotation *rotation = state;

	rotation->per_turn = plait_value(&round_robin_segments);
	if (plait_value(&round_robin_cwnd_limited))
		rotation->per_turn = U32_MAX;
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	return rotate(state, connection, paths, count);
}

const struct plait_algorithm plait_round_robin = {
	.name = "round-robin",
	.kernel_name = "round-robin",
	.state_size = sizeof(struct rotation),
	.parameters = parameters,
	.needs = needs,
	.init = init,
	.decide = decide,
};
