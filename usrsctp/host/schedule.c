// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Facts and events of the stack for a scheduler of plait_sched.h, and its decisions for the stack
 * (struct sctp_ps_functions). A segment is a DATA chunk: the application's messages fill one.
 */
#include <netinet/sctp_os.h>
#include <netinet/sctp_pcb.h>
#include <netinet/sctp_var.h>
#include <netinet/sctp_output.h>
#include <netinet/sctputil.h>

#include "facts.h"
#include "plait.h"
#include "schedule.h"
#include "stack.h"
#include "world.h"

#define NSEC_PER_USEC 1000

static struct {
	struct plait_scheduler *scheduler;
	struct association association;
	bool waits;
	uint64_t until; /* PLAIT_NEVER: for an event */
	uint64_t unassigned; /* when it began to wait */
} engine;

static struct association *const all = &engine.association;

static void report(plait_event event, const struct path *path)
{
	event.size = sizeof(event);
	event.path = (uint32_t)(path - all->paths);
	fill_facts(all);
	plait_scheduler_on_event(engine.scheduler, &event, &all->connection, all->facts,
				 all->count);
	engine.waits = false;
}

/* Chunks of a path that failed are assigned anew. */
static void notice_failures(void)
{
	struct path *path;

	for (path = all->paths; path < all->paths + all->count; path++) {
		bool usable = is_usable(path->net);
		uint32_t kind = usable ? PLAIT_EVENT_PATH_UP : PLAIT_EVENT_PATH_DOWN;

		if (usable == path->was_usable)
			continue;
		path->was_usable = usable;
		if (!usable) {
			path->to_assign = 0;
			sctp_move_chunks_from_net(all->stcb, path->net);
		}
		report((plait_event){ .kind = kind }, path);
	}
}

/* Halves a window, as after a loss, but keeps a packet. */
static void penalize(struct sctp_nets *net)
{
	net->cwnd /= 2;
	if (net->cwnd < net->mtu)
		net->cwnd = net->mtu;
}

static void carry_out(const plait_decision *decision)
{
	struct path *path = &all->paths[decision->path < all->count ? decision->path : 0];

	switch (decision->kind) {
	case PLAIT_ASSIGN:
		path->to_assign = decision->segments;
		break;
	case PLAIT_RECALL:
		sctp_move_chunks_from_net(all->stcb, path->net);
		break;
	case PLAIT_LIMIT:
		path->limit = decision->segments;
		break;
	case PLAIT_PENALIZE:
		penalize(path->net);
		break;
	default:
		engine.waits = true;
		engine.until = decision->until;
		engine.unassigned = all->connection.unassigned;
	}
}

/* Finds the destinations of all paths, which the handshake names. True if they are there. */
static bool find_paths(void)
{
	struct sctp_nets *net;
	uint32_t found = 0;

	if (all->count > 0)
		return true;
	TAILQ_FOREACH(net, &all->stcb->asoc.nets, sctp_next) {
		struct path *path = &all->paths[stack_path_of(net) % PLAIT_MAX_PATHS];

		path->net = net;
		path->limit = PLAIT_NONE;
		path->was_usable = is_usable(net);
		found++;
	}
	if (found == world.paths)
		all->count = found;
	return all->count > 0;
}

static struct sctp_nets *select_net(struct sctp_tcb *stcb, struct sctp_association *asoc)
{
	plait_decision decision = { .size = sizeof(decision) };
	struct path *path;

	(void)stcb;
	(void)asoc;
	if (!find_paths())
		return NULL;
	notice_failures();
	do {
		for (path = all->paths; path < all->paths + all->count; path++) {
			if (path->to_assign > 0) {
				path->to_assign--;
				return path->net;
			}
		}
		fill_facts(all);
		/* While it waits, only an event or new data is a reason to ask. */
		if (engine.waits && engine.unassigned == all->connection.unassigned)
			return NULL;
		engine.waits = false;
		engine.until = PLAIT_NEVER;
		plait_scheduler_decide(engine.scheduler, plait_now(), &all->connection,
				       all->facts, all->count, &decision);
		carry_out(&decision);
	} while (!engine.waits);
	return NULL;
}

static int may_send(struct sctp_tcb *stcb, struct sctp_nets *net)
{
	struct sctp_association *asoc = &stcb->asoc;
	struct sctp_tmit_chunk *first = TAILQ_FIRST(&asoc->send_queue);
	uint32_t full = chunk_bytes(net);
	struct path *path = path_of(all, net);

	if (path == NULL)
		return 1;
	/* A closed window admits one chunk: the one for which the receiver has room. */
	if (asoc->peers_rwnd < full && first != NULL && first->whoTo != net)
		return 0;
	return divide_up(net->flight_size, full) < path->limit;
}

