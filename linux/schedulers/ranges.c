// SPDX-License-Identifier: GPL-2.0-only
/* The executor for a core that lets schedulers push data themselves (push.c). Each subflow gets a range
 * of the stream, which it takes when MPTCP has its lock.
 *
 * assign	Moves data from the data queue to a path queue (queues.h). As soon as the subflow's
 *		congestion window and the receiver's window admit it, the subflow gets a range.
 * recall	Moves data from a path queue back to the data queue.
 * limit	Data of the path queue leaves only while fewer segments than this are in flight.
 * penalize	Halves snd_cwnd, and ssthresh if the window is beyond it, when the subflow's next
 *		acknowledgment comes: its lock is held then.
 * reinject	Gives a subflow a range that another subflow carries.
 */
#include <linux/module.h>
#include <net/tcp.h>
#include <net/mptcp.h>

#include "protocol.h"
#include "engine.h"

/* Every need is met. */
bool plait_can_execute(const struct plait_algorithm *algorithm)
{
	return true;
}

/* The core sends all unacknowledged data again if a subflow was closed or is stale:
 * __mptcp_retransmit_pending_data() sets snd_burst to 0, and nothing else does while this executor
 * decides.
 */
static bool recovers(struct mptcp_sock *msk)
{
	bool recovers = !msk->snd_burst;

	msk->snd_burst = 1;
	return recovers;
}

/* The first byte that the core sends next. After the loss of a subflow it begins again with
 * unacknowledged data, below snd_nxt.
 */
static u64 next_byte(const struct mptcp_sock *msk)
{
	const struct mptcp_data_frag *dfrag = msk->first_pending;
	u64 next = dfrag ? dfrag->data_seq + dfrag->already_sent : msk->snd_nxt;

	return before64(next, msk->snd_una) ? msk->snd_una : next;
}

/* Bytes stranded on a path that is down return to the data queue. */
void plait_settle(struct mptcp_sock *msk, struct plait_socket *plait)
{
	const struct plait_facts *facts = &plait->facts;
	struct plait_queues *queues = &plait->queues;
	bool again = recovers(msk);
	unsigned int i;

	if (!plait->begun) {
		plait->begun = true;
		plait->first_dsn = msk->snd_una;
		plait_queues_init(queues, next_byte(msk) - plait->first_dsn);
		plait_segments_init(&plait->segments, queues->next);
		again = false;
	}
	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		struct plait_subflow *slot = &plait->subflows[i];

		/* The subflow keeps nothing of its range that it did not take. */
		if (slot->from < slot->given && (plait->needs & PLAIT_NEEDS_REINJECT))
			plait_carry(queues, i, slot->from, slot->given);
		slot->sent = slot->from;
		slot->sent_end = slot->given;
		slot->from = slot->given;
		slot->given_end = slot->given;
		if (!plait_is_up(&facts->paths[i]))
			plait_requeue(queues, i);
		if (!facts->ssks[i])
			plait_put_down(queues, i);
	}
	plait_acknowledged(queues, msk->snd_una - plait->first_dsn);
	plait_segments_forget(&plait->segments, msk->snd_una - plait->first_dsn);
	if (again)
		plait_requeue_all(queues, msk->snd_una - plait->first_dsn);
	plait_advance(msk, plait);
}

/* The core has to ask at every acknowledgment for data that waits for a path, and for copies. */
void plait_ask_again(struct mptcp_sock *msk, struct plait_socket *plait)
{
	bool backlog = plait->queues.recalled.bytes > 0 || plait_backlog(&plait->queues) > 0;
	const struct plait_facts *facts = &plait->facts;
	bool outstanding = facts->acked < min(facts->sent, facts->written);
	bool copies = false;

	/* Options send copies only while the window is full, algorithms at any time. */
	if (outstanding && plait->repeats)
		copies = true;
	else if (outstanding && (plait->needs & PLAIT_NEEDS_REINJECT))
		copies = !facts->connection.window_left &&
			 (backlog || facts->connection.unassigned);
	WRITE_ONCE(plait->backlog, backlog);
	WRITE_ONCE(plait->copies, copies);
}

/* Acknowledgments ask for data that waits for a path, in a full window too. */
bool plait_is_asked_again(const struct mptcp_sock *msk)
{
	return true;
}

