// SPDX-License-Identifier: GPL-2.0-only
/* Options of any scheduler: retransmission and penalization (RP), and bufferbloat mitigation
 * (BM).
 */
#include "helpers.h"
#include "options.h"

PLAIT_BOOLEAN(bufferbloat_mitigation, 0,
	      "limits a path's window when its round-trip time exceeds bufferbloat_lambda_milli thousandths of the smallest one");
PLAIT_INTEGER(bufferbloat_lambda_milli, 3000, 1000, 1000000,
	      "with bufferbloat_mitigation: largest ratio of the round-trip time to the smallest one, in thousandths");

/* An unmodified core sends no copies, so these cannot be set there. */
#if defined(PLAIT_STOCK) && !defined(PLAIT_LIVEPATCH)
#undef PLAIT_MODULE_PARAMETER
#define PLAIT_MODULE_PARAMETER(_name, _doc)
#endif

PLAIT_BOOLEAN(retransmission_penalization, 0,
	      "with a full receiver's window: sends the blocking segment on a faster path too, and halves the congestion window of the slower path");
PLAIT_CHOICE(penalization_interval,
	     "with retransmission_penalization: a path is penalized at most once per round trip of the path that could send (fast), or of its own (slow)",
	     "fast", "slow");

/* In the order of the words. */
enum { FAST, SLOW };

struct plait_parameter *const plait_option_parameters[] = {
	&retransmission_penalization, &penalization_interval,
	&bufferbloat_mitigation, &bufferbloat_lambda_milli, NULL
};

/* RP: the reaction to a full receiver's window while a path could send.
 *
 * Raiciu et al., How Hard Can It Be? (USENIX NSDI 2012), section 4.2, as evaluated by Paasch et al.
 * (ACM CSWS 2014). The path that could send sends the first unacknowledged segment, unless it has
 * carried that. The slower path that carries the segment gets half its congestion window, at most
 * once in a round-trip time.
 *
 * The conditions are those of Linux' out-of-tree implementation, with two differences. The time of
 * the last penalty is kept with the penalized path, so that a third path need not wait for its
 * turn. A window of one segment is not halved.
 */
struct penalization {
	bool enabled;
	u8 interval;
	u32 copied_on;				/* the paths that sent copies of it */
	u64 copied;				/* the segment that was copied last */
	u64 penalized[PLAIT_PATHS_MAX];		/* time of the last penalty; U64_MAX if none */
};

/* A carrier whose window is not larger than this cannot repair losses fast. */
#define NARROW		4
/* A copy clearly arrives first if the carrier has more than this many times the round-trip time. */
#define SLOWER		4

/* BM: limits the data in flight on a path whose round-trip time has grown because of a queue.
 *
 * Ferlin-Oliveira et al. (IEEE IWQoS 2014), as evaluated by Paasch et al. (ACM CSWS 2014): the data
 * in flight on path i is limited to lambda * (smallest srtt_i so far / srtt_i) * cwnd_i, if that is
 * less than cwnd_i. The congestion control keeps its window. The cap is a separate limit, and the
 * scheduler sees the capped window as the window.
 */
struct mitigation {
	bool enabled;
	u32 lambda_milli;
	u64 smallest[PLAIT_PATHS_MAX];		/* U64_MAX before the first */
	u32 limits[PLAIT_PATHS_MAX];		/* the scheduler's own limit of each path */
	struct plait_path shown[PLAIT_PATHS_MAX];	/* its facts; too large for a stack */
};

struct optioned {
	struct penalization penalization;
	struct mitigation mitigation;
	u64 inner[];				/* the algorithm's state */
};

size_t plait_state_size(const struct plait_algorithm *algorithm)
{
	return sizeof(struct optioned) + algorithm->state_size;
}

u32 plait_needs(const struct plait_algorithm *algorithm)
{
	u32 needs = algorithm->needs();

	if (plait_value(&retransmission_penalization))
		needs |= PLAIT_NEEDS_REINJECT | PLAIT_NEEDS_PENALIZE;
	if (plait_value(&bufferbloat_mitigation))
		needs |= PLAIT_NEEDS_LIMIT;
	return needs;
}