static void chunk_sent(struct sctp_tcb *stcb, struct sctp_tmit_chunk *chk)
{
	struct path *path = path_of(all, chk->whoTo);
	bool again = chk->snd_count > 1;
	uint32_t index;

	if (path == NULL)
		return;
	path->sent++;
	if (again) {
		/* Its acknowledgement may be that of either transmission (Karn). */
		for (index = 0; index < all->count; index++)
			round_trips_doubt(&all->paths[index].round_trips, chk->rec.data.tsn);
	}
	round_trips_sent(&path->round_trips, plait_now(), chk->rec.data.tsn, !again);
	if (plait_scheduler_interest(engine.scheduler) & PLAIT_INTEREST_SENT) {
		report((plait_event){ .kind = PLAIT_EVENT_SENT,
				      .segment = segment_of(stcb, chk->rec.data.tsn),
				      .retransmission = again },
		       path);
	}
}

static void sack_received(struct sctp_tcb *stcb, struct sctp_nets *net, uint32_t cumack,
			  struct mbuf *m, int offset, int blocks)
{
	static struct sack_blocks sack;
	struct path *path = path_of(all, net);
	struct sctp_gap_ack_block block, *found;
	int index;

	(void)stcb;
	engine.waits = false;
	sack.cumulative = cumack;
	sack.count = 0;
	for (index = 0; index < blocks && sack.count < MOST_SACK_BLOCKS; index++) {
		found = (struct sctp_gap_ack_block *)sctp_m_getptr(m, offset, sizeof(block),
								   (uint8_t *)&block);
		if (found == NULL)
			break;
		sack.blocks[sack.count].start = cumack + ntohs(found->start);
		sack.blocks[sack.count].end = cumack + ntohs(found->end);
		sack.count++;
		offset += (int)sizeof(block);
	}
	if (path != NULL)
		round_trips_sack(&path->round_trips, plait_now(), &sack);
}

static void data_acked(struct sctp_tcb *stcb, struct sctp_association *asoc)
{
	struct path *path;

	(void)stcb;
	(void)asoc;
	for (path = all->paths; path < all->paths + all->count; path++) {
		uint32_t acked = divide_up(path->net->net_ack, chunk_bytes(path->net));
		uint64_t rtt = path->measured ? path->net->rtt * NSEC_PER_USEC : 0;

		path->measured = false;
		if (acked == 0 ||
		    !(plait_scheduler_interest(engine.scheduler) & PLAIT_INTEREST_ACKED))
			continue;
		report((plait_event){ .kind = PLAIT_EVENT_ACKED, .segments = acked, .rtt = rtt },
		       path);
	}
}

static void chunk_lost(struct sctp_tcb *stcb, struct sctp_nets *net)
{
	struct path *path = path_of(all, net);

	(void)stcb;
	if (path == NULL)
		return;
	path->lost++;
	report((plait_event){ .kind = PLAIT_EVENT_LOST, .segments = 1 }, path);
}

static void timed_out(struct sctp_tcb *stcb, struct sctp_nets *net)
{
	struct path *path = path_of(all, net);

	(void)stcb;
	if (path != NULL)
		report((plait_event){ .kind = PLAIT_EVENT_TIMEOUT }, path);
}

static void rtt_calculated(struct sctp_tcb *stcb, struct sctp_nets *net)
{
	struct path *path = path_of(all, net);

	(void)stcb;
	if (path != NULL)
		path->measured = true;
}

static const struct sctp_ps_functions functions = {
	.sctp_ps_select_net = select_net,
	.sctp_ps_may_send = may_send,
	.sctp_ps_chunk_sent = chunk_sent,
	.sctp_ps_sack_received = sack_received,
	.sctp_ps_data_acked = data_acked,
	.sctp_ps_chunk_lost = chunk_lost,
	.sctp_ps_timeout = timed_out,
	.sctp_ps_rtt_calculated = rtt_calculated,
};

void schedule_start(struct sctp_tcb *stcb, struct plait_scheduler *scheduler)
{
	engine.scheduler = scheduler;
	all->stcb = stcb;
	engine.until = PLAIT_NEVER;
	stcb->asoc.ps_functions = &functions;
}

uint64_t schedule_next_timer(void)
{
	return engine.waits ? engine.until : PLAIT_NEVER;
}

void schedule_run_timer(void)
{
	if (schedule_next_timer() > plait_now())
		return;
	engine.waits = false;
	SCTP_TCB_LOCK(all->stcb);
	sctp_chunk_output(all->stcb->sctp_ep, all->stcb, SCTP_OUTPUT_FROM_USR_SEND,
			  SCTP_SO_NOT_LOCKED);
	SCTP_TCB_UNLOCK(all->stcb);
}
