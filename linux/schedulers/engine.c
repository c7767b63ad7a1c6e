// SPDX-License-Identifier: GPL-2.0-only
/* The engine: Linux' MPTCP asks for a subflow, a scheduler decides, and the engine carries it out.
 *
 * MPTCP asks whenever data waits to be sent: in sendmsg(), and for each acknowledgment. The msk
 * socket lock is held in both cases.
 *
 * assign	Moves data from the data queue to a path queue (queues.h). As soon as the subflow's
 *		congestion window and the receiver's window admit it, the subflow gets a range,
 *		which it takes when MPTCP has its lock.
 * recall	Moves data from a path queue back to the data queue.
 * limit	Data of the path queue leaves only while fewer segments than this are in flight.
 * penalize	Halves snd_cwnd, and ssthresh if the window is beyond it, when the subflow's next
 *		acknowledgment comes: its lock is held then.
 * reinject	Gives a subflow a range that another subflow carries.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include <net/mptcp.h>

#include "protocol.h"
#include "compat.h"
#include "engine.h"
#include "options.h"

/* Decisions at one moment at most: a scheduler that needs more never ends. */
#define DECISIONS_MAX	4096

static struct plait_decision decide(struct plait_socket *plait)
{
	const struct plait_facts *facts = &plait->facts;
	struct plait_decision decision;

	decision = plait_decide(plait->algorithm, plait->state, plait->now,
				&facts->connection, facts->paths, facts->count);
	plait_log(plait->now, &decision, facts);
	return decision;
}

/* Gives the subflow of a path a range of the stream to take. */
static void give(struct plait_socket *plait, u8 path, u64 start, u64 end, bool again)
{
	struct sock *ssk = plait->facts.ssks[path];
	struct mptcp_subflow_context *subflow = mptcp_subflow_ctx(ssk);
	struct plait_subflow *slot = &plait->subflows[path];

	end = min(end, start + U32_MAX);
	slot->given = start;
	slot->given_end = end;
	slot->again = again;
	subflow->range_seq = plait->first_dsn + start;
	subflow->range_len = end - start;
	subflow->range_again = again;
	mptcp_subflow_set_scheduled(subflow, true);
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

/* Recalls and limits need no subflow: schedulers also use them for a path whose subflow is gone. */
static bool possible(const struct plait_facts *facts, const struct plait_decision *decision)
{
	if (decision->kind == PLAIT_RECALL || decision->kind == PLAIT_LIMIT)
		return decision->path < PLAIT_PATHS_MAX;
	return decision->path < facts->count && facts->ssks[decision->path];
}

/* Carries out a decision and updates the facts for the next one. Returns 0, or an error. */
static int carry_out(struct mptcp_sock *msk, const struct plait_decision *decision)
{
	struct plait_socket *plait = plait_of(msk);
	struct plait_path *path = &plait->facts.paths[decision->path];
	int error = 0;

	switch (decision->kind) {
	case PLAIT_ASSIGN:
		error = assign(plait, path->id, decision->amount);
		break;
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
	plait_look_at_queues(msk);
	return error;
}

/* Number of bytes of the first range of a path queue that may leave now. */
static u64 sendable(const struct plait_facts *facts, const struct plait_path *path, u64 start,
		    u64 end)
{
	const struct tcp_sock *tp = tcp_sk(facts->ssks[path->id]);
	u64 room, bytes = min_t(u64, end - start, path->mss);
	u32 window = min(path->cwnd, path->limit);
	u32 rest;

	if (path->in_recovery || window <= path->in_flight)
		return 0;
	if (start >= facts->window || facts->window - start < bytes)
		return 0;
	room = (u64)(window - path->in_flight) * path->mss;
	room -= min_t(u64, room, READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt));
	if (room < bytes)
		return 0;
	bytes = min3(end - start, room, facts->window - start);
	if (bytes == end - start)
		return bytes;
	/* Only full segments, as long as there is more data. */
	div_u64_rem(bytes, path->mss, &rest);
	return bytes - rest;
}

/* Lets a subflow take bytes that its path queue may send; false if none may. */
static bool send_queued(struct plait_socket *plait)
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

/* With a closed window and nothing in flight, no acknowledgment would report that the window opens.
 * One byte probes it.
 */
static int probe_window(struct plait_socket *plait)
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

static int get_send(struct mptcp_sock *msk)
{
	struct plait_socket *plait = plait_of(msk);
	const struct plait_facts *facts = &plait->facts;
	int i;

	plait_look(msk);
	for (i = 0; i < DECISIONS_MAX; i++) {
		struct plait_decision decision;

		if (send_queued(plait))
			return 0;
		decision = decide(plait);
		if (decision.kind == PLAIT_WAIT)
			break;
		if (!possible(facts, &decision))
			break;
		if (decision.kind == PLAIT_REINJECT) {
			if (send_copy(plait, &decision))
				return 0;
			continue;
		}
		if (carry_out(msk, &decision))
			break;
	}
	if (!facts->connection.window_left && msk->snd_una == msk->snd_nxt)
		return probe_window(plait);
	return -EAGAIN;
}

/* Retransmissions after the timer has expired, as the core does for any scheduler. */
static int get_retrans(struct mptcp_sock *msk)
{
	struct sock *ssk = mptcp_subflow_get_retrans(msk);

	if (!ssk)
		return -EINVAL;
	mptcp_subflow_set_scheduled(mptcp_subflow_ctx(ssk), true);
	return 0;
}

#ifndef PLAIT_SPLIT_OPS
static int get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	return data->reinject ? get_retrans(msk) : get_send(msk);
}
#endif