void plait_init(const struct plait_algorithm *algorithm, void *state)
{
	struct optioned *optioned = state;
	struct penalization *penalization = &optioned->penalization;
	struct mitigation *mitigation = &optioned->mitigation;
	int i;

	memset(state, 0, plait_state_size(algorithm));
	penalization->enabled = plait_value(&retransmission_penalization);
	penalization->interval = plait_value(&penalization_interval);
	mitigation->enabled = plait_value(&bufferbloat_mitigation);
	mitigation->lambda_milli = plait_value(&bufferbloat_lambda_milli);
	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		penalization->penalized[i] = U64_MAX;
		mitigation->smallest[i] = U64_MAX;
		mitigation->limits[i] = PLAIT_NONE;
	}
	algorithm->init(optioned->inner);
}

/* True if the path, a carrier of the oldest segment, has to be penalized for blocking the fast
 * path.
 */
static bool blocks(const struct penalization *penalization, u64 now, const struct plait_path *path,
		   const struct plait_path *fast)
{
	u64 last = penalization->penalized[path->id];
	u64 round = penalization->interval == SLOW ? path->srtt : fast->srtt;

	if (last != U64_MAX && (now < last || now - last < round))
		return false;
	return fast->srtt < path->srtt && path->cwnd > 1 && !path->repairing && !path->in_recovery;
}

/* True if a copy on the fast path helps: a carrier repairs losses slowly, or all carriers
 * are slow.
 */
static bool copy_helps(u32 carriers, const struct plait_path *fast, const struct plait_path *paths,
		       unsigned int count)
{
	const struct plait_path *path;
	bool narrow = false, slow = carriers;

	for_each_path_of(path, carriers, paths, count) {
		narrow |= path->cwnd <= NARROW;
		slow &= mul_capped(fast->srtt, SLOWER) < path->srtt;
	}
	return narrow || slow;
}

static bool any_queued(const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *path;

	for_each_path(path, paths, count)
		if (path->queued)
			return true;
	return false;
}

/* Makes the decision of RP before the scheduler is asked, if any. */
static bool penalize(struct penalization *penalization, u64 now,
		     const struct plait_connection *connection, const struct plait_path *paths,
		     unsigned int count, struct plait_decision *decision)
{
	const struct plait_path *fast, *path;
	u32 measured = 0;

	if (!penalization->enabled || connection->window_left || !connection->has_oldest)
		return false;
	/* The window is full only while it does not admit an existing segment. */
	if (!connection->unassigned && !any_queued(paths, count))
		return false;
	for_each_path(path, paths, count)
		if (path->srtt)
			measured |= BIT(path->id);
	fast = fastest(measured & open_paths(paths, count), paths, count);
	if (!fast)
		return false;

	for_each_path_of(path, connection->oldest_carried, paths, count) {
		if (!blocks(penalization, now, path, fast))
			continue;
		penalization->penalized[path->id] = now;
		*decision = (struct plait_decision){ .kind = PLAIT_PENALIZE, .path = path->id };
		return true;
	}

	if (penalization->copied != connection->oldest_unacked) {
		penalization->copied = connection->oldest_unacked;
		penalization->copied_on = 0;
	}
	if ((connection->oldest_carried | penalization->copied_on) & BIT(fast->id))
		return false;
	if (!copy_helps(connection->oldest_carried, fast, paths, count))
		return false;
	penalization->copied_on |= BIT(fast->id);
	*decision = (struct plait_decision){
		.kind = PLAIT_REINJECT, .path = fast->id, .amount = connection->oldest_unacked
	};
	return true;
}

static void note_srtt(struct mitigation *mitigation, const struct plait_path *path)
{
	if (path->srtt)
		mitigation->smallest[path->id] = min(mitigation->smallest[path->id], path->srtt);
}

