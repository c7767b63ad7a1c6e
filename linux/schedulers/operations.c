// SPDX-License-Identifier: GPL-2.0-only
/* The operations of all schedulers: MPTCP's questions. */
#include <linux/module.h>
#include <net/tcp.h>
#include <net/mptcp.h>

#include "protocol.h"
#include "compat.h"
#include "engine.h"

/* Before 7.x the least time is a constant. */
void plait_set_timeout(struct mptcp_sock *msk, bool active)
{
	struct mptcp_subflow_context *subflow;
	long timeout = 0;

	mptcp_for_each_subflow(msk, subflow) {
		const struct sock *ssk = mptcp_subflow_tcp_sock(subflow);

		if (active && !mptcp_subflow_active(subflow))
			continue;
		if (inet_csk(ssk)->icsk_pending && !subflow->stale_count)
			timeout = max(timeout, (long)(plait_timer_expires(ssk) - jiffies));
	}
	if (timeout <= 0)
		timeout = READ_ONCE(msk->sk.icsk_rto_min) ?: TCP_RTO_MIN;
	msk->timer_ival = timeout;
}

static int choose(struct sock *ssk)
{
	if (!ssk)
		return -EINVAL;
	mptcp_subflow_set_scheduled(mptcp_subflow_ctx(ssk), true);
	return 0;
}

static int get_send(struct mptcp_sock *msk)
{
	struct plait_socket *plait = plait_core_ready(msk) ? plait_connection(msk) : NULL;
	int error;

	/* Without memory the core decides. */
	if (!plait)
		return choose(mptcp_subflow_get_send(msk));
	error = plait_get_send(msk, plait);
	/* So does it if the scheduler would wait in vain. */
	if (error && !plait_is_asked_again(msk))
		return choose(mptcp_subflow_get_send(msk));
	return error;
}

static int get_retrans(struct mptcp_sock *msk)
{
	return choose(mptcp_subflow_get_retrans(msk));
}

#ifndef PLAIT_SPLIT_OPS
static int get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	return data->reinject ? get_retrans(msk) : get_send(msk);
}
#endif

/* Acknowledgments of the handshakes have delays already. Without memory another attempt follows. */
#if defined(PLAIT_HOOKS) || defined(PLAIT_LIVEPATCH)
static void init(struct mptcp_sock *msk)
{
	plait_connection(msk);
}
#endif

static void release(struct mptcp_sock *msk)
{
	plait_disconnect(msk);
}

const struct mptcp_sched_ops plait_operations = {
#ifdef PLAIT_SPLIT_OPS
	.get_send = get_send,
	.get_retrans = get_retrans,
#else
	.get_subflow = get_subflow,
#endif
	.owner = THIS_MODULE,
#ifdef PLAIT_HOOKS
	.push = plait_push,
	.repeats = plait_repeats,
	.acked = plait_asks,
#endif
#if defined(PLAIT_HOOKS) || defined(PLAIT_LIVEPATCH)
	.init = init,
#endif
	.release = release,
};
