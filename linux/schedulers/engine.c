// SPDX-License-Identifier: GPL-2.0-only
/* The engine: Linux' MPTCP asks for a subflow, schedulers decide, and this carries it out.
 *
 * MPTCP asks whenever something waits to be sent: in sendmsg(), and for each acknowledgment.
 *
 * assign	Moves data from the data queue to a path queue (queues.h). As soon as the subflow's
 *		congestion window and the receiver's window admit it, msk->snd_seq and snd_burst
 *		tell MPTCP to give it to the subflow.
 * recall	Moves it back.
 * limit	Data of the path queue leaves while less is in flight than this.
 * penalize	Halves snd_cwnd, and ssthresh if the window is beyond it.
 * reinject	When MPTCP asks for a retransmission, which it also does when the window is full.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include <net/mptcp.h>

#include "protocol.h"
#include "compat.h"
#include "engine.h"
#include "options.h"

/* Decisions at one moment; more would be a scheduler that never comes to an end. */
#define DECISIONS_MAX	4096

struct plait_socket *plait_of(const struct mptcp_sock *msk)
{
	return msk->sched_data;
}

static struct plait_decision decide(struct plait_socket *plait, const struct plait_facts *facts)
{
	struct plait_decision decision;

	decision = plait_decide(plait->algorithm, plait->state, plait->now,
				&facts->connection, facts->paths, facts->count);
	plait_log(plait->now, &decision, facts);
	return decision;
}

static void penalize(struct tcp_sock *tp)
{
	u32 cwnd = tcp_snd_cwnd(tp);

	if (cwnd >= tp->snd_ssthresh)
		tp->snd_ssthresh = max(tp->snd_ssthresh >> 1, 2U);
	tcp_snd_cwnd_set(tp, max(cwnd >> 1, 1U));
}

/* Changes the facts that the next decision sees. */
static void carry_out(struct mptcp_sock *msk, struct plait_facts *facts,
		      const struct plait_decision *decision)
{
	struct plait_path *path = &facts->paths[decision->path];
	struct tcp_sock *tp = tcp_sk(facts->ssks[decision->path]);
	struct plait_socket *plait = plait_of(msk);

	switch (decision->kind) {
	case PLAIT_ASSIGN:
		plait_enqueue(&plait->queues, path->id, decision->amount * facts->mss,
			      facts->written);
		break;
	case PLAIT_RECALL:
		plait_requeue(&plait->queues, path->id);
		break;
	case PLAIT_LIMIT:
		path->limit = decision->amount;
		plait->subflows[path->id].limit = path->limit;
		break;
	case PLAIT_PENALIZE:
		penalize(tp);
		path->cwnd = tcp_snd_cwnd(tp);
		break;
	}
	plait_look_at_queues(msk, facts);
}

static void take(struct mptcp_sock *msk, struct sock *ssk, u64 dsn, u64 bytes)
{
	msk->snd_seq = dsn;
	msk->snd_burst = min_t(u64, bytes, INT_MAX);
	mptcp_subflow_set_scheduled(mptcp_subflow_ctx(ssk), true);
}

/* How much of the first range of a path queue may leave now. */
static u64 sendable(const struct plait_facts *facts, const struct plait_path *path, u64 start,
		    u64 end)
{
	const struct tcp_sock *tp = tcp_sk(facts->ssks[path->id]);
	u32 window = min(path->cwnd, path->limit);
	u64 room, bytes = min_t(u64, end - start, facts->mss);

	if (path->in_recovery || window <= path->in_flight)
		return 0;
	if (start >= facts->window || facts->window - start < bytes)
		return 0;
	room = (u64)(window - path->in_flight) * facts->mss;
	room -= min_t(u64, room, tp->write_seq - tp->snd_nxt);
	if (room < bytes)
		return 0;
	return min3(end - start, room, facts->window - start);
}

/* Lets a subflow take what its path queue may send; false if none may. */
static bool send_queued(struct mptcp_sock *msk, const struct plait_facts *facts)
{
	struct plait_socket *plait = plait_of(msk);
	unsigned int i;

	for (i = 0; i < facts->count; i++) {
		u64 start, end, bytes;

		if (!facts->ssks[i] || !plait_first_range(&plait->queues, i, &start, &end))
			continue;
		bytes = sendable(facts, &facts->paths[i], start, end);
		if (!bytes)
			continue;
		plait->sending = i;
		take(msk, facts->ssks[i], plait->first_dsn + start, bytes);
		return true;
	}
	return false;
}

