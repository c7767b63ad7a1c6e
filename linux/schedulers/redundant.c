// SPDX-License-Identifier: GPL-2.0-only
/* Redundant: every path carries every segment, so that the fastest copy counts.
 *
 * Froemmgen et al., ReMP TCP: Low Latency Multipath TCP (IEEE ICC 2016), and the scheduler of that
 * name in the out-of-tree Linux implementation: each subflow walks the send queue by itself. For
 * each path the number of the next segment to copy is kept. An open path, by ascending smoothed
 * round-trip time, copies the next segment that some path has sent, from the oldest unacknowledged
 * one on; a path that has copied everything takes new data. A copy is sent once per path; while
 * the oldest segment is not known, paths take new data and copy later.
 */
#include "helpers.h"

#define SENT_WORDS	16
#define SENT_BITS	(64 * SENT_WORDS)

/* Which segments have been sent: all below a number, and some of those that follow it, as one that
 * waits in the queue of a path may be overtaken on another.
 */
struct sent {
	u64 up_to;
	u64 beyond[SENT_WORDS];		/* a bit per segment from there on */
};

struct redundant {
	u64 next[PLAIT_PATHS_MAX];	/* the next segment that a path has to copy */
	struct sent sent;
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

/* One further ahead than there are bits is forgotten, until it is the oldest. */
static void sent_insert(struct sent *sent, u64 segment)
{
	if (segment < sent->up_to || segment - sent->up_to >= SENT_BITS)
		return;
	*word_of(sent, segment) |= bit_of(segment);
	sent_advance(sent);
}

/* All segments below this one have been sent. */
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

/* The next segment that the path has to copy, if it has not copied everything. */
static bool copy(struct redundant *redundant, const struct plait_connection *connection,
		 const struct plait_path *path, u64 *segment)
{
	u64 *next = &redundant->next[path->id];

	if (!connection->has_oldest)
		return false;
	*next = max(*next, connection->oldest_unacked);
	if (*next == connection->oldest_unacked && (connection->oldest_carried & BIT(path->id)))
		++*next;
	if (*next >= redundant->sent.up_to)
		return false;
	*segment = (*next)++;
	return true;
}

static u32 needs(void)
{
	return PLAIT_NEEDS_REINJECT;
}

static void init(void *state)
{
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	struct redundant *redundant = state;
	u32 open = open_paths(paths, count);
	const struct plait_path *path;
	u64 segment;

	if (connection->has_oldest)
		sent_is_below(&redundant->sent, connection->oldest_unacked + 1);
	while ((path = fastest(open, paths, count))) {
		if (copy(redundant, connection, path, &segment))
			return (struct plait_decision){
				.kind = PLAIT_REINJECT, .path = path->id, .amount = segment
			};
		if (sendable(connection))
			return plait_assign(path->id, clip(room(path), sendable(connection)));
		open &= ~BIT(path->id);
	}
	return plait_wait();
}

static void on_event(void *state, const struct plait_event *event,
		     const struct plait_connection *connection, const struct plait_path *paths,
		     unsigned int count)
{
	struct redundant *redundant = state;

	if (event->kind != PLAIT_SENT)
		return;
	sent_insert(&redundant->sent, event->amount);
	if (redundant->next[event->path] == event->amount)
		redundant->next[event->path]++;
}

const struct plait_algorithm plait_redundant = {
	.name = "redundant",
	.kernel_name = "redundant",
	.state_size = sizeof(struct redundant),
	.needs = needs,
	.init = init,
	.decide = decide,
	.on_event = on_event,
};