static void acked(struct mptcp_sock *msk, struct sock *ssk)
{
	struct plait_socket *plait = READ_ONCE(msk->sched_data);

	if (plait)
		plait_acked(plait, ssk);
}

struct plait_scheduler {
	struct mptcp_sched_ops ops;
	const struct plait_algorithm *algorithm;
};

/* Accepted connections are created while a lock is held. */
static int init_connection(struct mptcp_sock *msk)
{
	const struct plait_algorithm *algorithm;
	struct plait_socket *plait;
	unsigned int i;

	algorithm = container_of(msk->sched, struct plait_scheduler, ops)->algorithm;
	plait = kzalloc(struct_size(plait, state, plait_state_size(algorithm)), GFP_ATOMIC);
	if (!plait)
		return -ENOMEM;
	spin_lock_init(&plait->mailboxes_lock);
	plait_queues_init(&plait->queues, 0);
	plait_segments_init(&plait->segments, 0);
	plait->algorithm = algorithm;
	plait->needs = plait_needs(algorithm);
	plait->repeats = algorithm->needs() & PLAIT_NEEDS_REINJECT;
	plait_init(algorithm, plait->state);
	for (i = 0; i < PLAIT_PATHS_MAX; i++)
		plait->subflows[i].limit = PLAIT_NONE;
	WRITE_ONCE(msk->sched_data, plait);
	return 0;
}

static void release_connection(struct mptcp_sock *msk)
{
	struct plait_socket *plait = plait_of(msk);

	WRITE_ONCE(msk->sched_backlog, false);
	WRITE_ONCE(msk->sched_copies, false);
	WRITE_ONCE(msk->sched_data, NULL);
	if (!plait)
		return;
	plait_queues_free(&plait->queues);
	plait_segments_free(&plait->segments);
	kfree_rcu(plait, rcu);
}

static struct plait_scheduler schedulers[16];

static int register_scheduler(struct plait_scheduler *scheduler,
			      const struct plait_algorithm *algorithm)
{
	scheduler->algorithm = algorithm;
	scheduler->ops = (struct mptcp_sched_ops) {
#ifdef PLAIT_SPLIT_OPS
		.get_send = get_send,
		.get_retrans = get_retrans,
#else
		.get_subflow = get_subflow,
#endif
		.owner = THIS_MODULE,
		.ranges = true,
		.acked = acked,
		.init = init_connection,
		.release = release_connection,
	};
	strscpy(scheduler->ops.name, algorithm->kernel_name, sizeof(scheduler->ops.name));
	return mptcp_register_scheduler(&scheduler->ops);
}

static void unregister(unsigned int count)
{
	while (count--)
		mptcp_unregister_scheduler(&schedulers[count].ops);
	synchronize_rcu();
	plait_log_exit();
}

static unsigned int registered;

static int __init load(void)
{
	int error = plait_log_init();

	if (error)
		return error;
	for (registered = 0; plait_algorithms[registered]; registered++) {
		error = -E2BIG;
		if (registered < ARRAY_SIZE(schedulers))
			error = register_scheduler(&schedulers[registered],
						   plait_algorithms[registered]);
		if (error) {
			unregister(registered);
			return error;
		}
	}
	return 0;
}

static void __exit unload(void)
{
	unregister(registered);
}

module_init(load);
module_exit(unload);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Plait's MPTCP packet schedulers");
