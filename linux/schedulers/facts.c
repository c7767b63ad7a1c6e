// SPDX-License-Identifier: GPL-2.0-only
/* Linux' MPTCP as the schedulers see it: facts from the sockets, events from changes. */
#include <net/tcp.h>
#include <net/mptcp.h>

#include "protocol.h"
#include "engine.h"
#include "options.h"

/* Decisions at most this far apart belong to one moment, because carrying them out takes time. */
#define MOMENT_NS	(50 * NSEC_PER_USEC)

static u32 segments(u64 bytes, u32 mss)
{
	return min_t(u64, div_u64(bytes + mss - 1, mss), U32_MAX - 1);
}

bool plait_is_up(const struct plait_path *path)
{
	return path->state == PLAIT_ACTIVE || path->state == PLAIT_BACKUP;
}

/* Paths without a subflow count as failed. */
static void paths_facts(struct mptcp_sock *msk, struct plait_socket *plait)
{
	struct plait_facts *facts = &plait->facts;
	struct mptcp_subflow_context *subflow;
	unsigned int i;

	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		facts->ssks[i] = NULL;
		facts->paths[i] = (struct plait_path) {
			.id = i,
			.state = PLAIT_FAILED,
			.mss = TCP_MSS_DEFAULT,
			.cwnd = 1,
			.weight = 1,
			.ssthresh = PLAIT_NONE,
			.limit = plait->subflows[i].limit,
			.forward_delay = PLAIT_UNKNOWN,
			.uncarried = PLAIT_UNKNOWN,
		};
	}
	facts->count = 0;
	facts->mss = 0;
	mptcp_for_each_subflow(msk, subflow) {
		struct plait_subflow *slot = plait_slot(msk, plait, subflow);

		if (!slot)
			continue;
		i = slot - plait->subflows;
		plait_path_facts(msk, plait, &facts->paths[i], slot, subflow);
		facts->ssks[i] = mptcp_subflow_tcp_sock(subflow);
		facts->count = max(facts->count, i + 1);
		if (plait_is_up(&facts->paths[i]))
			facts->mss = max(facts->mss, facts->paths[i].mss);
	}
	if (!facts->mss)
		facts->mss = TCP_MSS_DEFAULT;
	plait_forget_mail(plait, facts);
}

/* Sets the segments in flight and those that wait for the window. A subflow sends the data that it
 * took when MPTCP has pushed everything (mptcp_push_release()). As far as the window admits them,
 * these segments count as in flight, since the scheduler hears of them as sent.
 */
static void load_facts(struct plait_socket *plait, struct plait_path *path)
{
	const struct sock *ssk = plait->facts.ssks[path->id];
	u64 waiting = plait->queues.paths[path->id].bytes;

	if (ssk) {
		const struct tcp_sock *tp = tcp_sk(ssk);
		u32 taken, room, leaving;

		path->in_flight = tcp_packets_in_flight(tp);
		taken = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
		room = path->cwnd > path->in_flight ? path->cwnd - path->in_flight : 0;
		leaving = min(segments(taken, path->mss), room);
		path->in_flight += leaving;
		waiting += taken - min_t(u64, taken, (u64)leaving * path->mss);
	}
	path->queued = segments(waiting, path->mss);
}

void plait_look_at_queues(struct mptcp_sock *msk, struct plait_socket *plait)
{
	struct plait_facts *facts = &plait->facts;
	struct plait_connection *connection = &facts->connection;
	struct plait_queues *queues = &plait->queues;
	u64 unassigned = plait_unassigned(queues, facts->written);
	/* The part of the window that queued bytes leave to unassigned bytes. */
	s64 window = facts->window - queues->next + queues->recalled.bytes;
	unsigned int i;

	connection->unassigned = segments(unassigned, facts->mss);
	connection->next_segment = plait_segment_at(&plait->segments, plait_next(queues));
	connection->window_left = window > 0 ? div_u64(window, facts->mss) : 0;
	/* The last segment may be short. Any other has to fit whole, because TCP avoids
	 * small segments (silly window syndrome).
	 */
	if (window >= (s64)unassigned)
		connection->window_left = max(connection->window_left, connection->unassigned);

	for (i = 0; i < facts->count; i++)
		load_facts(plait, &facts->paths[i]);
	plait_ask_again(msk, plait);
}

/* Sets the oldest unacknowledged segment, if it is in flight. */
static void oldest_facts(struct plait_socket *plait, struct plait_facts *facts)
{
	struct plait_connection *connection = &facts->connection;
	unsigned int i;

	if (!(plait->needs & PLAIT_NEEDS_REINJECT) || facts->acked >= facts->sent)
		return;
	connection->oldest_unacked = plait_segment_at(&plait->segments, facts->acked);
	for (i = 0; i < facts->count; i++) {
		if (!plait_carries(&plait->queues, i, facts->acked))
			continue;
		connection->has_oldest = true;
		connection->oldest_path = i;
		connection->oldest_carried |= BIT(i);
	}
}

/* The oldest segment in flight that the path does not carry. A segment that no path carries waits
 * for retransmission: that comes first, and is no copy.
 */
static s64 uncarried(struct plait_socket *plait, const struct plait_facts *facts, unsigned int path)
{
	u64 at = facts->acked, start, end;
	unsigned int i;

	while ((at = plait_first_uncarried(&plait->queues, path, at)) < facts->sent) {
		u64 segment = plait_segment_at(&plait->segments, at);

		if (!plait_segment_bytes(&plait->segments, segment, &start, &end))
			break;
		/* For engine.c a segment is carried if its beginning is. */
		if (plait_carries(&plait->queues, path, max(start, facts->acked))) {
			at = end;
			continue;
		}
		for (i = 0; i < facts->count; i++)
			if (i != path && plait_carries(&plait->queues, i, at))
				return segment;
		break;
	}
	return PLAIT_UNKNOWN;
}

