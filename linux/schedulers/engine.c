// SPDX-License-Identifier: GPL-2.0-only
/* The engine: Linux' MPTCP as the schedulers see it.
 *
 * MPTCP asks for a subflow whenever it has data to send: from sendmsg(), and for every acknowledgement. The engine
 * then tells the scheduler what has happened since, shows it the facts, and carries its decisions out:
 *
 * assign	 the subflow is marked, and msk->snd_burst says how many bytes it takes. What exceeds its congestion
 *		 window waits in its write queue: that is the path queue.
 * limit	 tp->snd_limit.
 * penalize	 halves snd_cwnd, and ssthresh if the window is beyond it.
 * reinject	 when MPTCP asks for a retransmission, which schedulers with early_retrans get when the window is full.
 * recall	 is not possible: bytes in a write queue have their subflow sequence numbers. What is stranded on a subflow
 *		 that failed is sent again by MPTCP itself, as copies.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include <net/mptcp.h>

#include "protocol.h"
#include "compat.h"
#include "engine.h"
#include "options.h"

/* Decisions that are not further apart belong to one moment: the loop that carries them out takes time itself. */
#define MOMENT_NS	(50 * NSEC_PER_USEC)
/* Limits, penalties and recalls between two assignments; more would be a scheduler that never comes to an end. */
#define DECISIONS_MAX	(4 * PLAIT_PATHS_MAX)

static struct plait_socket *plait_of(const struct mptcp_sock *msk)
{
	return msk->sched_data;
}

/* Paths are numbered by the MPTCP endpoints that their subflows leave from, as `ip mptcp endpoint` numbers them
 * from 1, so that they mean the same in every run; others take the first free number.
 */
static struct plait_subflow *slot_of(struct plait_socket *plait, const struct mptcp_sock *msk,
				     const struct mptcp_subflow_context *subflow, const struct sock *ssk)
{
	int endpoint = subflow->local_id > 0 ? subflow->local_id : msk->mpc_endpoint_id;
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
	/* A subflow that was closed leaves its place to the next one of its address. */
	for (i = 0; (!slot || slot->up) && i < PLAIT_PATHS_MAX; i++)
		slot = &plait->subflows[i];
	if (slot->up)
		return NULL;
	*slot = (struct plait_subflow) {
		.ssk = (struct sock *)ssk,
		.subflow_id = subflow->subflow_id,
		.forward_delay = PLAIT_UNKNOWN,
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
	if (!tp->rate_delivered || !tp->rate_interval_us)
		return 0;
	return div_u64((u64)tp->rate_delivered * tp->mss_cache * BITS_PER_BYTE * USEC_PER_SEC, tp->rate_interval_us);
}

/* The smoothed TSval - TSecr of the acknowledgements; the clocks must not have an offset of their own for each
 * connection: net.ipv4.tcp_timestamps = 2 at both ends.
 */
static void sample_delay(struct plait_subflow *slot, const struct tcp_sock *tp)
{
	const struct tcp_options_received *options = &tp->rx_opt;
	s64 sample;

	if (!options->rcv_tsecr || (options->rcv_tsval == slot->tsval && options->rcv_tsecr == slot->tsecr))
		return;
	slot->tsval = options->rcv_tsval;
	slot->tsecr = options->rcv_tsecr;
	sample = (s64)(s32)(slot->tsval - slot->tsecr) * NSEC_PER_MSEC;
	if (slot->forward_delay == PLAIT_UNKNOWN)
		slot->forward_delay = sample;
	else
		slot->forward_delay = (7 * slot->forward_delay + sample) >> 3;
}

static void path_facts(struct plait_path *path, struct plait_subflow *slot, struct mptcp_subflow_context *subflow)
{
	struct sock *ssk = mptcp_subflow_tcp_sock(subflow);
	const struct inet_connection_sock *icsk = inet_csk(ssk);
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 min_rtt = tcp_min_rtt(tp);

	sample_delay(slot, tp);
	path->state = path_state(subflow);
	/* A full send buffer is no different from a loss that is being repaired: it takes nothing, for a while. */
	path->in_recovery = icsk->icsk_ca_state == TCP_CA_Loss || !sk_stream_memory_free(ssk);
	path->repairing = icsk->icsk_ca_state >= TCP_CA_CWR;
	path->mss = tcp_current_mss(ssk);
	path->cwnd = tcp_snd_cwnd(tp);
	path->ssthresh = tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH ? PLAIT_NONE : tp->snd_ssthresh;
	path->in_flight = tcp_packets_in_flight(tp);
	path->queued = segments(tp->write_seq - tp->snd_nxt, path->mss);
	path->limit = tp->snd_limit ?: PLAIT_NONE;
	path->loss_ppm = tp->data_segs_out ? div_u64((u64)tp->lost * 1000000, tp->data_segs_out) : 0;
	path->cost = 0;
	path->srtt = (u64)(tp->srtt_us >> 3) * NSEC_PER_USEC;
	path->rttvar = (u64)(tp->rttvar_us >> 2) * NSEC_PER_USEC;
	path->latest_rtt = (u64)tp->rack.rtt_us * NSEC_PER_USEC;
	path->min_rtt = min_rtt == ~0U ? 0 : (u64)min_rtt * NSEC_PER_USEC;
	path->forward_delay = slot->forward_delay;
	path->rto = (u64)jiffies_to_usecs(icsk->icsk_rto) * NSEC_PER_USEC;
	path->delivery_rate = delivery_rate(tp);
}

/* Facts of all paths; paths without a subflow have failed. Returns one more than the highest number. */
static unsigned int paths_facts(struct mptcp_sock *msk, struct plait_path *paths, struct sock **ssks)
{
	struct plait_socket *plait = plait_of(msk);
	struct mptcp_subflow_context *subflow;
	unsigned int i, count = 0;

	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		paths[i] = (struct plait_path) {
			.id = i, .state = PLAIT_FAILED, .mss = TCP_MSS_DEFAULT, .cwnd = 1,
			.ssthresh = PLAIT_NONE, .limit = PLAIT_NONE, .forward_delay = PLAIT_UNKNOWN,
		};
		ssks[i] = NULL;
	}
	mptcp_for_each_subflow(msk, subflow) {
		struct sock *ssk = mptcp_subflow_tcp_sock(subflow);
		struct plait_subflow *slot = slot_of(plait, msk, subflow, ssk);

		if (!slot)
			continue;
		i = slot - plait->subflows;
		path_facts(&paths[i], slot, subflow);
		ssks[i] = ssk;
		count = max(count, i + 1);
	}
	return count;
}

