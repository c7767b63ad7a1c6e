// SPDX-License-Identifier: GPL-2.0-only
/* Redundant: segments on more than one path; the copy that arrives first counts.
 *
 * "full" is Froemmgen et al., ReMP TCP: Low Latency Multipath TCP (IEEE ICC 2016), and the
 * scheduler of that name in the out-of-tree Linux implementation: each subflow walks the send queue
 * by itself. For each path the number of the next segment to copy is kept. Open paths act by
 * ascending smoothed round-trip time. A path copies the next segment that some path has sent, from
 * the oldest unacknowledged one on. A path that has copied all of them takes new data. A copy is
 * sent once per path. While the oldest segment is not known, paths take new data and copy later.
 *
 * The other modes are of ProgMP (Froemmgen et al., ACM Middleware 2017). "opportunistic": the next
 * new segment goes on all paths that are open now, and on no other path later. "when-idle": lowest
 * RTT; while the data queue is empty, the oldest segment in flight that some open path does not
 * carry is copied, on the fastest of these paths. "probing": lowest RTT; a path that was not used
 * for a number of its round-trip times gets a copy of the next assigned segment.
 */
#include "helpers.h"

PLAIT_CHOICE(redundant_mode,
	     "copies: every segment (full), each new segment on the open paths (opportunistic), segments in flight while there is no new data (when-idle), or a segment now and then on unused paths (probing)",
	     "full", "opportunistic", "when-idle", "probing");
PLAIT_INTEGER(redundant_probe_after, 5, 1, 1000,
	      "with redundant_mode=probing: round-trip times that a path is unused before it is probed");

static struct plait_parameter *const parameters[] = {
	&redundant_mode, &redundant_probe_after, NULL
};

enum { FULL, OPPORTUNISTIC, WHEN_IDLE, PROBING };

#define SENT_WORDS	16
#define SENT_BITS	(64 * SENT_WORDS)

/* The segments that have been sent: all below a number, and some of the following ones, because a
 * segment in one path queue may be overtaken on another path.
 */
struct sent {
	u64 up_to;
	u64 beyond[SENT_WORDS];		/* a bit per segment from there on */
};

struct full {
	u64 next[PLAIT_PATHS_MAX];	/* the next segment that a path has to copy */
	struct sent sent;
};

/* The copies decided at this moment. A copy that does not leave is not decided again. */
struct when_idle {
	struct opportunity opportunity;
	s64 copied[PLAIT_PATHS_MAX];	/* the last segment of each path; or PLAIT_UNKNOWN */
};

/* Copies of the last assigned segment. */
struct latest {
	struct opportunity opportunity;
	u64 segment;			/* the last assigned one */
	u64 last_used[PLAIT_PATHS_MAX];	/* time of each path's last use; U64_MAX if none */
	u32 copies;			/* the paths that also have to carry it, at this moment */
	u32 used;			/* the paths that sent a segment since the last decision */
	u32 probe_after;		/* round-trip times without use; 0: copies on all open paths */
	bool has_left;
};

struct redundant {
	u8 mode;
	union {
		struct full full;
		struct when_idle idle;
		struct latest latest;
	};
};

static u64 *word_of(struct sent *sent, u64 segment)
{
	return &sent->beyond[(segment / 64) % SENT_WORDS];
}

static u64 bit_of(u64 segment)
{
	return 1ULL << (segment % 64);
}

static void sent_advance(struct sent *sent)
{
	while (*word_of(sent, sent->up_to) & bit_of(sent->up_to)) {
		*word_of(sent, sent->up_to) &= ~bit_of(sent->up_to);
		sent->up_to++;
	}
}

/* Adds a segment. A segment beyond the bits is forgotten, until it is the oldest. */
static void sent_insert(struct sent *sent, u64 segment)
{
	if (segment < sent->up_to || segment - sent->up_to >= SENT_BITS)
		return;
	*word_of(sent, segment) |= bit_of(segment);
	sent_advance(sent);
}

/* Records that all segments below this one have been sent. */
static void sent_is_below(struct sent *sent, u64 segment)
{
	if (segment <= sent->up_to)
		return;
	if (segment - sent->up_to >= SENT_BITS) {
		memset(sent->beyond, 0, sizeof(sent->beyond));
		sent->up_to = segment;
	}
	for (; sent->up_to < segment; sent->up_to++)
		*word_of(sent, sent->up_to) &= ~bit_of(sent->up_to);
	sent_advance(sent);
}

/* Finds the next segment that the path has to copy, if any. */
static bool copy(struct full *full, const struct plait_connection *connection,
		 const struct plait_path *path, u64 *segment)
{
	u64 *next = &full->next[path->id];

	if (!connection->has_oldest)
		return false;
	*next = max(*next, connection->oldest_unacked);
	if (*next == connection->oldest_unacked && (connection->oldest_carried & BIT(path->id)))
		++*next;
	if (*next >= full->sent.up_to)
		return false;
	*segment = (*next)++;
	return true;
}

static struct plait_decision reinject(u8 path, u64 segment)
{
	return (struct plait_decision){ .kind = PLAIT_REINJECT, .path = path, .amount = segment };
}

static struct plait_decision full_decide(struct full *full,
					 const struct plait_connection *connection,
					 const struct plait_path *paths, unsigned int count)
{
	u32 open = open_paths(paths, count);
	const struct plait_path *path;
	u64 segment;

	if (connection->has_oldest)
		sent_is_below(&full->sent, connection->oldest_unacked + 1);
	while ((path = fastest(open, paths, count))) {
		if (copy(full, connection, path, &segment))
			return reinject(path->id, segment);
		if (sendable(connection))
			return plait_assign(path->id, clip(room(path), sendable(connection)));
		open &= ~BIT(path->id);
	}
	return plait_wait();
}

