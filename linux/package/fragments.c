// SPDX-License-Identifier: GPL-2.0-only
/* The executor for an unmodified core. It sends whole fragments, 32 KiB at most, in the order of the
 * stream. When a fragment waits, the scheduler chooses its path.
 *
 * assign	The subflow takes the next fragment into its write queue. Its windows apply there.
 *		One assignment is one fragment; its amount has no effect.
 * recall	Finds nothing: data in a write queue cannot be taken back.
 * limit	A path takes no fragment while as many segments are in flight or in its write queue.
 *
 * Without a hook at acknowledgments, delays are sampled when MPTCP asks, which is more rarely.
 */
#include <linux/module.h>
#include <net/tcp.h>
#include <net/mptcp.h>

#include "protocol.h"
#include "compat.h"
#include "options.h"
#include "stock.h"

#define MET_NEEDS	(PLAIT_NEEDS_ASSIGN_AHEAD | PLAIT_NEEDS_RECALL | PLAIT_NEEDS_LIMIT)

bool plait_can_execute(const struct plait_algorithm *algorithm)
{
	return !algorithm->by_packet && !(algorithm->needs() & ~MET_NEEDS);
}

/* The first byte that the core sends next. After the loss of a subflow it begins again with
 * unacknowledged data, below snd_nxt.
 */
static u64 next_byte(const struct mptcp_sock *msk)
{
	const struct mptcp_data_frag *fragment = msk->first_pending;

	if (fragment)
		return fragment->data_seq + fragment->already_sent;
	return msk->write_seq - msk->snd_data_fin_enable;
}

/* Several subflows may have sent since the last look: then the order of their parts is unknown, and
 * is that of the paths here.
 */
static u64 take_stock(struct plait_socket *plait, unsigned int path, u64 at, u64 next)
{
	struct sock *ssk = plait->facts.ssks[path];
	const struct tcp_options_received *options = &tcp_sk(ssk)->rx_opt;
	struct plait_subflow *slot = &plait->subflows[path];
	u32 bytes = READ_ONCE(tcp_sk(ssk)->write_seq) - slot->write_seq;
	u32 tsval = READ_ONCE(options->rcv_tsval), tsecr = READ_ONCE(options->rcv_tsecr);

	slot->write_seq += bytes;
	slot->taken += bytes;
	slot->sent = at;
	/* Retransmissions of the core do not move next. */
	slot->sent_end = at < next ? min(at + bytes, next) : at;
	if (tsval != slot->tsval || tsecr != slot->tsecr)
		plait_sample_delay(plait, ssk);
	slot->tsval = tsval;
	slot->tsecr = tsecr;
	return slot->sent_end;
}

void plait_settle(struct mptcp_sock *msk, struct plait_socket *plait)
{
	struct plait_queues *queues = &plait->queues;
	unsigned int i;
	u64 next, at;

	if (!plait->begun) {
		plait->begun = true;
		plait->first_dsn = msk->snd_una;
		plait_queues_init(queues, next_byte(msk) - plait->first_dsn);
		plait_segments_init(&plait->segments, queues->next);
	}
	at = queues->next;
	next = max(next_byte(msk), msk->snd_una) - plait->first_dsn;
	plait_segments_number(&plait->segments, next, plait->facts.mss);
	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		plait->subflows[i].sent_end = plait->subflows[i].sent;
		if (plait->facts.ssks[i])
			at = take_stock(plait, i, at, next);
	}
	queues->next = next;
	plait_set_timeout(msk, true);
	plait_segments_forget(&plait->segments, msk->snd_una - plait->first_dsn);
}

/* The core asks as long as a fragment waits. */
void plait_ask_again(struct mptcp_sock *msk, struct plait_socket *plait)
{
}

/* Path queues are empty. */
bool plait_send_queued(struct plait_socket *plait)
{
	return false;
}

/* The core sends fragments until the burst is used up: one, if that is a byte. */
static void give(struct mptcp_sock *msk, struct sock *ssk)
{
	msk->snd_burst = 1;
	mptcp_subflow_set_scheduled(mptcp_subflow_ctx(ssk), true);
}

int plait_carry_out(struct mptcp_sock *msk, struct plait_socket *plait,
		    const struct plait_decision *decision)
{
	struct plait_path *path = &plait->facts.paths[decision->path];

	if (decision->kind == PLAIT_LIMIT) {
		path->limit = decision->amount;
		plait->subflows[path->id].limit = path->limit;
	}
	if (decision->kind != PLAIT_ASSIGN)
		return 0;
	if (path->in_recovery || (u64)path->in_flight + path->queued >= path->limit)
		return -EAGAIN;
	give(msk, plait->facts.ssks[path->id]);
	return 1;
}

/* The core sends a byte if the window is closed. */
int plait_probe_window(struct mptcp_sock *msk, struct plait_socket *plait)
{
	const struct plait_facts *facts = &plait->facts;
	unsigned int i;

	for (i = 0; i < facts->count; i++) {
		if (!facts->ssks[i] || !plait_is_up(&facts->paths[i]))
			continue;
		give(msk, facts->ssks[i]);
		return 0;
	}
	return -EAGAIN;
}

/* At an acknowledgment the core asks only if the window admits new data. When a subflow is lost, its
 * data may have to be sent again within a full window.
 */
bool plait_is_asked_again(const struct mptcp_sock *msk)
{
	return after64(msk->wnd_end, msk->snd_nxt) || !before64(next_byte(msk), msk->snd_nxt);
}

bool plait_core_ready(struct mptcp_sock *msk)
{
	return plait_is_confirmed(msk);
}
