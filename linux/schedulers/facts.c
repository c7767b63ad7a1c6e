// SPDX-License-Identifier: GPL-2.0-only
/* Linux' MPTCP as the schedulers see it: facts from the sockets, events from what has changed. */
#include <net/tcp.h>
#include <net/mptcp.h>

#include "protocol.h"
#include "engine.h"
#include "options.h"

/* Decisions that are no further apart belong to one moment: carrying them out takes time. */
#define MOMENT_NS	(50 * NSEC_PER_USEC)

/* Paths are numbered by the MPTCP endpoints that their subflows leave from, which `ip mptcp
 * endpoint` numbers from 1, so that they mean the same in every run; others take the first number
 * that is free.
 */
static struct plait_subflow *slot_of(struct mptcp_sock *msk,
				     const struct mptcp_subflow_context *subflow)
{
	int endpoint = subflow->local_id > 0 ? subflow->local_id : msk->mpc_endpoint_id;
	struct sock *ssk = mptcp_subflow_tcp_sock(subflow);
	struct plait_socket *plait = plait_of(msk);
	struct plait_subflow *slot;
	unsigned int i;

	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		slot = &plait->subflows[i];
		if (slot->ssk == ssk && slot->subflow_id == subflow->subflow_id)
			return slot;
	}
	slot = NULL;
	if (endpoint > 0 && endpoint <= PLAIT_PATHS_MAX)
		slot = &plait->subflows[endpoint - 1];
	/* A subflow that is down leaves its place to the next one of its address. */
	for (i = 0; (!slot || slot->up || slot->is_new) && i < PLAIT_PATHS_MAX; i++)
		slot = &plait->subflows[i];
	if (slot->up || slot->is_new)
		return NULL;
	*slot = (struct plait_subflow) {
		.ssk = ssk,
		.is_new = true,
		.subflow_id = subflow->subflow_id,
		.limit = PLAIT_NONE,
	};
	return slot;
}

static u32 segments(u64 bytes, u32 mss)
{
	return min_t(u64, div_u64(bytes + mss - 1, mss), U32_MAX - 1);
}

static u8 path_state(struct mptcp_subflow_context *subflow)
{
	if (!mptcp_subflow_active(subflow))
		return subflow->stale ? PLAIT_POTENTIALLY_FAILED : PLAIT_FAILED;
	return subflow->backup || subflow->request_bkup ? PLAIT_BACKUP : PLAIT_ACTIVE;
}

static u64 delivery_rate(const struct tcp_sock *tp)
{
	u64 bits = (u64)tp->rate_delivered * tp->mss_cache * BITS_PER_BYTE;

	return tp->rate_interval_us ? div_u64(bits * USEC_PER_SEC, tp->rate_interval_us) : 0;
}

static u32 loss_ppm(const struct tcp_sock *tp)
{
	return tp->data_segs_out ? div_u64((u64)tp->lost * 1000000, tp->data_segs_out) : 0;
}

static struct plait_delay *delay_of(struct plait_socket *plait, const struct sock *ssk)
{
	unsigned int i;

	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		if (plait->delays[i].ssk == ssk)
			return &plait->delays[i];
	}
	return NULL;
}

/* The smoothed TSval - TSecr of the acknowledgments. Both clocks must run without an offset of
 * their own for each connection: net.ipv4.tcp_timestamps = 2 at both ends.
 */
void plait_sample_delay(struct plait_socket *plait, struct sock *ssk)
{
	const struct tcp_options_received *options = &tcp_sk(ssk)->rx_opt;
	s64 sample = (s64)(s32)(options->rcv_tsval - options->rcv_tsecr) * NSEC_PER_MSEC;
	struct plait_delay *delay;

	if (!options->saw_tstamp || !options->rcv_tsecr)
		return;
	spin_lock_bh(&plait->delays_lock);
	delay = delay_of(plait, ssk);
	if (!delay) {
		delay = delay_of(plait, NULL);
		if (delay)
			*delay = (struct plait_delay) { .ssk = ssk, .forward = sample };
	} else {
		delay->forward = (7 * delay->forward + sample) >> 3;
	}
	spin_unlock_bh(&plait->delays_lock);
}