/* Gives the subflow of a path a range of the stream to take. */
static void give(struct plait_socket *plait, u8 path, u64 start, u64 end, bool again)
{
	struct plait_subflow *slot = &plait->subflows[path];

	slot->from = start;
	slot->given = start;
	slot->given_end = end;
	slot->again = again;
	mptcp_subflow_set_scheduled(mptcp_subflow_ctx(plait->facts.ssks[path]), true);
}

static int assign(struct plait_socket *plait, u8 path, u64 amount)
{
	const struct plait_facts *facts = &plait->facts;
	u32 mss = facts->paths[path].mss;
	int error;

	error = plait_enqueue(&plait->queues, path, amount * mss, facts->written);
	plait_segments_number(&plait->segments, plait->queues.next, mss);
	return error;
}

/* Number of bytes of the first range of a path queue that may leave now. */
static u64 sendable(const struct plait_facts *facts, const struct plait_path *path, u64 start,
		    u64 end)
{
	u64 room, bytes = min_t(u64, end - start, path->mss);
	u32 window = min(path->cwnd, path->limit);
	u32 rest;

	if (path->in_recovery || window <= path->in_flight)
		return 0;
	if (start >= facts->window || facts->window - start < bytes)
		return 0;
	room = (u64)(window - path->in_flight) * path->mss;
	if (room < bytes)
		return 0;
	bytes = min3(end - start, room, facts->window - start);
	if (bytes == end - start)
		return bytes;
	/* Only full segments, as long as there is more data. */
	div_u64_rem(bytes, path->mss, &rest);
	return bytes - rest;
}

bool plait_send_queued(struct plait_socket *plait)
{
	const struct plait_facts *facts = &plait->facts;
	unsigned int i;

	for (i = 0; i < facts->count; i++) {
		u64 start, end, bytes;

		if (!facts->ssks[i] || !plait_first_range(&plait->queues, i, &start, &end))
			continue;
		bytes = sendable(facts, &facts->paths[i], start, end);
		if (!bytes)
			continue;
		give(plait, i, start, start + bytes, false);
		return true;
	}
	return false;
}

/* Lets a subflow take a segment that another one carries; false if the copy would be useless. */
static bool send_copy(struct plait_socket *plait, const struct plait_decision *decision)
{
	const struct plait_facts *facts = &plait->facts;
	u64 start, end;

	if (!plait_segment_bytes(&plait->segments, decision->amount, &start, &end))
		return false;
	start = max(start, facts->acked);
	end = min(end, facts->sent);
	if (start >= end || plait_carries(&plait->queues, decision->path, start))
		return false;
	give(plait, decision->path, start, end, true);
	return true;
}

int plait_carry_out(struct mptcp_sock *msk, struct plait_socket *plait,
		    const struct plait_decision *decision)
{
	struct plait_path *path = &plait->facts.paths[decision->path];
	int error = 0;

	switch (decision->kind) {
	case PLAIT_ASSIGN:
		error = assign(plait, path->id, decision->amount);
		break;
	case PLAIT_REINJECT:
		return send_copy(plait, decision);
	case PLAIT_RECALL:
		plait_requeue(&plait->queues, path->id);
		break;
	case PLAIT_LIMIT:
		path->limit = decision->amount;
		plait->subflows[path->id].limit = path->limit;
		break;
	case PLAIT_PENALIZE:
		plait_penalize(plait, plait->facts.ssks[path->id]);
		path->cwnd = max(path->cwnd >> 1, 1U);
		break;
	}
	plait_look_at_queues(msk, plait);
	return error;
}

/* With a closed window and nothing in flight, no acknowledgment would report that the window opens.
 * One byte probes it.
 */
int plait_probe_window(struct mptcp_sock *msk, struct plait_socket *plait)
{
	const struct plait_facts *facts = &plait->facts;
	unsigned int i;
	u64 start, end;

	for (i = 0; i < facts->count; i++) {
		u8 state = facts->paths[i].state;

		if (!facts->ssks[i] || (state != PLAIT_ACTIVE && state != PLAIT_BACKUP))
			continue;
		if (!plait->queues.paths[i].bytes && assign(plait, i, 1))
			continue;
		if (!plait_first_range(&plait->queues, i, &start, &end))
			continue;
		give(plait, i, start, end, false);
		return 0;
	}
	return -EAGAIN;
}
