// SPDX-License-Identifier: GPL-2.0-only
/* The engine: Linux' MPTCP asks for a subflow, schedulers decide, and this carries it out.
 *
 * MPTCP asks whenever it has data to send: in sendmsg(), and for each acknowledgment.
 *
 * assign	The subflow is marked; msk->snd_burst says how many bytes it takes. What exceeds its
 *		congestion window waits in its write queue: that is the path queue.
 * limit	tp->snd_limit.
 * penalize	Halves snd_cwnd, and ssthresh if the window is beyond it.
 * reinject	When MPTCP asks for a retransmission; it does so too when the window is full.
 * recall	What is in a write queue has its subflow sequence numbers and stays there. What is
 *		stranded on a subflow that failed is sent again by MPTCP itself, as copies.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include <net/mptcp.h>

#include "protocol.h"
#include "compat.h"
#include "engine.h"
#include "options.h"

/* Decisions before one that sends; more would be a scheduler that never comes to an end. */
#define DECISIONS_MAX	(4 * PLAIT_PATHS_MAX)

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

/* What sends nothing, but changes the facts that the next decision sees. */
static void carry_out(struct plait_facts *facts, const struct plait_decision *decision)
{
	struct plait_path *path = &facts->paths[decision->path];
	struct tcp_sock *tp = tcp_sk(facts->ssks[decision->path]);

	if (decision->kind == PLAIT_LIMIT) {
		path->limit = decision->amount;
		tp->snd_limit = path->limit == PLAIT_NONE ? 0 : path->limit;
	} else if (decision->kind == PLAIT_PENALIZE) {
		penalize(tp);
		path->cwnd = tcp_snd_cwnd(tp);
	}
}

static void take(struct mptcp_sock *msk, struct sock *ssk, u64 bytes)
{
	msk->snd_burst = min_t(u64, bytes, INT_MAX);
	mptcp_subflow_set_scheduled(mptcp_subflow_ctx(ssk), true);
}

/* Asks until something is to be sent as `sends` says, and lets the subflow take it. */
static int decide_until(struct mptcp_sock *msk, struct plait_facts *facts, u8 sends)
{
	int i;

	for (i = 0; i < DECISIONS_MAX; i++) {
		struct plait_decision decision = decide(plait_of(msk), facts);
		u64 amount = decision.kind == PLAIT_ASSIGN ? decision.amount : 1;

		if (decision.kind == PLAIT_WAIT)
			break;
		if (decision.path >= facts->count || !facts->ssks[decision.path])
			break;
		if (decision.kind == sends) {
			take(msk, facts->ssks[decision.path], amount * facts->mss);
			return 0;
		}
		if (decision.kind == PLAIT_ASSIGN || decision.kind == PLAIT_REINJECT)
			break;
		carry_out(facts, &decision);
	}
	return -EAGAIN;
}

/* With a closed window and nothing in flight nobody would tell that it opens: a byte probes it. */
static int probe_window(struct mptcp_sock *msk, const struct plait_facts *facts)
{
	unsigned int i;

	for (i = 0; i < facts->count; i++) {
		u8 state = facts->paths[i].state;

		if (facts->ssks[i] && (state == PLAIT_ACTIVE || state == PLAIT_BACKUP)) {
			take(msk, facts->ssks[i], facts->mss);
			return 0;
		}
	}
	return -EAGAIN;
}

static int get_send(struct mptcp_sock *msk)
{
	struct plait_facts facts;

	if (!plait_of(msk))
		return -ENOMEM;
	plait_look(msk, &facts);
	if (!facts.connection.window_left && msk->snd_una == msk->snd_nxt)
		return probe_window(msk, &facts);
	return decide_until(msk, &facts, PLAIT_ASSIGN);
}

/* Asked by the timer, or because the window is full: then only options have something to say. */
static int get_retrans(struct mptcp_sock *msk)
{
	bool pending = mptcp_send_head((struct sock *)msk);
	struct plait_socket *plait = plait_of(msk);
	struct plait_facts facts;
	struct sock *ssk;

	if (!plait)
		return -ENOMEM;
	plait_look(msk, &facts);
	if ((plait->needs & PLAIT_NEEDS_REINJECT) && pending && !facts.connection.window_left) {
		plait_look_for_oldest(msk, &facts);
		if (!decide_until(msk, &facts, PLAIT_REINJECT))
			return 0;
	}
	if (timer_pending(&msk->sk.icsk_retransmit_timer))
		return -EAGAIN;
	/* The timer has run out: what the core does for any scheduler. */
	ssk = mptcp_subflow_get_retrans(msk);
	if (!ssk)
		return -EINVAL;
	take(msk, ssk, INT_MAX);
	return 0;
}

#ifndef PLAIT_SPLIT_OPS
static int get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	return data->reinject ? get_retrans(msk) : get_send(msk);
}
#endif

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
	plait->algorithm = container_of(msk->sched, struct plait_scheduler, ops)->algorithm;
	plait->needs = plait_needs(plait->algorithm);
	plait_init(plait->algorithm, plait->state);
}

static void release_connection(struct mptcp_sock *msk)
{
	kfree(msk->sched_data);
	msk->sched_data = NULL;
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
		.exact_burst = true,
		.early_retrans = true,
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