static s64 forward_delay(struct plait_socket *plait, const struct sock *ssk)
{
	const struct plait_delay *delay;
	s64 forward;

	spin_lock_bh(&plait->delays_lock);
	delay = delay_of(plait, ssk);
	forward = delay ? delay->forward : PLAIT_UNKNOWN;
	spin_unlock_bh(&plait->delays_lock);
	return forward;
}

/* Subflows that are gone leave their places. */
static void forget_delays(struct plait_socket *plait, const struct plait_facts *facts)
{
	unsigned int i, j;

	spin_lock_bh(&plait->delays_lock);
	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		for (j = 0; j < facts->count; j++) {
			if (facts->ssks[j] && plait->delays[i].ssk == facts->ssks[j])
				break;
		}
		if (j == facts->count)
			plait->delays[i].ssk = NULL;
	}
	spin_unlock_bh(&plait->delays_lock);
}

static u64 microseconds(u32 us)
{
	return (u64)us * NSEC_PER_USEC;
}

static void path_facts(struct plait_socket *plait, struct plait_path *path,
		       const struct plait_subflow *slot,
		       struct mptcp_subflow_context *subflow)
{
	struct sock *ssk = mptcp_subflow_tcp_sock(subflow);
	const struct inet_connection_sock *icsk = inet_csk(ssk);
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 min_rtt = tcp_min_rtt(tp);

	path->state = path_state(subflow);
	/* A full send buffer is like a loss that is being repaired: nothing goes in. */
	path->in_recovery = icsk->icsk_ca_state == TCP_CA_Loss || !sk_stream_memory_free(ssk);
	path->repairing = icsk->icsk_ca_state >= TCP_CA_CWR;
	path->mss = tcp_current_mss(ssk);
	path->cwnd = tcp_snd_cwnd(tp);
	if (tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
		path->ssthresh = tp->snd_ssthresh;
	path->in_flight = tcp_packets_in_flight(tp);
	path->limit = slot->limit;
	path->loss_ppm = loss_ppm(tp);
	path->srtt = microseconds(tp->srtt_us >> 3);
	path->rttvar = microseconds(tp->rttvar_us >> 2);
	path->latest_rtt = microseconds(tp->rack.rtt_us);
	path->own_rtt = path->srtt;	/* a subflow acknowledges for itself */
	path->min_rtt = min_rtt == U32_MAX ? 0 : microseconds(min_rtt);
	path->forward_delay = forward_delay(plait, ssk);
	path->rto = microseconds(jiffies_to_usecs(icsk->icsk_rto));
	path->delivery_rate = delivery_rate(tp);
}

/* Paths that have no subflow count as failed. */
static void paths_facts(struct mptcp_sock *msk, struct plait_facts *facts)
{
	struct mptcp_subflow_context *subflow;
	unsigned int i;

	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		facts->ssks[i] = NULL;
		facts->paths[i] = (struct plait_path) {
			.id = i,
			.state = PLAIT_FAILED,
			.mss = TCP_MSS_DEFAULT,
			.cwnd = 1,
			.ssthresh = PLAIT_NONE,
			.limit = PLAIT_NONE,
			.forward_delay = PLAIT_UNKNOWN,
		};
	}
	facts->count = 0;
	facts->mss = TCP_MSS_DEFAULT;
	mptcp_for_each_subflow(msk, subflow) {
		struct plait_subflow *slot = slot_of(msk, subflow);

		if (!slot)
			continue;
		i = slot - plait_of(msk)->subflows;
		path_facts(plait_of(msk), &facts->paths[i], slot, subflow);
		facts->ssks[i] = mptcp_subflow_tcp_sock(subflow);
		facts->count = max(facts->count, i + 1);
		facts->mss = max(facts->mss, facts->paths[i].mss);
	}
	forget_delays(plait_of(msk), facts);
}

