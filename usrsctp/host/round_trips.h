/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Round trips whose both directions use the same path. A SACK returns on the path of the packet
 * that triggered it and acknowledges arrivals on all paths. So a chunk of a long path is
 * acknowledged over a short one first. Here transmissions are remembered until a SACK that came in
 * on their own path reports them. A path delivers in order, so the newest one triggered the SACK.
 */
#ifndef ROUND_TRIPS_H
#define ROUND_TRIPS_H

#include <stdbool.h>
#include <stdint.h>

/* Transmissions that a path remembers; the oldest ones give way. */
#define MOST_TRANSMISSIONS 8192
/* Gap blocks of a packet of 64 KiB. */
#define MOST_SACK_BLOCKS 16384

struct transmission {
	uint64_t sent_at;
	uint32_t tsn;
	bool certain; /* the chunk was sent this once only */
};

struct round_trips {
	struct transmission ring[MOST_TRANSMISSIONS];
	uint64_t first, end;
	uint64_t smoothed; /* nanoseconds, 0: none yet */
	uint64_t shortest;
};

struct sack_blocks {
	uint32_t cumulative;
	int count;
	struct {
		uint32_t start, end; /* TSNs, both included */
	} blocks[MOST_SACK_BLOCKS];
};

/* A chunk leaves on the path. */
void round_trips_sent(struct round_trips *trips, uint64_t now, uint32_t tsn, bool certain);
/* A chunk is sent again, on any path. */
void round_trips_doubt(struct round_trips *trips, uint32_t tsn);
/* A SACK came in on the path. */
void round_trips_sack(struct round_trips *trips, uint64_t now, const struct sack_blocks *sack);

#endif