static void nothing_copied(struct when_idle *idle)
{
	int i;

	for (i = 0; i < PLAIT_PATHS_MAX; i++)
		idle->copied[i] = PLAIT_UNKNOWN;
}

static struct plait_decision idle_decide(struct when_idle *idle, u64 now,
					 const struct plait_connection *connection,
					 const struct plait_path *paths, unsigned int count)
{
	u32 open = open_paths(paths, count);
	const struct plait_path *path, *best = NULL;

	if (opportunity_begins(&idle->opportunity, now))
		nothing_copied(idle);
	if (connection->unassigned) {
		path = fastest(open, paths, count);
		if (path && sendable(connection))
			return plait_assign(path->id, clip(room(path), sendable(connection)));
		return opportunity_end(&idle->opportunity);
	}
	for_each_path_of(path, open, paths, count) {
		if (path->uncarried == PLAIT_UNKNOWN || path->uncarried == idle->copied[path->id])
			continue;
		if (!best || path->uncarried < best->uncarried ||
		    (path->uncarried == best->uncarried && path->srtt < best->srtt))
			best = path;
	}
	if (!best)
		return opportunity_end(&idle->opportunity);
	idle->copied[best->id] = best->uncarried;
	return reinject(best->id, best->uncarried);
}

/* True if the path has to carry a copy of a segment assigned to another path. */
static bool is_wanted(const struct latest *latest, u64 now, const struct plait_path *path)
{
	u64 last = latest->last_used[path->id];

	if (!latest->probe_after || last == U64_MAX)
		return true;
	return (now > last ? now - last : 0) >=
	       mul_capped(path->srtt ?: path->rto, latest->probe_after);
}

static struct plait_decision latest_decide(struct latest *latest, u64 now,
					   const struct plait_connection *connection,
					   const struct plait_path *paths, unsigned int count)
{
	u32 open = open_paths(paths, count);
	const struct plait_path *path, *other;

	for_each_path_of(path, latest->used, paths, count)
		latest->last_used[path->id] = now;
	latest->used = 0;
	if (opportunity_begins(&latest->opportunity, now))
		latest->copies = 0;
	latest->copies &= open;
	/* An unsent segment cannot be copied. */
	if (latest->copies && !latest->has_left)
		return plait_wait();
	path = fastest(latest->copies, paths, count);
	if (path) {
		latest->copies &= ~BIT(path->id);
		latest->last_used[path->id] = now;
		return reinject(path->id, latest->segment);
	}
	path = fastest(open, paths, count);
	if (!path || !sendable(connection))
		return opportunity_end(&latest->opportunity);
	for_each_path_of(other, open, paths, count)
		if (other != path && is_wanted(latest, now, other))
			latest->copies |= BIT(other->id);
	latest->segment = connection->next_segment;
	latest->has_left = false;
	return plait_assign(path->id, latest->copies ? 1 : clip(room(path), sendable(connection)));
}

static u32 needs(void)
{
	bool idle = plait_value(&redundant_mode) == WHEN_IDLE;

	return PLAIT_NEEDS_REINJECT | (idle ? PLAIT_NEEDS_UNCARRIED : 0);
}

static void init(void *state)
{
	struct redundant *redundant = state;
	int i;

	redundant->mode = plait_value(&redundant_mode);
	if (redundant->mode == WHEN_IDLE)
		nothing_copied(&redundant->idle);
	if (redundant->mode != OPPORTUNISTIC && redundant->mode != PROBING)
		return;
	for (i = 0; i < PLAIT_PATHS_MAX; i++)
		redundant->latest.last_used[i] = U64_MAX;
	if (redundant->mode == PROBING)
		redundant->latest.probe_after = plait_value(&redundant_probe_after);
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	struct redundant *redundant = state;

	switch (redundant->mode) {
	case FULL:
		return full_decide(&redundant->full, connection, paths, count);
	case WHEN_IDLE:
		return idle_decide(&redundant->idle, now, connection, paths, count);
	default:
		return latest_decide(&redundant->latest, now, connection, paths, count);
	}
}

static void full_on_event(struct full *full, const struct plait_event *event)
{
	if (event->kind != PLAIT_SENT)
		return;
	sent_insert(&full->sent, event->amount);
	if (full->next[event->path] == event->amount)
		full->next[event->path]++;
}

static void latest_on_event(struct latest *latest, const struct plait_event *event)
{
	opportunity_on_event(&latest->opportunity, event);
	if (event->kind != PLAIT_SENT)
		return;
	latest->used |= BIT(event->path);
	if (event->amount != latest->segment)
		return;
	latest->has_left = true;
	/* An option may have copied the segment meanwhile. */
	latest->copies &= ~BIT(event->path);
}

static void on_event(void *state, const struct plait_event *event,
		     const struct plait_connection *connection, const struct plait_path *paths,
		     unsigned int count)
{
	struct redundant *redundant = state;

	switch (redundant->mode) {
	case FULL:
		full_on_event(&redundant->full, event);
		break;
	case WHEN_IDLE:
		opportunity_on_event(&redundant->idle.opportunity, event);
		break;
	default:
		latest_on_event(&redundant->latest, event);
	}
}

const struct plait_algorithm plait_redundant = {
	.name = "redundant",
	.kernel_name = "redundant",
	.state_size = sizeof(struct redundant),
	.parameters = parameters,
	.needs = needs,
	.init = init,
	.decide = decide,
	.on_event = on_event,
};