static bool is_up(const struct plait_path *path)
{
	return path->state == PLAIT_ACTIVE || path->state == PLAIT_BACKUP;
}

/* What was sent, acknowledged, or is stranded on a path that is down leaves the path queues. */
static void settle(struct mptcp_sock *msk, const struct plait_facts *facts)
{
	struct plait_socket *plait = plait_of(msk);
	struct plait_queues *queues = &plait->queues;
	unsigned int i;

	if (!plait->first_dsn) {
		plait->first_dsn = msk->snd_una;
		plait_queues_init(queues, msk->snd_nxt - plait->first_dsn);
	}
	if (plait->sending >= 0)
		plait_dequeue(queues, plait->sending, msk->snd_seq - plait->first_dsn);
	plait->sending = -1;
	plait_acknowledged(queues, msk->snd_una - plait->first_dsn);
	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		if (!is_up(&facts->paths[i]))
			plait_requeue(queues, i);
	}
	/* A subflow was closed: as ever, all that is not acknowledged is sent again. */
	if (msk->recovery && plait->recovered != msk->recovery_snd_nxt) {
		plait->recovered = msk->recovery_snd_nxt;
		plait_requeue_all(queues, msk->snd_una - plait->first_dsn);
	}
}

void plait_look_at_queues(struct mptcp_sock *msk, struct plait_facts *facts)
{
	struct plait_connection *connection = &facts->connection;
	struct plait_socket *plait = plait_of(msk);
	struct plait_queues *queues = &plait->queues;
	u64 unassigned = plait_unassigned(queues, facts->written);
	/* The window that what waits for paths leaves to what does not. */
	s64 window = facts->window - queues->next + queues->recalled.bytes;
	unsigned int i;

	connection->unassigned = segments(unassigned, facts->mss);
	connection->next_segment = div_u64(plait_next(queues), facts->mss);
	/* The last segment may be short; any other has to fit whole, as TCP sends no silly ones. */
	if (window >= (s64)unassigned)
		connection->window_left = connection->unassigned;
	else
		connection->window_left = window > 0 ? div_u64(window, facts->mss) : 0;

	msk->sched_backlog = queues->recalled.bytes > 0;
	for (i = 0; i < facts->count; i++) {
		u64 waiting = queues->paths[i].bytes;

		msk->sched_backlog |= waiting > 0;
		if (facts->ssks[i]) {
			const struct tcp_sock *tp = tcp_sk(facts->ssks[i]);

			waiting += tp->write_seq - tp->snd_nxt;
		}
		facts->paths[i].queued = segments(waiting, facts->mss);
	}
}

static void connection_facts(struct mptcp_sock *msk, struct plait_facts *facts)
{
	u64 first = plait_of(msk)->first_dsn;
	int space = sk_stream_wspace((const struct sock *)msk);

	facts->window = READ_ONCE(msk->wnd_end) - first;
	/* DATA_FIN has a number of its own. */
	facts->written = msk->write_seq - msk->snd_data_fin_enable - first;
	facts->connection = (struct plait_connection) {
		.send_buffer_left = max(space, 0) / facts->mss,
		.finished = msk->snd_data_fin_enable,
	};
}

static void tell(struct plait_socket *plait, const struct plait_facts *facts,
		 struct plait_event event)
{
	plait_on_event(plait->algorithm, plait->state, &event, &facts->connection,
		       facts->paths, facts->count);
}

/* Which segments were sent is not known any more; no scheduler here wants to know. */
static void tell_sent(struct plait_socket *plait, const struct plait_facts *facts, u8 path,
		      u32 segments, bool retransmission)
{
	while (segments--)
		tell(plait, facts, (struct plait_event) {
			.kind = PLAIT_SENT, .path = path, .retransmission = retransmission,
			.amount = facts->connection.next_segment,
		});
}

