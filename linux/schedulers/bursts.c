// SPDX-License-Identifier: GPL-2.0-only
/* Plait's bursts on slow paths (rule 1), as in algorithms/plait/bursts.rs of crates/plait-sched. */
#include "earliest_arrival.h"

/* True if data waits for the receiver's window, or the stream has ended. */
static bool has_no_bursts(const struct plait_connection *connection)
{
	return connection->finished || connection->unassigned > connection->window_left;
}

u64 plait_lead(const struct earliest *earliest, const struct plait_connection *connection,
	       const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *path, *fastest = NULL;
	u32 candidates = usable(paths, count);
	s64 own = PLAIT_UNKNOWN, least = 0, delay;

	if (has_no_bursts(connection))
		return 0;
	for_each_path_of(path, candidates, paths, count) {
		delay = plait_path_delay(earliest, path);
		if (path->in_recovery || delay == PLAIT_UNKNOWN || (fastest && delay >= least))
			continue;
		fastest = path;
		least = delay;
	}
	if (!fastest)
		return 0;
	if (!fastest->queued && open_paths(paths, count) & BIT(fastest->id) &&
	    plait_is_idle(&earliest->bottlenecks[fastest->id], earliest->now, fastest))
		return 0;
	if (earliest->bursts.last < count)
		own = plait_path_delay(earliest, &paths[earliest->bursts.last]);
	return own == PLAIT_UNKNOWN || own <= least ? 0 : own - least;
}

/* Finds the path where the next segment arrives first, its arrival without any queue, and the
 * queueing delay before it. False if the delay is at most the segment's own time at the bottleneck.
 */
static bool shortest_queue(const struct earliest *earliest, const struct plait_path *paths,
			   unsigned int count, u64 *queueing, s64 *empty, u8 *first)
{
	s64 now = as_signed(earliest->now), arrival = 0, own = 0, delay, each;
	u32 candidates = usable(paths, count);
	const struct plait_path *path;
	struct prediction next;
	bool found = false;

	*empty = S64_MAX;
	for_each_path_of(path, candidates, paths, count) {
		delay = plait_path_delay(earliest, path);
		if (delay == PLAIT_UNKNOWN || !plait_predict(earliest, path, 0, candidates, &next))
			continue;
		each = as_signed(plait_spacing(&earliest->bottlenecks[path->id], path));
		*empty = min(*empty, plus(plus(now, each), delay));
		if (!found || next.arrival < arrival) {
			found = true;
			arrival = next.arrival;
			own = each;
			*first = path->id;
		}
	}
	if (!found || plus(arrival, -*empty) <= own)
		return false;
	*queueing = plus(arrival, -*empty);
	return true;
}

/* The idle path other than the first one where the next segment arrives first, if there is one. */
static const struct plait_path *idle_path(const struct earliest *earliest, u8 first,
					  const struct plait_path *paths, unsigned int count,
					  s64 *arrival)
{
	u32 candidates = usable(paths, count), open = open_paths(paths, count);
	const struct plait_path *path, *best = NULL;
	struct prediction next;

	for_each_path_of(path, open, paths, count) {
		if (path->id == first ||
		    !plait_is_idle(&earliest->bottlenecks[path->id], earliest->now, path) ||
		    !plait_predict(earliest, path, 0, candidates, &next) ||
		    next.arrival == S64_MIN)
			continue;
		if (!best || next.arrival < *arrival) {
			best = path;
			*arrival = next.arrival;
		}
	}
	return best;
}

void plait_note_writes(struct earliest *earliest, const struct plait_connection *connection,
		       const struct plait_path *paths, unsigned int count)
{
	struct bursts *bursts = &earliest->bursts;
	u64 since, queueing, more, price;
	const struct plait_path *path;
	s64 arrival, empty;
	u8 first;

	if (!sendable(connection)) {
		bursts->busy = false;
		return;
	}
	if (bursts->busy)
		return;
	bursts->busy = true;
	since = earliest->now - bursts->written;
	bursts->written = earliest->now;
	if (has_no_bursts(connection) ||
	    !shortest_queue(earliest, paths, count, &queueing, &empty, &first)) {
		bursts->cost = 0;
		return;
	}
	queueing = div_u64(queueing, 1000);
	bursts->cost = add_capped(bursts->cost, mul_capped(queueing, div_u64(since, 1000)));
	path = idle_path(earliest, first, paths, count, &arrival);
	if (!path)
		return;
	/* The burst delays its own data, and then the data behind it until it has arrived. */
	more = arrival > empty ? (u64)arrival - (u64)empty : (u64)empty - (u64)arrival;
	more = div_u64(more, 1000);
	price = add_capped(mul_capped(queueing, more), mul_capped(more, more) / 2);
	if (bursts->cost <= price / 2)
		return;
	bursts->last = path->id;
	bursts->cost = 0;
}
