// SPDX-License-Identifier: GPL-2.0-only
/* A subflow as the schedulers see it: its place among the paths, its facts, and the actions that
 * need its lock. The lock is held at its acknowledgments.
 *
 * Decisions read sockets without their locks. The values may be of different moments, one packet
 * apart if that packet is being handled on another CPU. Decisions write nothing there.
 */
#include <linux/module.h>
#include <net/tcp.h>
#include <net/mptcp.h>

#include "protocol.h"
#include "engine.h"

/* By the numbers of addresses in MPTCP: 0 is the address of the first subflow. The others are the
 * numbers of `ip mptcp endpoint` on the host that opened the subflows.
 */
unsigned int plait_path_costs[PLAIT_PATHS_MAX];
module_param_array_named(path_costs, plait_path_costs, uint, NULL, 0644);
MODULE_PARM_DESC(path_costs, "costs of subflows by the numbers of their addresses, from 0 on");

unsigned int plait_path_weights[PLAIT_PATHS_MAX] = { [0 ... PLAIT_PATHS_MAX - 1] = 1 };
module_param_array_named(path_weights, plait_path_weights, uint, NULL, 0644);
MODULE_PARM_DESC(path_weights, "weights of subflows by the numbers of their addresses, from 0 on");

/* A path has the number of the MPTCP endpoint from which its subflow leaves, so that numbers mean
 * the same in every run. `ip mptcp endpoint` numbers endpoints from 1. Other subflows take the
 * first free number.
 */
struct plait_subflow *plait_slot(struct mptcp_sock *msk, struct plait_socket *plait,
				 const struct mptcp_subflow_context *subflow)
{
	struct sock *ssk = mptcp_subflow_tcp_sock(subflow);
	int endpoint = READ_ONCE(subflow->local_id);
	struct plait_subflow *slot;
	unsigned int i;

	if (endpoint <= 0)
		endpoint = msk->mpc_endpoint_id;
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
	plait_put_down(&plait->queues, slot - plait->subflows);
	*slot = (struct plait_subflow) {
		.ssk = ssk,
		.is_new = true,
		.subflow_id = subflow->subflow_id,
		.limit = PLAIT_NONE,
		.write_seq = READ_ONCE(tcp_sk(ssk)->write_seq),
	};
	return slot;
}

static unsigned int address(const struct mptcp_subflow_context *subflow)
{
	int local = READ_ONCE(subflow->local_id);

	return local > 0 ? local : READ_ONCE(subflow->remote_id);
}

static u32 cost(unsigned int address)
{
	return address < PLAIT_PATHS_MAX ? READ_ONCE(plait_path_costs[address]) : 0;
}

static u32 weight(unsigned int address)
{
	return address < PLAIT_PATHS_MAX ? READ_ONCE(plait_path_weights[address]) : 1;
}

static u8 path_state(struct mptcp_subflow_context *subflow)
{
	if (!mptcp_subflow_active(subflow))
		return subflow->stale ? PLAIT_POTENTIALLY_FAILED : PLAIT_FAILED;
	return subflow->backup || subflow->request_bkup ? PLAIT_BACKUP : PLAIT_ACTIVE;
}

/* The rate of the stream's bytes: a packet holds no more of them than a segment. */
static u64 delivery_rate(const struct tcp_sock *tp, u32 mss)
{
	u64 bits = (u64)READ_ONCE(tp->rate_delivered) * mss * BITS_PER_BYTE;
	u32 interval = READ_ONCE(tp->rate_interval_us);

	return interval ? div_u64(bits * USEC_PER_SEC, interval) : 0;
}

/* The rate of pacing in the subflow or in the queue discipline fq; 0 without pacing. */
static u64 pacing_rate(const struct sock *ssk)
{
	unsigned long bytes = READ_ONCE(ssk->sk_pacing_rate);

	/* The largest number means no limit. */
	if (READ_ONCE(ssk->sk_pacing_status) == SK_PACING_NONE || bytes == ULONG_MAX)
		return 0;
	return (u64)bytes * BITS_PER_BYTE;
}

static u32 loss_ppm(const struct tcp_sock *tp)
{
	u32 sent = READ_ONCE(tp->data_segs_out);

	return sent ? div_u64((u64)READ_ONCE(tp->lost) * 1000000, sent) : 0;
}

/* The payload of a full segment: mss_cache less the option that maps the payload into the stream,
 * as mptcp_established_options_dss() makes it. tcp_current_mss() also knows that size, but only for
 * holders of the subflow's lock: it follows the route, and consumes signals that wait for a packet.
 */
static u32 segment_size(const struct mptcp_sock *msk, const struct tcp_sock *tp)
{
	u32 option = TCPOLEN_MPTCP_DSS_BASE + TCPOLEN_MPTCP_DSS_MAP64;
	u32 mss = READ_ONCE(tp->mss_cache);

	if (READ_ONCE(msk->can_ack))
		option += READ_ONCE(msk->use_64bit_ack) ? TCPOLEN_MPTCP_DSS_ACK64 :
							  TCPOLEN_MPTCP_DSS_ACK32;
	option = ALIGN(option, 4);
	return mss > option ? mss - option : 1;
}

static u64 microseconds(u32 us)
{
	return (u64)us * NSEC_PER_USEC;
}

static struct plait_mailbox *mailbox_of(struct plait_socket *plait, const struct sock *ssk)
{
	unsigned int i;

	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		if (plait->mailboxes[i].ssk == ssk)
			return &plait->mailboxes[i];
	}
	return NULL;
}

static struct plait_mailbox *mailbox_for(struct plait_socket *plait, struct sock *ssk)
{
	struct plait_mailbox *mailbox = mailbox_of(plait, ssk);