/* Events of one subflow since the last look; true if there was one that is no transmission. */
static bool tell_subflow(struct plait_socket *plait, const struct plait_facts *facts, u8 path)
{
	const struct tcp_sock *tp = tcp_sk(facts->ssks[path]);
	struct plait_subflow *slot = &plait->subflows[path];
	u32 retransmitted = tp->total_retrans - slot->retransmitted;
	u32 sent = tp->data_segs_out - slot->sent;
	u32 delivered = tp->delivered - slot->delivered;
	u32 lost = tp->lost - slot->lost;
	bool timeout = tp->total_rto != slot->timeouts;

	slot->retransmitted = tp->total_retrans;
	slot->sent = tp->data_segs_out;
	slot->delivered = tp->delivered;
	slot->lost = tp->lost;
	slot->timeouts = tp->total_rto;

	tell_sent(plait, facts, path, sent - min(sent, retransmitted), false);
	tell_sent(plait, facts, path, retransmitted, true);
	if (timeout)
		tell(plait, facts, (struct plait_event) { .kind = PLAIT_TIMEOUT, .path = path });
	if (lost)
		tell(plait, facts, (struct plait_event) {
			.kind = PLAIT_LOST, .path = path, .amount = lost,
		});
	if (delivered)
		tell(plait, facts, (struct plait_event) {
			.kind = PLAIT_ACKED, .path = path, .amount = delivered,
			.rtt = facts->paths[path].latest_rtt,
		});
	return timeout || lost || delivered;
}

/* MPTCP tells schedulers of no event: what differs from the last look has happened. */
static bool tell_what_happened(struct plait_socket *plait, const struct plait_facts *facts)
{
	bool happened = false;
	u8 i;

	for (i = 0; i < facts->count; i++) {
		struct plait_subflow *slot = &plait->subflows[i];
		bool up = is_up(&facts->paths[i]);

		slot->is_new = false;
		if (up != slot->up) {
			slot->up = up;
			happened = true;
			tell(plait, facts, (struct plait_event) {
				.kind = up ? PLAIT_PATH_UP : PLAIT_PATH_DOWN, .path = i,
			});
		}
		if (facts->ssks[i])
			happened |= tell_subflow(plait, facts, i);
	}
	return happened;
}

void plait_look(struct mptcp_sock *msk, struct plait_facts *facts)
{
	struct plait_socket *plait = plait_of(msk);
	u64 now = ktime_get_ns();

	paths_facts(msk, facts);
	settle(msk, facts);
	connection_facts(msk, facts);
	plait_look_at_queues(msk, facts);
	if (tell_what_happened(plait, facts) || now - plait->now > MOMENT_NS)
		plait->now = now;
}

/* True if the subflow has a segment in flight that contains the data at dsn. */
static bool carries(struct sock *ssk, u64 dsn)
{
	struct sk_buff *skb;

	skb_rbtree_walk(skb, &ssk->tcp_rtx_queue) {
		const struct mptcp_ext *map = mptcp_get_ext(skb);

		if (map && !before64(dsn, map->data_seq) &&
		    before64(dsn, map->data_seq + map->data_len))
			return true;
	}
	return false;
}

void plait_look_for_oldest(struct mptcp_sock *msk, struct plait_facts *facts)
{
	struct plait_connection *connection = &facts->connection;
	u64 first = msk->snd_una;
	unsigned int i;

	connection->oldest_unacked = div_u64(first - plait_of(msk)->first_dsn, facts->mss);
	for (i = 0; i < facts->count; i++) {
		struct sock *ssk = facts->ssks[i];

		if (!ssk)
			continue;
		lock_sock(ssk);
		if (carries(ssk, first)) {
			connection->has_oldest = true;
			connection->oldest_path = i;
			connection->oldest_carried |= BIT(i);
		}
		release_sock(ssk);
	}
}