static void connection_facts(struct mptcp_sock *msk, struct plait_socket *plait)
{
	struct plait_facts *facts = &plait->facts;
	unsigned int i;
	u64 first = plait->first_dsn;
	int space = sk_stream_wspace((const struct sock *)msk);

	facts->window = READ_ONCE(msk->wnd_end) - first;
	/* DATA_FIN has a number of its own. */
	facts->written = msk->write_seq - msk->snd_data_fin_enable - first;
	facts->acked = msk->snd_una - first;
	facts->sent = min(msk->snd_nxt - first, facts->written);
	facts->connection = (struct plait_connection) {
		.window = div_u64(facts->window - facts->acked, facts->mss),
		.send_buffer_left = max(space, 0) / facts->mss,
		.finished = msk->snd_data_fin_enable,
	};
	oldest_facts(plait, facts);
	for (i = 0; i < facts->count; i++)
		if ((plait->needs & PLAIT_NEEDS_UNCARRIED) && facts->ssks[i])
			facts->paths[i].uncarried = uncarried(plait, facts, i);
}

static void tell(struct plait_socket *plait, struct plait_event event)
{
	const struct plait_facts *facts = &plait->facts;

	plait_on_event(plait->algorithm, plait->state, &event, &facts->connection,
		       facts->paths, facts->count);
}

/* Reports a transmission. */
static void tell_one_sent(struct plait_socket *plait, u8 path, u64 segment, bool retransmission)
{
	plait->facts.paths[path].in_flight++;
	tell(plait, (struct plait_event) {
		.kind = PLAIT_SENT, .path = path, .amount = segment,
		.retransmission = retransmission,
	});
}

/* Reports the segments handed to the subflow, and the subflow's own retransmissions. At each report
 * the segments in flight are those up to this one.
 */
static void tell_sent(struct plait_socket *plait, u8 path, u32 retransmitted)
{
	const struct plait_subflow *slot = &plait->subflows[path];
	u32 *in_flight = &plait->facts.paths[path].in_flight;
	u64 segment = 0, end = 0, in_all = *in_flight;

	if (slot->sent < slot->sent_end) {
		segment = plait_segment_at(&plait->segments, slot->sent);
		end = plait_segment_at(&plait->segments, slot->sent_end - 1) + 1;
	}
	*in_flight -= min(in_all, end - segment + retransmitted);
	for (; segment < end; segment++)
		tell_one_sent(plait, path, segment, slot->again);
	while (retransmitted--)
		tell_one_sent(plait, path, U64_MAX, true);
	*in_flight = in_all;
}

/* Reports the events of one subflow since the last look. True if one of them is no transmission. */
static bool tell_subflow(struct plait_socket *plait, u8 path)
{
	const struct tcp_sock *tp = tcp_sk(plait->facts.ssks[path]);
	struct plait_subflow *slot = &plait->subflows[path];
	u32 retransmitted = READ_ONCE(tp->total_retrans);
	u32 delivered = READ_ONCE(tp->delivered);
	u32 timeouts = READ_ONCE(tp->total_rto);
	u32 lost = READ_ONCE(tp->lost);
	struct plait_subflow was = *slot;

	slot->retransmitted = retransmitted;
	slot->delivered = delivered;
	slot->timeouts = timeouts;
	slot->lost = lost;

	tell_sent(plait, path, retransmitted - was.retransmitted);
	if (timeouts != was.timeouts)
		tell(plait, (struct plait_event) { .kind = PLAIT_TIMEOUT, .path = path });
	if (lost != was.lost)
		tell(plait, (struct plait_event) {
			.kind = PLAIT_LOST, .path = path, .amount = lost - was.lost,
		});
	if (delivered != was.delivered)
		tell(plait, (struct plait_event) {
			.kind = PLAIT_ACKED, .path = path, .amount = delivered - was.delivered,
			.rtt = plait->facts.paths[path].latest_rtt,
		});
	return timeouts != was.timeouts || lost != was.lost || delivered != was.delivered;
}

/* MPTCP reports no events to schedulers. They follow from the differences to the last look. */
static bool tell_what_happened(struct plait_socket *plait)
{
	const struct plait_facts *facts = &plait->facts;
	bool happened = false;
	u8 i;

	for (i = 0; i < facts->count; i++) {
		struct plait_subflow *slot = &plait->subflows[i];
		bool up = plait_is_up(&facts->paths[i]);

		slot->is_new = false;
		if (up != slot->up) {
			slot->up = up;
			happened = true;
			tell(plait, (struct plait_event) {
				.kind = up ? PLAIT_PATH_UP : PLAIT_PATH_DOWN, .path = i,
			});
		}
		if (facts->ssks[i])
			happened |= tell_subflow(plait, i);
	}
	return happened;
}

void plait_look(struct mptcp_sock *msk, struct plait_socket *plait)
{
	u64 now = ktime_get_ns();

	plait->token = READ_ONCE(msk->token);
	paths_facts(msk, plait);
	plait_settle(msk, plait);
	connection_facts(msk, plait);
	plait_look_at_queues(msk, plait);
	if (tell_what_happened(plait) || now - plait->now > MOMENT_NS)
		plait->now = now;
}
