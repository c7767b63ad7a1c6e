// SPDX-License-Identifier: GPL-2.0-only
/* Plait's rules 4 to 6: copies, last copies and first copies, as in algorithms/plait/copies.rs and
 * flight.rs of crates/plait-sched.
 */
#include "earliest_arrival.h"

/* The flight: the newest segments, with the times at which they leave the bottlenecks. */

/* The arrival of a segment that left the bottleneck of a path at this time. */
static s64 arrival_at(const struct earliest *earliest, u8 path, u64 departure,
		      const struct plait_path *paths, unsigned int count)
{
	s64 delay = path < count ? plait_path_delay(earliest, &paths[path]) : PLAIT_UNKNOWN;

	return delay == PLAIT_UNKNOWN ? S64_MAX : plus(as_signed(departure), delay);
}

/* The arrival of the segment at this place. */
static s64 arrival_of(const struct earliest *earliest, u32 place, const struct plait_path *paths,
		      unsigned int count)
{
	const struct flight *flight = &earliest->flight;

	return arrival_at(earliest, flight->carrier[place], flight->departure[place], paths, count);
}

static u32 place_of(u64 segment)
{
	return segment % SEGMENTS;
}

static bool is_remembered(const struct flight *flight, u64 segment)
{
	u32 place = place_of(segment);

	return flight->carried[place] && flight->lap[place] == (u16)(segment / SEGMENTS);
}

void plait_flight_on_sent(struct earliest *earliest, const struct plait_event *event,
			  const struct plait_path *paths, unsigned int count)
{
	struct flight *flight = &earliest->flight;
	const struct bottleneck *bottleneck = &earliest->bottlenecks[event->path];
	u64 free = plait_corrected_free(bottleneck, earliest->now, &paths[event->path]);
	u32 place = place_of(event->amount);
	bool lost;

	/* The engine may not know the number. */
	if (event->amount == U64_MAX)
		return;
	flight->end = max(flight->end, event->amount + 1);
	if (event->amount < less(flight->end, SEGMENTS))
		return;
	if (!is_remembered(flight, event->amount)) {
		flight->departure[place] = free;
		flight->lap[place] = event->amount / SEGMENTS;
		flight->carried[place] = 0;
		flight->carrier[place] = event->path;
	} else {
		/* The engine sent a lost segment again, on its path or on one without a copy. */
		lost = flight->carrier[place] == event->path ||
		       (event->retransmission && !(flight->carried[place] & BIT(event->path)));
		if (lost || arrival_at(earliest, event->path, free, paths, count) <
			    arrival_of(earliest, place, paths, count)) {
			flight->departure[place] = free;
			flight->carrier[place] = event->path;
		}
	}
	flight->carried[place] |= BIT(event->path);
}

void plait_flight_forget(struct flight *flight, u8 path)
{
	u32 place;

	for (place = 0; place < SEGMENTS; place++)
		if (flight->carrier[place] != path)
			flight->carried[place] &= ~BIT(path);
}

/* 4. Copies, 5. last copies, and 6. first copies. */

/* True after the last byte has left the queues. */
static bool is_ending(const struct earliest *earliest, const struct plait_connection *connection,
		      const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *path;

	if (!earliest->last_copies || !connection->finished || connection->unassigned)
		return false;
	for_each_path(path, paths, count)
		if (path->queued)
			return false;
	return true;
}

/* The time after which the segment at this place counts as lost without an acknowledgment. */
static s64 patience(const struct earliest *earliest, u32 place, const struct plait_path *carrier,
		    bool last)
{
	s64 round = as_signed(least_round_trip(&earliest->bottlenecks[carrier->id], carrier));
	s64 variation = as_signed(carrier->rttvar);
	s64 late = last ? variation : round / 4 + min(4 * variation, round);

	return plus(as_signed(earliest->flight.departure[place]), round + variation / 2 + late);
}

u64 plait_next_copy(const struct earliest *earliest, const struct plait_connection *connection,
		    const struct plait_path *paths, unsigned int count)
{
	bool last = is_ending(earliest, connection, paths, count);
	const struct flight *flight = &earliest->flight;
	u32 open = open_paths(paths, count), place;
	const struct plait_path *path;
	u64 first = U64_MAX;
	s64 ahead;

	if (!earliest->copies || sendable(connection))
		return U64_MAX;
	for_each_path_of(path, open, paths, count) {
		place = place_of(path->uncarried);
		if (path->uncarried == PLAIT_UNKNOWN || !is_remembered(flight, path->uncarried) ||
		    flight->carrier[place] >= count)
			continue;
		ahead = patience(earliest, place, &paths[flight->carrier[place]], last) -
			as_signed(earliest->now);
		if (ahead >= 0)
			first = min(first, (u64)ahead);
	}
	return add_capped(earliest->now, max_t(u64, first, TIMER));
}