static void connection_facts(const struct mptcp_sock *msk, u32 mss, struct plait_connection *connection)
{
	const struct sock *sk = (const struct sock *)msk;
	struct plait_socket *plait = plait_of(msk);
	u64 unsent = msk->write_seq - msk->snd_nxt;
	u64 window = after64(READ_ONCE(msk->wnd_end), msk->snd_nxt) ? READ_ONCE(msk->wnd_end) - msk->snd_nxt : 0;

	if (!plait->first_dsn)
		plait->first_dsn = msk->snd_una;
	*connection = (struct plait_connection) {
		.unassigned = segments(unsent, mss),
		.next_segment = div_u64(msk->snd_nxt - plait->first_dsn, mss),
		/* A last segment may be short; any other one must fit whole, as TCP sends no silly ones. */
		.window_left = window >= unsent ? segments(window, mss) : div_u64(window, mss),
		.send_buffer_left = div_u64(max(sk_stream_wspace(sk), 0), mss),
		.finished = msk->snd_data_fin_enable,
	};
}

static void tell(struct plait_socket *plait, u8 kind, u8 path, u64 amount, u64 rtt, bool retransmission,
		 const struct plait_connection *connection, const struct plait_path *paths, unsigned int count)
{
	const struct plait_event event = {
		.kind = kind, .path = path, .amount = amount, .rtt = rtt, .retransmission = retransmission,
	};

	plait_options_on_event(plait->algorithm, plait->state, &event, connection, paths, count);
}

/* MPTCP tells schedulers of no event: what differs from the last call has happened. */
static bool tell_what_happened(struct mptcp_sock *msk, struct sock **ssks, const struct plait_connection *connection,
			       const struct plait_path *paths, unsigned int count)
{
	struct plait_socket *plait = plait_of(msk);
	bool happened = false;
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct plait_subflow *slot = &plait->subflows[i];
		bool up = paths[i].state == PLAIT_ACTIVE || paths[i].state == PLAIT_BACKUP;
		const struct tcp_sock *tp;
		u32 retransmitted, sent;

		if (up != slot->up) {
			slot->up = up;
			happened = true;
			tell(plait, up ? PLAIT_PATH_UP : PLAIT_PATH_DOWN, i, 0, 0, false, connection, paths, count);
		}
		if (!ssks[i])
			continue;
		tp = tcp_sk(ssks[i]);
		retransmitted = tp->total_retrans - slot->retransmitted;
		sent = tp->data_segs_out - slot->sent - retransmitted;
		slot->retransmitted = tp->total_retrans;
		slot->sent = tp->data_segs_out;
		/* Which segments they were is not known any more; no scheduler here wants to know. */
		while (sent--)
			tell(plait, PLAIT_SENT, i, connection->next_segment, 0, false, connection, paths, count);
		while (retransmitted--)
			tell(plait, PLAIT_SENT, i, connection->next_segment, 0, true, connection, paths, count);
		if (tp->total_rto != slot->timeouts) {
			slot->timeouts = tp->total_rto;
			happened = true;
			tell(plait, PLAIT_TIMEOUT, i, 0, 0, false, connection, paths, count);
		}
		if (tp->lost != slot->lost) {
			happened = true;
			tell(plait, PLAIT_LOST, i, tp->lost - slot->lost, 0, false, connection, paths, count);
			slot->lost = tp->lost;
		}
		if (tp->delivered != slot->delivered) {
			happened = true;
			tell(plait, PLAIT_ACKED, i, tp->delivered - slot->delivered, paths[i].latest_rtt, false,
			     connection, paths, count);
			slot->delivered = tp->delivered;
		}
	}
	return happened;
}