	if (mailbox)
		return mailbox;
	mailbox = mailbox_of(plait, NULL);
	if (mailbox)
		*mailbox = (struct plait_mailbox) { .ssk = ssk, .forward = PLAIT_UNKNOWN };
	return mailbox;
}

static s64 forward_delay(struct plait_socket *plait, const struct sock *ssk)
{
	const struct plait_mailbox *mailbox;
	s64 forward;

	spin_lock_bh(&plait->mailboxes_lock);
	mailbox = mailbox_of(plait, ssk);
	forward = mailbox ? mailbox->forward : PLAIT_UNKNOWN;
	spin_unlock_bh(&plait->mailboxes_lock);
	return forward;
}

void plait_path_facts(struct mptcp_sock *msk, struct plait_socket *plait, struct plait_path *path,
		      const struct plait_subflow *slot, struct mptcp_subflow_context *subflow)
{
	struct sock *ssk = mptcp_subflow_tcp_sock(subflow);
	const struct inet_connection_sock *icsk = inet_csk(ssk);
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 ssthresh = READ_ONCE(tp->snd_ssthresh);
	u8 ca_state = icsk->icsk_ca_state;
	u32 min_rtt = tcp_min_rtt(tp);

	path->state = path_state(subflow);
	/* A full send buffer is like loss recovery: the subflow takes no data. */
	path->in_recovery = ca_state == TCP_CA_Loss || !sk_stream_memory_free(ssk);
	path->repairing = ca_state >= TCP_CA_CWR;
	path->mss = segment_size(msk, tp);
	path->cwnd = READ_ONCE(tp->snd_cwnd);
	if (ssthresh < TCP_INFINITE_SSTHRESH)
		path->ssthresh = ssthresh;
	path->limit = slot->limit;
	path->loss_ppm = loss_ppm(tp);
	path->cost = cost(address(subflow));
	path->weight = weight(address(subflow));
	path->srtt = microseconds(READ_ONCE(tp->srtt_us) >> 3);
	path->rttvar = microseconds(READ_ONCE(tp->rttvar_us) >> 2);
	/* RACK takes samples of data. Before the first one, the handshake's sample is the
	 * newest.
	 */
	path->latest_rtt = microseconds(READ_ONCE(tp->rack.rtt_us)) ?: path->srtt;
	path->own_rtt = path->srtt;	/* a subflow acknowledges its own data */
	path->min_rtt = min_rtt == U32_MAX ? 0 : microseconds(min_rtt);
	path->forward_delay = forward_delay(plait, ssk);
	path->rto = microseconds(jiffies_to_usecs(READ_ONCE(icsk->icsk_rto)));
	path->delivery_rate = delivery_rate(tp, path->mss);
	path->pacing_rate = pacing_rate(ssk);
}

void plait_penalize(struct plait_socket *plait, struct sock *ssk)
{
	struct plait_mailbox *mailbox;

	spin_lock_bh(&plait->mailboxes_lock);
	mailbox = mailbox_for(plait, ssk);
	if (mailbox)
		mailbox->penalty = true;
	spin_unlock_bh(&plait->mailboxes_lock);
}

void plait_forget_mail(struct plait_socket *plait, const struct plait_facts *facts)
{
	unsigned int i, j;

	spin_lock_bh(&plait->mailboxes_lock);
	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		for (j = 0; j < facts->count; j++) {
			if (facts->ssks[j] && plait->mailboxes[i].ssk == facts->ssks[j])
				break;
		}
		if (j == facts->count)
			plait->mailboxes[i].ssk = NULL;
	}
	spin_unlock_bh(&plait->mailboxes_lock);
}

/* Halves the window, unless a loss has done that meanwhile. */
static void halve(struct sock *ssk)
{
	struct tcp_sock *tp = tcp_sk(ssk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (inet_csk(ssk)->icsk_ca_state >= TCP_CA_CWR)
		return;
	if (cwnd >= tp->snd_ssthresh)
		tp->snd_ssthresh = max(tp->snd_ssthresh >> 1, 2U);
	tcp_snd_cwnd_set(tp, max(cwnd >> 1, 1U));
}

/* Smooths TSval - TSecr of the acknowledgments. The clocks of both ends must run without an offset
 * for each connection: net.ipv4.tcp_timestamps = 2 at both ends.
 */
static void sample(struct plait_mailbox *mailbox, const struct tcp_options_received *options)
{
	s64 delay = (s64)(s32)(options->rcv_tsval - options->rcv_tsecr) * NSEC_PER_MSEC;

	if (!options->saw_tstamp || !options->rcv_tsecr)
		return;
	if (mailbox->forward == PLAIT_UNKNOWN)
		mailbox->forward = delay;
	else
		mailbox->forward = (7 * mailbox->forward + delay) >> 3;
}

void plait_acked(struct plait_socket *plait, struct sock *ssk)
{
	struct plait_mailbox *mailbox;

	spin_lock_bh(&plait->mailboxes_lock);
	mailbox = mailbox_for(plait, ssk);
	if (mailbox) {
		sample(mailbox, &tcp_sk(ssk)->rx_opt);
		if (mailbox->penalty)
			halve(ssk);
		mailbox->penalty = false;
	}
	spin_unlock_bh(&plait->mailboxes_lock);
}

void plait_sample_delay(struct plait_socket *plait, struct sock *ssk)
{
	struct plait_mailbox *mailbox;

	spin_lock_bh(&plait->mailboxes_lock);
	mailbox = mailbox_for(plait, ssk);
	if (mailbox)
		sample(mailbox, &tcp_sk(ssk)->rx_opt);
	spin_unlock_bh(&plait->mailboxes_lock);
}
