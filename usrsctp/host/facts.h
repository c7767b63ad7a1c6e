/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stack's association and its paths, as facts of plait_sched.h. */
#ifndef FACTS_H
#define FACTS_H

#include "plait_sched.h"
#include "round_trips.h"

#include <stdbool.h>
#include <stdint.h>

struct path {
	struct sctp_nets *net;
	struct round_trips round_trips;
	uint64_t sent;
	uint64_t lost;
	uint32_t limit; /* set by the scheduler */
	uint32_t to_assign; /* segments of its last decision */
	bool was_usable;
	bool measured; /* a round trip, by the SACK at hand */
};

struct association {
	struct sctp_tcb *stcb;
	uint32_t count; /* of the paths; 0 until the handshake has named all */
	struct path paths[PLAIT_MAX_PATHS];
	plait_connection connection;
	plait_path facts[PLAIT_MAX_PATHS];
};

/* Brings connection and facts up to date. */
void fill_facts(struct association *association);
/* The path of a destination; NULL without one. */
struct path *path_of(struct association *association, const struct sctp_nets *net);
/* Whether a destination may carry new data. */
bool is_usable(const struct sctp_nets *net);
/* Bytes of a full chunk, as windows count it. */
uint32_t chunk_bytes(const struct sctp_nets *net);
/* The number of a chunk in the stream. */
uint64_t segment_of(const struct sctp_tcb *stcb, uint32_t tsn);
uint32_t divide_up(uint32_t bytes, uint32_t by);

#endif