/* Largest number of segments in flight on the path; PLAIT_NONE if its window is not capped. */
static u32 cap(const struct mitigation *mitigation, const struct plait_path *path)
{
	u64 smallest = mitigation->smallest[path->id];
	u64 grown = (u64)mitigation->lambda_milli * path->cwnd;
	u64 cap;

	/* The round-trip time has not grown, or is not measured. This check spares most paths the
	 * division.
	 */
	if (smallest >= path->srtt)
		return PLAIT_NONE;
	cap = max_t(u64, mul_u64_u64_div_u64(grown, smallest, path->srtt * 1000), 1);
	return cap < path->cwnd ? cap : PLAIT_NONE;
}

/* The limit that must hold: the smaller of the cap and of the scheduler's limit. */
static u32 limit(const struct mitigation *mitigation, const struct plait_path *path)
{
	return min(cap(mitigation, path), mitigation->limits[path->id]);
}

/* Finds the first limit that has to change, if any, and notes the round-trip times of all paths. */
static bool mitigate(struct mitigation *mitigation, const struct plait_path *paths,
		     unsigned int count, struct plait_decision *decision)
{
	const struct plait_path *path;
	bool wrong = false;

	for_each_path(path, paths, count) {
		note_srtt(mitigation, path);
		if (!wrong && limit(mitigation, path) != path->limit) {
			*decision = plait_limit(path->id, limit(mitigation, path));
			wrong = true;
		}
	}
	return wrong;
}

/* Asks the scheduler with the capped windows in the facts, and with its own limits instead of the
 * limits in force.
 */
static struct plait_decision decide_capped(const struct plait_algorithm *algorithm,
					   struct optioned *optioned, u64 now,
					   const struct plait_connection *connection,
					   const struct plait_path *paths, unsigned int count)
{
	struct mitigation *mitigation = &optioned->mitigation;
	struct plait_path *shown = mitigation->shown;
	const struct plait_path *path;
	struct plait_decision decision;
	int tries;

	for_each_path(path, paths, count) {
		shown[path->id] = *path;
		shown[path->id].cwnd = min(path->cwnd, cap(mitigation, path));
		shown[path->id].limit = mitigation->limits[path->id];
	}
	/* A limit that changes nothing is not returned. The scheduler is asked again instead, a
	 * bounded number of times.
	 */
	for (tries = 0; tries < 2 * PLAIT_PATHS_MAX; tries++) {
		decision = algorithm->decide(optioned->inner, now, connection, shown, count);
		if (decision.kind != PLAIT_LIMIT)
			return decision;
		path = &paths[decision.path];
		mitigation->limits[path->id] = decision.amount;
		shown[path->id].limit = decision.amount;
		if (limit(mitigation, path) != path->limit)
			return plait_limit(path->id, limit(mitigation, path));
	}
	return plait_wait();
}

struct plait_decision plait_decide(const struct plait_algorithm *algorithm, void *state, u64 now,
				   const struct plait_connection *connection,
				   const struct plait_path *paths, unsigned int count)
{
	struct optioned *optioned = state;
	struct mitigation *mitigation = &optioned->mitigation;
	struct plait_decision decision;

	if (mitigation->enabled && mitigate(mitigation, paths, count, &decision))
		return decision;
	if (penalize(&optioned->penalization, now, connection, paths, count, &decision))
		return decision;
	if (mitigation->enabled)
		return decide_capped(algorithm, optioned, now, connection, paths, count);
	return algorithm->decide(optioned->inner, now, connection, paths, count);
}

void plait_on_event(const struct plait_algorithm *algorithm, void *state,
		    const struct plait_event *event, const struct plait_connection *connection,
		    const struct plait_path *paths, unsigned int count)
{
	struct optioned *optioned = state;

	if (optioned->mitigation.enabled && event->kind == PLAIT_ACKED)
		note_srtt(&optioned->mitigation, &paths[event->path]);
	if (algorithm->on_event)
		algorithm->on_event(optioned->inner, event, connection, paths, count);
}
