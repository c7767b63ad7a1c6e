// SPDX-License-Identifier: MIT OR Apache-2.0
#include <netinet/sctp_os.h>
#include <netinet/sctp_pcb.h>
#include <netinet/sctp_var.h>
#include <netinet/sctp_sysctl.h>
#include <netinet/sctp_output.h>
#include <netinet/sctp_timer.h>

#include "facts.h"
#include "stack.h"

#define NSEC_PER_MSEC 1000000
#define NSEC_PER_USEC 1000

uint32_t divide_up(uint32_t bytes, uint32_t by)
{
	return bytes / by + (bytes % by != 0);
}

uint32_t chunk_bytes(const struct sctp_nets *net)
{
	return (net->mtu - SCTP_MIN_V4_OVERHEAD) & ~3u;
}

bool is_usable(const struct sctp_nets *net)
{
	return (net->dest_state & SCTP_ADDR_REACHABLE) != 0 &&
	       (net->dest_state & (SCTP_ADDR_UNCONFIRMED | SCTP_ADDR_PF)) == 0;
}

static uint32_t state_of(const struct sctp_nets *net)
{
	if (is_usable(net))
		return PLAIT_PATH_ACTIVE;
	if ((net->dest_state & SCTP_ADDR_REACHABLE) != 0 && (net->dest_state & SCTP_ADDR_PF) != 0)
		return PLAIT_PATH_POTENTIALLY_FAILED;
	return PLAIT_PATH_FAILED;
}

/* The last chunk may exceed the window: sctp_med_chunk_output() looks at it before. */
static void fill_window(plait_path *facts, const struct sctp_nets *net)
{
	uint32_t full = chunk_bytes(net);

	facts->in_flight = divide_up(net->flight_size, full);
	if (net->flight_size < net->cwnd) {
		facts->cwnd = facts->in_flight + divide_up(net->cwnd - net->flight_size, full);
	} else {
		facts->cwnd = divide_up(net->cwnd, full);
		if (facts->cwnd > facts->in_flight)
			facts->cwnd = facts->in_flight;
	}
	facts->ssthresh = net->ssthresh / full;
}

static void fill_path(plait_path *facts, const struct path *path)
{
	const struct sctp_nets *net = path->net;

	*facts = (plait_path){
		.size = sizeof(*facts),
		.state = state_of(net),
		.repairing = net->fast_retran_loss_recovery != 0,
		.mss = chunk_bytes(net) - (uint32_t)sizeof(struct sctp_data_chunk),
		.limit = path->limit,
		.loss_ppm = path->sent == 0 ? 0 : (uint32_t)(path->lost * 1000000 / path->sent),
		.own_rtt = path->round_trips.smoothed,
		.min_rtt = path->round_trips.shortest,
		.rto = (uint64_t)net->RTO * NSEC_PER_MSEC,
		.weight = 1,
		.memory = UINT64_MAX,
		.outstanding = UINT64_MAX,
	};
	if (net->RTO_measured) {
		facts->srtt = (uint64_t)net->lastsa * NSEC_PER_MSEC >> SCTP_RTT_SHIFT;
		facts->rttvar = (uint64_t)net->lastsv * NSEC_PER_MSEC >> SCTP_RTT_VAR_SHIFT;
		facts->latest_rtt = net->rtt * NSEC_PER_USEC;
	}
	fill_window(facts, net);
}

/* Chunks that the peer's window admits, each with the stack's allowance for its memory. */
static uint64_t admitted(const struct sctp_association *asoc, uint32_t full)
{
	uint32_t each = full + SCTP_BASE_SYSCTL(sctp_peer_chunk_oh);

	if (asoc->peers_rwnd < full)
		return asoc->total_flight == 0;
	return 1 + (asoc->peers_rwnd - full) / each;
}

uint64_t segment_of(const struct sctp_tcb *stcb, uint32_t tsn)
{
	return (uint32_t)(tsn - stcb->asoc.init_seq_number);
}

struct path *path_of(struct association *association, const struct sctp_nets *net)
{
	uint32_t index = net == NULL ? PLAIT_MAX_PATHS : stack_path_of(net);

	return index < association->count ? &association->paths[index] : NULL;
}

/* Counts the chunks that wait, by their destination. */
static void fill_queues(struct association *association)
{
	struct sctp_association *asoc = &association->stcb->asoc;
	plait_connection *connection = &association->connection;
	struct sctp_tmit_chunk *chk;
	struct path *path;

	connection->next_segment = segment_of(association->stcb, asoc->sending_seq);
	connection->unassigned = asoc->stream_queue_cnt;
	TAILQ_FOREACH_REVERSE(chk, &asoc->send_queue, sctpchunk_listhead, sctp_next) {
		path = path_of(association, chk->whoTo);
		if (path != NULL) {
			association->facts[path - association->paths].queued++;
			continue;
		}
		connection->unassigned++;
		connection->next_segment = segment_of(association->stcb, chk->rec.data.tsn);
	}
	if (asoc->sent_queue_retran_cnt == 0)
		return;
	TAILQ_FOREACH(chk, &asoc->sent_queue, sctp_next) {
		if (chk->sent != SCTP_DATAGRAM_RESEND)
			continue;
		path = path_of(association, chk->whoTo);
		if (path != NULL)
			association->facts[path - association->paths].lost++;
	}
}

/* The receiver's window, and the rest of it. */
static void fill_receiver(struct association *association)
{
	struct sctp_association *asoc = &association->stcb->asoc;
	plait_connection *connection = &association->connection;
	uint64_t left = admitted(asoc, chunk_bytes(association->paths[0].net)), queued = 0;
	uint32_t index;

	for (index = 0; index < association->count; index++)
		queued += association->facts[index].queued;
	connection->window = asoc->sent_queue_cnt + (left > queued ? left : queued);
	connection->window_left = left > queued ? left - queued : 0;
}

void fill_facts(struct association *association)
{
	struct sctp_association *asoc = &association->stcb->asoc;
	plait_connection *connection = &association->connection;
	struct sctp_tmit_chunk *oldest = TAILQ_FIRST(&asoc->sent_queue);
	uint32_t limit = SCTP_SB_LIMIT_SND(association->stcb->sctp_socket), index;

	*connection = (plait_connection){
		.size = sizeof(*connection),
		.message_deadline = PLAIT_NEVER,
		.due = PLAIT_NEVER,
		.fragment_left = UINT64_MAX,
	};
	for (index = 0; index < association->count; index++)
		fill_path(&association->facts[index], &association->paths[index]);
	fill_queues(association);
	fill_receiver(association);
	if (limit > asoc->total_output_queue_size)
		connection->send_buffer_left = (limit - asoc->total_output_queue_size) /
					       chunk_bytes(association->paths[0].net);
	if (oldest != NULL && path_of(association, oldest->whoTo) != NULL) {
		connection->has_oldest = 1;
		connection->oldest_segment = segment_of(association->stcb, oldest->rec.data.tsn);
		connection->oldest_path = stack_path_of(oldest->whoTo);
		connection->oldest_carried = 1u << connection->oldest_path;
	}
}
