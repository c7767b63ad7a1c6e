// SPDX-License-Identifier: MIT OR Apache-2.0
#include "round_trips.h"

#include <stddef.h>

static struct transmission *at(struct round_trips *trips, uint64_t number)
{
	return &trips->ring[number % MOST_TRANSMISSIONS];
}

void round_trips_sent(struct round_trips *trips, uint64_t now, uint32_t tsn, bool certain)
{
	if (trips->end - trips->first == MOST_TRANSMISSIONS)
		trips->first++;
	*at(trips, trips->end++) =
		(struct transmission){ .sent_at = now, .tsn = tsn, .certain = certain };
}

void round_trips_doubt(struct round_trips *trips, uint32_t tsn)
{
	uint64_t number;

	for (number = trips->first; number < trips->end; number++) {
		if (at(trips, number)->tsn == tsn)
			at(trips, number)->certain = false;
	}
}

static bool covers(const struct sack_blocks *sack, uint32_t tsn)
{
	int index;

	if ((int32_t)(tsn - sack->cumulative) <= 0)
		return true;
	for (index = 0; index < sack->count; index++) {
		if ((int32_t)(tsn - sack->blocks[index].start) >= 0 &&
		    (int32_t)(tsn - sack->blocks[index].end) <= 0)
			return true;
	}
	return false;
}

/* As RFC 6298 smooths: 7/8 of the old one. */
static void sample(struct round_trips *trips, uint64_t rtt)
{
	if (rtt == 0)
		rtt = 1;
	if (trips->smoothed == 0) {
		trips->smoothed = trips->shortest = rtt;
		return;
	}
	trips->smoothed = (7 * trips->smoothed + rtt) / 8;
	if (rtt < trips->shortest)
		trips->shortest = rtt;
}

void round_trips_sack(struct round_trips *trips, uint64_t now, const struct sack_blocks *sack)
{
	const struct transmission *newest = NULL;

	for (; trips->first < trips->end; trips->first++) {
		const struct transmission *sent = at(trips, trips->first);

		/* One that was sent again may never arrive: nothing waits for it. */
		if (covers(sack, sent->tsn))
			newest = sent;
		else if (sent->certain)
			break;
	}
	if (newest != NULL && newest->certain)
		sample(trips, now - newest->sent_at);
}
