/* SPDX-License-Identifier: GPL-2.0-only */
/* The constants and functions of net/mptcp/protocol.h that the schedulers need. */
#ifndef PLAIT_PRIVATE_H
#define PLAIT_PRIVATE_H

#include <linux/list.h>
#include <linux/static_call.h>
#include <net/tcp.h>

/* Bytes of the parts of a DSS option: RFC 8684, section 3.3. */
#define TCPOLEN_MPTCP_DSS_BASE		4
#define TCPOLEN_MPTCP_DSS_ACK32		4
#define TCPOLEN_MPTCP_DSS_ACK64		8
#define TCPOLEN_MPTCP_DSS_MAP64		14

/* The order of data sequence numbers. */
static inline bool before64(u64 seq1, u64 seq2)
{
	return (s64)(seq1 - seq2) < 0;
}

#define after64(seq2, seq1)		before64(seq1, seq2)

#define mptcp_sk(socket)	container_of_const(socket, struct mptcp_sock, sk.icsk_inet.sk)
#define mptcp_for_each_subflow(msk, subflow) \
	list_for_each_entry(subflow, &(msk)->conn_list, node)

static inline struct mptcp_subflow_context *mptcp_subflow_ctx(const struct sock *ssk)
{
	return (__force struct mptcp_subflow_context *)inet_csk(ssk)->icsk_ulp_data;
}

static inline struct sock *mptcp_subflow_tcp_sock(const struct mptcp_subflow_context *subflow)
{
	return subflow->tcp_sock;
}

static inline void mptcp_subflow_set_scheduled(struct mptcp_subflow_context *subflow, bool on)
{
	WRITE_ONCE(subflow->scheduled, on);
}

/* Functions of the core that are not exported: symbols.c finds them. They are called directly, as
 * static calls, because an indirect call of a function may be forbidden on CPUs with IBT.
 */
int mptcp_register_scheduler(struct mptcp_sched_ops *sched);
void mptcp_unregister_scheduler(struct mptcp_sched_ops *sched);
bool mptcp_subflow_active(struct mptcp_subflow_context *subflow);
struct sock *mptcp_subflow_get_send(struct mptcp_sock *msk);
struct sock *mptcp_subflow_get_retrans(struct mptcp_sock *msk);
int mptcp_sendmsg_frag(struct sock *sk, struct sock *ssk, struct mptcp_data_frag *dfrag,
		       struct mptcp_sendmsg_info *info);
void __mptcp_check_push(struct sock *sk, struct sock *ssk);
bool mptcp_schedule_work(struct sock *sk);

DECLARE_STATIC_CALL(plait_mptcp_register_scheduler, mptcp_register_scheduler);
DECLARE_STATIC_CALL(plait_mptcp_unregister_scheduler, mptcp_unregister_scheduler);
DECLARE_STATIC_CALL(plait_mptcp_subflow_active, mptcp_subflow_active);
DECLARE_STATIC_CALL(plait_mptcp_subflow_get_send, mptcp_subflow_get_send);
DECLARE_STATIC_CALL(plait_mptcp_subflow_get_retrans, mptcp_subflow_get_retrans);
DECLARE_STATIC_CALL(plait_mptcp_sendmsg_frag, mptcp_sendmsg_frag);

#define mptcp_register_scheduler(sched)	static_call(plait_mptcp_register_scheduler)(sched)
#define mptcp_unregister_scheduler(sched) static_call(plait_mptcp_unregister_scheduler)(sched)
#define mptcp_subflow_active(subflow)	static_call(plait_mptcp_subflow_active)(subflow)
#define mptcp_subflow_get_send(msk)	static_call(plait_mptcp_subflow_get_send)(msk)
#define mptcp_subflow_get_retrans(msk)	static_call(plait_mptcp_subflow_get_retrans)(msk)
#ifdef PLAIT_LIVEPATCH
#define mptcp_sendmsg_frag(sk, ssk, dfrag, info) \
	static_call(plait_mptcp_sendmsg_frag)(sk, ssk, dfrag, info)
#endif

#endif