static void penalize(struct sock *ssk)
{
	struct tcp_sock *tp = tcp_sk(ssk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (cwnd >= tp->snd_ssthresh)
		tp->snd_ssthresh = max(tp->snd_ssthresh >> 1, 2U);
	tcp_snd_cwnd_set(tp, max(cwnd >> 1, 1U));
}

static void take(struct mptcp_sock *msk, struct sock *ssk, u64 bytes)
{
	msk->snd_burst = min_t(u64, bytes, INT_MAX);
	mptcp_subflow_set_scheduled(mptcp_subflow_ctx(ssk), true);
}

/* With a closed window and nothing in flight nobody would tell that it opens: MPTCP probes it with a byte. */
static int probe_window(struct mptcp_sock *msk, const struct plait_path *paths, struct sock **ssks, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (paths[i].state == PLAIT_ACTIVE || paths[i].state == PLAIT_BACKUP) {
			take(msk, ssks[i], paths[i].mss);
			return 0;
		}
	}
	return -EAGAIN;
}

/* Which segment is the first that was not acknowledged, and who carries it? Only when nobody holds a subflow's lock. */
static void oldest_facts(struct mptcp_sock *msk, struct sock **ssks, u32 mss, struct plait_connection *connection,
			 unsigned int count)
{
	u64 first = msk->snd_una;
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct sk_buff *skb;

		if (!ssks[i])
			continue;
		lock_sock(ssks[i]);
		skb_rbtree_walk(skb, &ssks[i]->tcp_rtx_queue) {
			const struct mptcp_ext *mapping = mptcp_get_ext(skb);

			if (!mapping || before64(first, mapping->data_seq))
				continue;
			if (before64(first, mapping->data_seq + mapping->data_len)) {
				connection->oldest_carried |= BIT(i);
				connection->oldest_path = i;
				connection->has_oldest = true;
				break;
			}
		}
		release_sock(ssks[i]);
	}
	connection->oldest_unacked = div_u64(first - plait_of(msk)->first_dsn, mss);
}

struct situation {
	struct plait_connection connection;
	struct plait_path paths[PLAIT_PATHS_MAX];
	struct sock *ssks[PLAIT_PATHS_MAX];
	unsigned int count;
	u32 mss;
};

/* The facts, and the moment that they belong to. */
static void look(struct mptcp_sock *msk, struct situation *at)
{
	struct plait_socket *plait = plait_of(msk);
	u64 now = ktime_get_ns();
	unsigned int i;

	at->count = paths_facts(msk, at->paths, at->ssks);
	at->mss = TCP_MSS_DEFAULT;
	for (i = 0; i < at->count; i++) {
		if (at->ssks[i])
			at->mss = max(at->mss, at->paths[i].mss);
	}
	connection_facts(msk, at->mss, &at->connection);
	if (tell_what_happened(msk, at->ssks, &at->connection, at->paths, at->count) || now - plait->now > MOMENT_NS)
		plait->now = now;
}

static struct plait_decision decide(struct mptcp_sock *msk, const struct situation *at)
{
	struct plait_socket *plait = plait_of(msk);
	struct plait_decision decision;

	decision = plait_options_decide(plait->algorithm, plait->state, plait->now, &at->connection, at->paths,
					at->count);
	plait_log(plait->now, &decision, &at->connection, at->paths, at->count);
	return decision;
}

/* Limits and penalties change the facts that the next decision sees. */
static void carry_out(struct situation *at, const struct plait_decision *decision)
{
	struct plait_path *path = &at->paths[decision->path];
	struct sock *ssk = at->ssks[decision->path];

	switch (decision->kind) {
	case PLAIT_LIMIT:
		path->limit = decision->amount;
		if (ssk)
			tcp_sk(ssk)->snd_limit = decision->amount == PLAIT_NONE ? 0 : decision->amount;
		break;
	case PLAIT_PENALIZE:
		if (!ssk)
			break;
		penalize(ssk);
		path->cwnd = tcp_snd_cwnd(tcp_sk(ssk));
		break;
	default:
		break;
	}
}

