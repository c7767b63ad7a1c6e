/* SPDX-License-Identifier: GPL-2.0-only */
/* Schedulers as BPF, in MPTCP's development branch `export`: the functions that it offers, and the
 * members of the kernel's structures that are read. libbpf finds the places of members by the
 * kernel's BTF (CO-RE), so nothing but names and types matters here.
 */
#ifndef PLAIT_BPF_EXPORT_H
#define PLAIT_BPF_EXPORT_H

/* enum tcp_ca_state. */
#define TCP_CA_CWR		2
#define TCP_CA_LOSS		4
#define TCP_INFINITE_SSTHRESH	0x7fffffff

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	int	sk_sndbuf;
	int	sk_wmem_queued;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8	icsk_ca_state:5;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32	mss_cache;
	__u32	snd_cwnd;
	__u32	snd_ssthresh;
	__u32	srtt_us;
	__u32	rttvar_us;
	__u32	packets_out;
	__u32	sacked_out;
	__u32	lost_out;
	__u32	retrans_out;
	__u32	write_seq;
	__u32	snd_nxt;
	__u32	delivered;
	__u16	total_rto;
};

struct mptcp_data_frag {
	__u64	data_seq;
	__u16	already_sent;
};

struct mptcp_sock {
	struct inet_connection_sock sk;
	__u64	write_seq;
	__u64	snd_nxt;
	__u64	snd_una;
	__u64	wnd_end;
	__u32	token;
	int	snd_burst;
	bool	fully_established;
	bool	snd_data_fin_enable;
	struct mptcp_data_frag *first_pending;
};

struct mptcp_subflow_context {
	__u32	subflow_id;
	__u32	backup:1;
	__u32	request_bkup:1;
	__u32	stale:1;
	__s16	local_id;
	__u8	remote_id;
	__u8	stale_count;
};

struct mptcp_sched_ops {
	int	(*get_send)(struct mptcp_sock *msk);
	int	(*get_retrans)(struct mptcp_sock *msk);
	char	name[16];
};

#pragma clang attribute pop

struct bpf_iter_mptcp_subflow {
	__u64	__opaque[2];
} __attribute__((aligned(8)));

/* net/mptcp/bpf.c */
extern int bpf_iter_mptcp_subflow_new(struct bpf_iter_mptcp_subflow *it, struct sock *sk) __ksym;
extern struct mptcp_subflow_context *
bpf_iter_mptcp_subflow_next(struct bpf_iter_mptcp_subflow *it) __ksym;
extern void bpf_iter_mptcp_subflow_destroy(struct bpf_iter_mptcp_subflow *it) __ksym;
extern struct sock *
bpf_mptcp_subflow_tcp_sock(const struct mptcp_subflow_context *subflow) __ksym;
extern bool bpf_mptcp_subflow_queues_empty(struct sock *ssk) __ksym;
extern bool bpf_sk_stream_memory_free(const struct sock *ssk) __ksym;
extern bool mptcp_subflow_active(struct mptcp_subflow_context *subflow) __ksym;
extern void mptcp_subflow_set_scheduled(struct mptcp_subflow_context *subflow, bool on) __ksym;
extern void mptcp_pm_subflow_chk_stale(const struct mptcp_sock *msk, struct sock *ssk) __ksym;
extern void mptcp_set_timeout(struct sock *sk) __ksym;

#endif
