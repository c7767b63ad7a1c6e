// SPDX-License-Identifier: GPL-2.0-only
/* Pushes the ranges of the stream that the scheduler gave to subflows, in place of the core's
 * __subflow_push_pending(), which pushes the first pending fragment, whole.
 *
 * Ranges leave gaps. The core asks the scheduler, and delays the DATA_FIN, while first_pending is
 * set. So first_pending stays at the first fragment with data that was never sent. Of a fragment
 * whose parts are sent in any order, already_sent is the end of the last sent part, since
 * __mptcp_clean_una() expects that acknowledged data is below it.
 */
#include <net/tcp.h>
#include <net/mptcp.h>

#include "protocol.h"
#include "engine.h"

/* The fragment with the data at seq, from whichever end of the queue is nearer. */
static struct mptcp_data_frag *fragment_at(const struct mptcp_sock *msk, u64 seq)
{
	struct mptcp_data_frag *dfrag = msk->first_pending;

	if (list_empty(&msk->rtx_queue))
		return NULL;
	if (!dfrag)
		dfrag = list_last_entry(&msk->rtx_queue, struct mptcp_data_frag, list);
	if (before64(seq, msk->snd_una + (s64)(dfrag->data_seq - msk->snd_una) / 2))
		dfrag = list_first_entry(&msk->rtx_queue, struct mptcp_data_frag, list);
	while (before64(seq, dfrag->data_seq)) {
		if (list_is_first(&dfrag->list, &msk->rtx_queue))
			return NULL;
		dfrag = list_prev_entry(dfrag, list);
	}
	while (!before64(seq, dfrag->data_seq + dfrag->data_len)) {
		if (list_is_last(&dfrag->list, &msk->rtx_queue))
			return NULL;
		dfrag = list_next_entry(dfrag, list);
	}
	return dfrag;
}

void plait_advance(struct mptcp_sock *msk, struct plait_socket *plait)
{
	u64 unsent = plait->first_dsn + plait_first_unsent(&plait->queues);
	struct mptcp_data_frag *dfrag = msk->first_pending;

	while (dfrag && !before64(unsent, dfrag->data_seq + dfrag->data_len))
		dfrag = list_is_last(&dfrag->list, &msk->rtx_queue) ? NULL :
								       list_next_entry(dfrag, list);
	msk->first_pending = dfrag;
	/* The core's retransmissions fill gaps, too. Acknowledgments may then pass first_pending,
	 * which the core expects in recovery only.
	 */
	if (before64(unsent, msk->snd_nxt)) {
		msk->recovery_snd_nxt = msk->snd_nxt;
		msk->recovery = true;
	}
}

/* Like __mptcp_retransmit_pending_data(). */
void plait_start_over(struct mptcp_sock *msk)
{
	struct mptcp_data_frag *dfrag;

	msk->first_pending = NULL;
	list_for_each_entry(dfrag, &msk->rtx_queue, list) {
		if (!after64(dfrag->data_seq + dfrag->data_len, msk->snd_una))
			continue;
		if (!msk->first_pending)
			msk->first_pending = dfrag;
		dfrag->already_sent = 0;
	}
	msk->recovery_snd_nxt = msk->snd_nxt;
	msk->recovery = true;
}

/* Like mptcp_update_post_push(). */
static void pushed(struct mptcp_sock *msk, struct plait_socket *plait, struct plait_subflow *slot,
		   struct mptcp_data_frag *dfrag, u32 end, u32 bytes)
{
	unsigned int path = slot - plait->subflows;
	u64 next = dfrag->data_seq + end;

	dfrag->already_sent = max_t(u32, dfrag->already_sent, end);
	if (after64(next, msk->snd_nxt)) {
		msk->bytes_sent += next - msk->snd_nxt;
		WRITE_ONCE(msk->snd_nxt, next);
	}
	slot->given += bytes;
	slot->taken += bytes;
	if (!slot->again)
		plait_dequeue(&plait->queues, path, slot->given);
	plait_advance(msk, plait);
}

/* Pushes the subflow's range. Returns the number of bytes, or an error if there are none. */
static int push_range(struct mptcp_sock *msk, struct sock *ssk, struct plait_subflow *slot,
		      struct mptcp_sendmsg_info *info)
{
	struct plait_socket *plait = plait_of(msk);
	int ret = 0, copied = 0;

	while (slot->given < slot->given_end) {
		u64 seq = plait->first_dsn + slot->given;
		struct mptcp_data_frag *dfrag = fragment_at(msk, seq);

		if (!dfrag)
			break;
		info->sent = seq - dfrag->data_seq;
		info->limit = min_t(u64, dfrag->data_len,
				    info->sent + slot->given_end - slot->given);
		ret = mptcp_sendmsg_frag((struct sock *)msk, ssk, dfrag, info);
		if (ret <= 0)
			break;
		copied += ret;
		pushed(msk, plait, slot, dfrag, info->sent + ret, ret);
	}
	return copied ? : ret;
}

/* Pushes a range that another subflow carries. A peer that falls back to TCP takes the data of the
 * subflow as the stream. So there is no copy during a fallback, and no fallback after a copy, as in
 * __mptcp_retrans().
 */
static int push_copy(struct mptcp_sock *msk, struct sock *ssk, struct plait_subflow *slot,
		     struct mptcp_sendmsg_info *info)
{
	bool data_lock_held = info->data_lock_held;
	int ret = -EINVAL;

	spin_lock_bh(&msk->fallback_lock);
	if (msk->allow_subflows) {
		info->data_lock_held = true;	/* nothing may sleep here */
		ret = push_range(msk, ssk, slot, info);
		info->data_lock_held = data_lock_held;
	}
	if (ret > 0) {
		msk->allow_infinite_fallback = false;
		msk->bytes_retrans += ret;
	}
	spin_unlock_bh(&msk->fallback_lock);
	return ret;
}

int plait_push(struct sock *sk, struct sock *ssk, struct mptcp_sendmsg_info *info)
{
	u32 subflow_id = mptcp_subflow_ctx(ssk)->subflow_id;
	struct mptcp_sock *msk = mptcp_sk(sk);
	struct plait_socket *plait = plait_of(msk);
	struct plait_subflow *slot = NULL;
	unsigned int i;
	int ret;

	for (i = 0; plait && i < PLAIT_PATHS_MAX; i++)
		if (plait->subflows[i].ssk == ssk && plait->subflows[i].subflow_id == subflow_id)
			slot = &plait->subflows[i];
	if (!plait || !plait->begun)
		return -EOPNOTSUPP;
	if (!slot)
		return 0;
	ret = slot->again ? push_copy(msk, ssk, slot, info) : push_range(msk, ssk, slot, info);
	if (ret > 0) {
		plait_set_timeout(msk, false);
		msk->last_data_sent = tcp_jiffies32;
	}
	return ret;
}

bool plait_repeats(const struct mptcp_sock *msk)
{
	const struct plait_socket *plait;
	bool repeats;

	rcu_read_lock();
	plait = plait_of(msk);
	repeats = plait && READ_ONCE(plait->copies);
	rcu_read_unlock();
	return repeats;
}

bool plait_asks(struct mptcp_sock *msk, struct sock *ssk)
{
	struct plait_socket *plait;
	bool asks = false;

	rcu_read_lock();
	plait = plait_of(msk);
	if (plait) {
		plait_acked(plait, ssk);
		asks = READ_ONCE(plait->backlog) || READ_ONCE(plait->copies);
	}
	rcu_read_unlock();
	return asks;
}