/* With a closed window and nothing in flight nobody would tell that it opens: a byte probes it. */
static int probe_window(struct mptcp_sock *msk, const struct plait_facts *facts)
{
	struct plait_socket *plait = plait_of(msk);
	unsigned int i;
	u64 start, end;

	for (i = 0; i < facts->count; i++) {
		u8 state = facts->paths[i].state;

		if (!facts->ssks[i] || (state != PLAIT_ACTIVE && state != PLAIT_BACKUP))
			continue;
		if (!plait->queues.paths[i].bytes)
			plait_enqueue(&plait->queues, i, facts->mss, facts->written);
		if (!plait_first_range(&plait->queues, i, &start, &end))
			continue;
		plait->sending = i;
		take(msk, facts->ssks[i], plait->first_dsn + start, end - start);
		return 0;
	}
	return -EAGAIN;
}

static int get_send(struct mptcp_sock *msk)
{
	struct plait_facts facts;
	int i;

	if (!plait_of(msk))
		return -ENOMEM;
	plait_look(msk, &facts);
	for (i = 0; i < DECISIONS_MAX; i++) {
		struct plait_decision decision;

		if (send_queued(msk, &facts))
			return 0;
		decision = decide(plait_of(msk), &facts);
		if (decision.kind == PLAIT_WAIT || decision.kind == PLAIT_REINJECT)
			break;
		if (decision.path >= facts.count || !facts.ssks[decision.path])
			break;
		carry_out(msk, &facts, &decision);
	}
	if (!facts.connection.window_left && msk->snd_una == msk->snd_nxt)
		return probe_window(msk, &facts);
	return -EAGAIN;
}

/* The window is full: options may want to send a copy, and to penalize who caused it. */
static int get_copy(struct mptcp_sock *msk, struct plait_facts *facts)
{
	int i;

	plait_look_for_oldest(msk, facts);
	for (i = 0; i < DECISIONS_MAX; i++) {
		struct plait_decision decision = decide(plait_of(msk), facts);

		if (decision.kind == PLAIT_WAIT || decision.kind == PLAIT_ASSIGN)
			break;
		if (decision.path >= facts->count || !facts->ssks[decision.path])
			break;
		if (decision.kind == PLAIT_REINJECT) {
			take(msk, facts->ssks[decision.path], msk->snd_una, facts->mss);
			return 0;
		}
		carry_out(msk, facts, &decision);
	}
	return -EAGAIN;
}

/* Asked by the timer, or because the window is full. */
static int get_retrans(struct mptcp_sock *msk)
{
	struct plait_socket *plait = plait_of(msk);
	struct plait_facts facts;
	struct sock *ssk;

	if (!plait)
		return -ENOMEM;
	plait_look(msk, &facts);
	if ((plait->needs & PLAIT_NEEDS_REINJECT) && !facts.connection.window_left &&
	    mptcp_send_pending((struct sock *)msk) && !get_copy(msk, &facts))
		return 0;
	/* When the timer has run out, what the core does for any scheduler. */
	if (!test_and_clear_bit(MPTCP_RTX_TIMEOUT, &msk->flags))
		return -EAGAIN;
	ssk = mptcp_subflow_get_retrans(msk);
	if (!ssk)
		return -EINVAL;
	take(msk, ssk, msk->snd_una, INT_MAX);
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
		plait_sample_delay(plait, ssk);
}

struct plait_scheduler {
	struct mptcp_sched_ops ops;
	const struct plait_algorithm *algorithm;
};

/* Accepted connections are made while a lock is held. */
static void init_connection(struct mptcp_sock *msk)
{
	struct plait_socket *plait = kzalloc(sizeof(*plait), GFP_ATOMIC);

	msk->sched_data = plait;
	if (!plait)
		return;
	plait->sending = -1;
	spin_lock_init(&plait->delays_lock);
	plait_queues_init(&plait->queues, 0);
	plait->algorithm = container_of(msk->sched, struct plait_scheduler, ops)->algorithm;
	plait->needs = plait_needs(plait->algorithm);
	plait_init(plait->algorithm, plait->state);
}

static void release_connection(struct mptcp_sock *msk)
{
	struct plait_socket *plait = plait_of(msk);

	WRITE_ONCE(msk->sched_data, NULL);
	if (plait) {
		plait_queues_free(&plait->queues);
		kfree_rcu(plait, rcu);
	}
	msk->sched_backlog = false;
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
		.early_retrans = true,
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