/* The arrival of the oldest segment in flight that a path lacks, which may be lost. A segment that
 * is no longer remembered counts as lost.
 */
static s64 due(const struct earliest *earliest, u64 segment, s64 delay, bool last,
	       const struct plait_path *paths, unsigned int count)
{
	const struct flight *flight = &earliest->flight;
	s64 now = as_signed(earliest->now), round;
	u32 place = place_of(segment);
	const struct plait_path *carrier;
	bool silent;

	if (!is_remembered(flight, segment))
		return segment < less(flight->end, SEGMENTS) ? S64_MAX : S64_MIN;
	if (flight->carrier[place] >= count)
		return S64_MIN;
	carrier = &paths[flight->carrier[place]];
	silent = now > patience(earliest, place, carrier, last);
	if (silent || (carrier->state != PLAIT_ACTIVE && carrier->state != PLAIT_BACKUP) ||
	    (earliest->suspects & BIT(carrier->id))) {
		round = as_signed(least_round_trip(&earliest->bottlenecks[carrier->id], carrier));
		return plus(plus(now, delay), round + round / 2);
	}
	return arrival_of(earliest, place, paths, count);
}

/* The first segment from this one on that the path lacks and that arrives after a time; the end if
 * there is none. Predictions seldom change, so earlier segments need no second look.
 */
static u64 next_late(const struct earliest *earliest, u64 segment, u8 path, s64 time,
		     const struct plait_path *paths, unsigned int count)
{
	const struct flight *flight = &earliest->flight;
	u32 place;

	segment = max(segment, less(flight->end, SEGMENTS));
	for (; segment < flight->end; segment++) {
		place = place_of(segment);
		if (is_remembered(flight, segment) && !(flight->carried[place] & BIT(path)) &&
		    time < arrival_of(earliest, place, paths, count))
			break;
	}
	return flight->end > segment ? segment : flight->end;
}

bool plait_copy(struct earliest *earliest, const struct plait_connection *connection,
		const struct plait_path *paths, unsigned int count,
		struct plait_decision *decision)
{
	bool last = is_ending(earliest, connection, paths, count);
	bool first = earliest->first_copies && connection->unassigned;
	u32 candidates = usable(paths, count), open = open_paths(paths, count);
	s64 now = as_signed(earliest->now), soonest = 0, own, useful;
	struct flight *flight = &earliest->flight;
	const struct plait_path *path, *best = NULL;
	const struct bottleneck *bottleneck;
	u64 segment, found = 0;
	struct prediction copied;
	bool fresh;

	if (!connection->has_oldest)
		return false;
	for_each_path_of(path, open, paths, count) {
		if (path->uncarried == PLAIT_UNKNOWN ||
		    !plait_predict(earliest, path, 0, candidates, &copied) ||
		    copied.arrival == S64_MIN || path->in_flight >= path->limit)
			continue;
		bottleneck = &earliest->bottlenecks[path->id];
		/* A copy behind others would delay new data. */
		if (!last && !plait_is_idle(bottleneck, earliest->now, path))
			continue;
		own = max_t(s64, plus(copied.arrival - now, -copied.delay), 0);
		own = later(own, least_round_trip(bottleneck, path) / 2);
		useful = plus(copied.arrival, last ? 0 : own / 4);
		segment = path->uncarried;
		fresh = earliest->copied[path->id] != segment;
		if (!fresh || useful >= due(earliest, segment, copied.delay, last, paths, count)) {
			u64 *cursor = &earliest->cursors[path->id];

			*cursor = next_late(earliest, max(*cursor, connection->oldest_unacked),
					    path->id, useful, paths, count);
			if (*cursor < flight->end)
				segment = *cursor;
			else if (!fresh || !(last || (first && is_unused(bottleneck))))
				continue;
		}
		if (!best || copied.arrival < soonest) {
			best = path;
			soonest = copied.arrival;
			found = segment;
		}
	}
	if (!best)
		return false;
	earliest->copied[best->id] = found;
	if (is_remembered(flight, found))
		flight->carried[place_of(found)] |= BIT(best->id);
	*decision = (struct plait_decision){
		.kind = PLAIT_REINJECT, .path = best->id, .amount = found
	};
	return true;
}