static int get_send(struct mptcp_sock *msk)
{
	struct situation at;
	int i;

	if (!plait_of(msk))
		return -EAGAIN;
	look(msk, &at);
	if (!at.connection.window_left && msk->snd_una == msk->snd_nxt)
		return probe_window(msk, at.paths, at.ssks, at.count);
	for (i = 0; i < DECISIONS_MAX; i++) {
		struct plait_decision decision = decide(msk, &at);

		if (decision.kind == PLAIT_WAIT || decision.path >= at.count)
			return -EAGAIN;
		if (decision.kind == PLAIT_ASSIGN) {
			if (!at.ssks[decision.path])
				return -EAGAIN;
			take(msk, at.ssks[decision.path], decision.amount * at.mss);
			return 0;
		}
		carry_out(&at, &decision);
	}
	return -EAGAIN;
}

/* Asked by the timer, or because the window is full: then only options have something to say. */
static int get_retrans(struct mptcp_sock *msk)
{
	struct situation at;
	struct sock *ssk;
	int i;

	if (!plait_of(msk))
		return -EAGAIN;
	look(msk, &at);
	if (mptcp_send_head((struct sock *)msk) && !at.connection.window_left && plait_options_retransmit()) {
		oldest_facts(msk, at.ssks, at.mss, &at.connection, at.count);
		for (i = 0; i < DECISIONS_MAX; i++) {
			struct plait_decision decision = decide(msk, &at);

			if (decision.kind == PLAIT_REINJECT && decision.path < at.count && at.ssks[decision.path]) {
				take(msk, at.ssks[decision.path], at.mss);
				return 0;
			}
			if (decision.kind == PLAIT_WAIT || decision.kind == PLAIT_ASSIGN)
				break;
			carry_out(&at, &decision);
		}
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

static void init_connection(struct mptcp_sock *msk, const struct plait_algorithm *algorithm)
{
	struct plait_socket *plait = kzalloc(sizeof(*plait), GFP_ATOMIC);

	msk->sched_data = plait;
	if (!plait)
		return;
	plait->algorithm = algorithm;
	plait_options_init(algorithm, plait->state);
}

static void release_connection(struct mptcp_sock *msk)
{
	kfree(msk->sched_data);
	msk->sched_data = NULL;
}

#ifdef PLAIT_SPLIT_OPS
#define PLAIT_GET .get_send = get_send, .get_retrans = get_retrans
#else
#define PLAIT_GET .get_subflow = get_subflow
#endif

/* MPTCP hands init() no more than the connection: each scheduler has one of its own. */
#define PLAIT_SCHEDULER(identifier)								\
	static void init_##identifier(struct mptcp_sock *msk)					\
	{											\
		init_connection(msk, &plait_##identifier);					\
	}											\
	static struct mptcp_sched_ops identifier##_ops = {					\
		PLAIT_GET,									\
		.owner = THIS_MODULE,								\
		.exact_burst = true,								\
		.early_retrans = true,								\
		.init = init_##identifier,							\
		.release = release_connection,							\
	}

PLAIT_SCHEDULER(round_robin);
PLAIT_SCHEDULER(lowest_rtt);
PLAIT_SCHEDULER(delivery_delay);
PLAIT_SCHEDULER(intelligent_delivery_delay);
PLAIT_SCHEDULER(daps);
PLAIT_SCHEDULER(daps_rounds);
PLAIT_SCHEDULER(dqs);

static const struct {
	const struct plait_algorithm *algorithm;
	struct mptcp_sched_ops *ops;
} schedulers[] = {
	{ &plait_round_robin, &round_robin_ops },
	{ &plait_lowest_rtt, &lowest_rtt_ops },
	{ &plait_delivery_delay, &delivery_delay_ops },
	{ &plait_intelligent_delivery_delay, &intelligent_delivery_delay_ops },
	{ &plait_daps, &daps_ops },
	{ &plait_daps_rounds, &daps_rounds_ops },
	{ &plait_dqs, &dqs_ops },
};

static void unregister(unsigned int count)
{
	while (count--)
		mptcp_unregister_scheduler(schedulers[count].ops);
	synchronize_rcu();
}

static int __init plait_init(void)
{
	unsigned int i;
	int error;

	error = plait_log_init();
	if (error)
		return error;
	for (i = 0; i < ARRAY_SIZE(schedulers); i++) {
		strscpy(schedulers[i].ops->name, schedulers[i].algorithm->kernel_name, MPTCP_SCHED_NAME_MAX);
		error = mptcp_register_scheduler(schedulers[i].ops);
		if (error) {
			unregister(i);
			plait_log_exit();
			return error;
		}
	}
	return 0;
}

static void __exit plait_exit(void)
{
	unregister(ARRAY_SIZE(schedulers));
	plait_log_exit();
}

module_init(plait_init);
module_exit(plait_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Plait's MPTCP packet schedulers");
