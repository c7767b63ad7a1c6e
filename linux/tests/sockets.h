/* SPDX-License-Identifier: GPL-2.0-only */
/* MPTCP's and TCP's sockets, with the fields that the engine reads. */
#ifndef PLAIT_TEST_SOCKETS_H
#define PLAIT_TEST_SOCKETS_H

#include "kernel.h"

#define TCP_MSS_DEFAULT			536U
#define TCP_INFINITE_SSTHRESH		0x7fffffff
#define TCP_RTO_MIN			200
#define tcp_jiffies32			((u32)(test_now / NSEC_PER_MSEC))
#define jiffies				((unsigned long)(test_now / NSEC_PER_MSEC))
#define TCPOLEN_MPTCP_DSS_BASE		4
#define TCPOLEN_MPTCP_DSS_ACK32		4
#define TCPOLEN_MPTCP_DSS_ACK64		8
#define TCPOLEN_MPTCP_DSS_MAP64		14

enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };

enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

struct net {
	struct { unsigned int inum; } ns;
};

struct sock {
	bool	locked;			/* while one of its packets is handled */
	int	wspace;
	u32	sk_pacing_status;
	unsigned long sk_pacing_rate;	/* bytes per second */
};

struct tcp_options_received {
	u32	rcv_tsval, rcv_tsecr;
	bool	saw_tstamp;
};

struct inet_connection_sock {
	struct sock sk;
	u8	icsk_ca_state, icsk_pending;
	u32	icsk_rto, icsk_rto_min;
	unsigned long icsk_timeout;
	void	*icsk_ulp_data;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_options_received rx_opt;
	struct { u32 rtt_us; } rack;
	u32	snd_cwnd, snd_ssthresh, packets_out, mss_cache, srtt_us, rttvar_us, min_rtt;
	u32	rate_delivered, rate_interval_us, data_segs_out, lost, delivered;
	u32	total_retrans, total_rto, write_seq, snd_nxt;
};

#define tcp_sk(sk)	((struct tcp_sock *)(sk))
#define inet_csk(sk)	((struct inet_connection_sock *)(sk))

struct mptcp_sched_ops;

struct mptcp_data_frag {
	struct list_head list;
	u64	data_seq;
	u16	data_len, already_sent;
};

struct mptcp_sendmsg_info {
	u16	limit, sent;
	bool	data_lock_held;
};

struct mptcp_sock {
	struct inet_connection_sock sk;
	u64	write_seq, snd_nxt, snd_una, wnd_end, recovery_snd_nxt, bytes_sent, bytes_retrans;
	int	snd_burst;
	u32	token, last_data_sent;
	unsigned long timer_ival;
	bool	recovery, fully_established, can_ack, use_64bit_ack, snd_data_fin_enable;
	bool	allow_subflows, allow_infinite_fallback;
	spinlock_t fallback_lock;
	u8	mpc_endpoint_id;
	struct list_head conn_list, rtx_queue;
	struct mptcp_data_frag *first_pending;
	struct mptcp_sched_ops *sched;
};

#define mptcp_sk(sk)	((struct mptcp_sock *)(sk))

static inline bool before64(u64 seq1, u64 seq2)
{
	return (s64)(seq1 - seq2) < 0;
}

#define after64(seq2, seq1)	before64(seq1, seq2)

struct mptcp_subflow_context {
	struct list_head node;
	bool	scheduled, stale, backup, request_bkup, active;
	s16	local_id;
	u8	remote_id, stale_count;
	u32	subflow_id;
	struct sock *tcp_sock;
};

struct mptcp_sched_data {
	bool	reinject;
};

struct mptcp_sched_ops {
	int (*get_subflow)(struct mptcp_sock *msk, struct mptcp_sched_data *data);
	char	name[16];
	void	*owner;
	int (*push)(struct sock *sk, struct sock *ssk, struct mptcp_sendmsg_info *info);
	bool (*repeats)(const struct mptcp_sock *msk);
	bool (*acked)(struct mptcp_sock *msk, struct sock *ssk);
	void (*init)(struct mptcp_sock *msk);
	void (*release)(struct mptcp_sock *msk);
};

#define mptcp_for_each_subflow(msk, subflow) \
	list_for_each_entry(subflow, &(msk)->conn_list, node)
#define mptcp_subflow_ctx(ssk)	((struct mptcp_subflow_context *)inet_csk(ssk)->icsk_ulp_data)

static inline struct sock *mptcp_subflow_tcp_sock(const struct mptcp_subflow_context *subflow)
{
	return subflow->tcp_sock;
}

static inline bool mptcp_subflow_active(struct mptcp_subflow_context *subflow)
{
	return subflow->active && !subflow->stale;
}

static inline void mptcp_subflow_set_scheduled(struct mptcp_subflow_context *subflow, bool on)
{
	subflow->scheduled = on;
}

static inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return tp->min_rtt;
}

static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out;
}

static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

/* Windows may be written only under their subflow's lock. */
static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd)
{
	assert(tp->inet_conn.sk.locked && cwnd);
	tp->snd_cwnd = cwnd;
}

static inline struct net *sock_net(const struct sock *sk)
{
	static struct net net;

	return &net;
}

#define TCP_RTO_MIN			200
#define sk_stream_memory_free(sk)	((sk)->wspace > 0)
#define sk_stream_wspace(sk)		((sk)->wspace)

/* Defined by the test. */
int mptcp_sendmsg_frag(struct sock *sk, struct sock *ssk, struct mptcp_data_frag *dfrag,
		       struct mptcp_sendmsg_info *info);
struct sock *mptcp_subflow_get_send(struct mptcp_sock *msk);
struct sock *mptcp_subflow_get_retrans(struct mptcp_sock *msk);
int mptcp_register_scheduler(struct mptcp_sched_ops *ops);
void mptcp_unregister_scheduler(struct mptcp_sched_ops *ops);

#endif
