// SPDX-License-Identifier: MIT OR Apache-2.0
/* Input of packets, and the state of paths: code with the stack's internal structures. */
#include <netinet/sctp_os.h>
#include <netinet/sctp_pcb.h>
#include <netinet/sctp_var.h>
#include <netinet/sctp_sysctl.h>
#include <netinet/sctp_input.h>
#include <netinet/sctp_timer.h>
#include <netinet/sctputil.h>

#include "stack.h"

/* As recv_function_raw() of user_recv_thread.c does with a packet of a raw socket. */
void plait_receive(uint8_t *packet, size_t length)
{
	struct sockaddr_in from, to;
	struct sctp_chunkhdr *chunk;
	struct sctphdr *header;
	struct mbuf *m, *part;
	struct ip ip;
	int left, offset;

	if (length < sizeof(ip) + sizeof(*header) + sizeof(*chunk))
		return;
	memcpy(&ip, packet, sizeof(ip));
	m = sctp_get_mbuf_for_msg((unsigned int)length, 1, M_NOWAIT, 0, MT_DATA);
	if (m == NULL)
		return;
	left = (int)length;
	for (part = m; part != NULL; part = part->m_next) {
		part->m_len = min((int)M_SIZE(part), left);
		m->m_pkthdr.len += part->m_len;
		left -= part->m_len;
	}
	m_copyback(m, 0, (int)length, (caddr_t)packet);
	SCTP_STAT_INCR(sctps_recvpackets);
	SCTP_STAT_INCR_COUNTER64(sctps_inpackets);
	offset = (int)(sizeof(ip) + sizeof(*header) + sizeof(*chunk));
	if (SCTP_BUF_LEN(m) < offset) {
		m = m_pullup(m, offset);
		if (m == NULL)
			return;
	}
	header = (struct sctphdr *)(mtod(m, caddr_t) + sizeof(ip));
	chunk = (struct sctp_chunkhdr *)(header + 1);
	memset(&from, 0, sizeof(from));
	from.sin_family = AF_INET;
	from.sin_addr = ip.ip_src;
	from.sin_port = header->src_port;
	to = from;
	to.sin_addr = ip.ip_dst;
	to.sin_port = header->dest_port;
	sctp_common_input_processing(&m, (int)sizeof(ip), offset - (int)sizeof(*chunk), (int)length,
				     (struct sockaddr *)&from, (struct sockaddr *)&to, header,
				     chunk, 1, ip.ip_tos, SCTP_DEFAULT_VRFID, 0);
	if (m != NULL)
		sctp_m_freem(m);
}

struct sctp_tcb *stack_association(struct socket *so)
{
	struct sctp_inpcb *inp = so == NULL ? NULL : (struct sctp_inpcb *)so->so_pcb;

	return inp == NULL ? NULL : LIST_FIRST(&inp->sctp_asoc_list);
}

uint32_t stack_path_of(const struct sctp_nets *net)
{
	return ntohl(net->ro._l_addr.sin.sin_addr.s_addr) >> 8 & 0xff;
}

int stack_path(struct socket *so, uint32_t path, struct path_state *state)
{
	struct sctp_tcb *stcb = stack_association(so);
	struct sctp_nets *net;

	memset(state, 0, sizeof(*state));
	if (stcb == NULL)
		return -1;
	TAILQ_FOREACH(net, &stcb->asoc.nets, sctp_next) {
		if (stack_path_of(net) != path)
			continue;
		/* lastsa has SCTP_RTT_SHIFT fractional bits of a millisecond. */
		if (net->RTO_measured)
			state->srtt_us = (uint64_t)net->lastsa * 1000 >> SCTP_RTT_SHIFT;
		state->cwnd = net->cwnd;
		state->ssthresh = net->ssthresh;
		state->in_flight = net->flight_size;
		state->confirmed = !(net->dest_state & SCTP_ADDR_UNCONFIRMED);
		state->failed = !(net->dest_state & SCTP_ADDR_REACHABLE);
		return 0;
	}
	return -1;
}

uint64_t stack_window(struct socket *so)
{
	struct sctp_tcb *stcb = stack_association(so);

	return stcb == NULL ? 0 : stcb->asoc.peers_rwnd;
}

uint64_t stack_next_timer(void)
{
	return sctp_next_timer();
}

void stack_run_timers(void)
{
	sctp_run_timers();
}

uint64_t stack_timeouts(void)
{
	return SCTP_BASE_STATS.sctps_timodata;
}
