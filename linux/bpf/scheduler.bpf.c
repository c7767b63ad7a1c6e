// SPDX-License-Identifier: GPL-2.0-only
/* A scheduler of linux/schedulers as BPF. The Makefile compiles this file once for each: SOURCE is
 * the scheduler's file, ALGORITHM its name there, NAME its name for the kernel, and SLEEPING the
 * section of functions that may sleep. Facts and decisions are as
 * in linux/package/fragments.c: one decision for each fragment.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

/* Nothing but the chosen functions stays: those of a rule are parts of get_send(). */
#pragma clang attribute push(__attribute__((internal_linkage)), apply_to = variable(is_global))
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#include SOURCE
#pragma clang attribute pop
#pragma clang attribute pop

#include "export.h"

#define NSEC_PER_USEC	1000
#define U8_MAX		0xff

/* mss_cache holds the option with 64-bit numbers (RFC 8684, section 3.3) and the payload. */
#define OPTION_BYTES	28
#define LEAST_MSS	1

char _license[] SEC("license") = "GPL";

/* By the numbers of addresses in MPTCP, as plait's module parameters of these names. They are
 * written before the object is loaded.
 */
unsigned int path_costs[PLAIT_PATHS_MAX];
unsigned int path_weights[PLAIT_PATHS_MAX] = { [0 ... PLAIT_PATHS_MAX - 1] = 1 };

/* Enough state for any scheduler here. */
#define STATE_SIZE	2048

/* A subflow as it was when the scheduler was asked last. */
struct subflow {
	u32	id;
	u32	delivered;
	u32	timeouts;
	bool	known;			/* this place belongs to the subflow */
	bool	seen;			/* at this look */
	bool	up;
};

struct connection {
	u32	token;
	u64	state[STATE_SIZE / sizeof(u64)];
	struct plait_connection facts;
	struct plait_path paths[PLAIT_PATHS_MAX];
	struct subflow subflows[PLAIT_PATHS_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

/* A call that is not removed is an error. */
extern void state_is_too_large(void) __attribute__((error("the state is too large")));

/* The state of a connection. A socket that connects again has another token. */
static __always_inline struct connection *connection_of(struct mptcp_sock *msk)
{
	struct connection *connection;

	connection = bpf_sk_storage_get(&connections, msk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (connection && connection->token && connection->token != msk->token) {
		bpf_sk_storage_delete(&connections, msk);
		connection = bpf_sk_storage_get(&connections, msk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	}
	if (ALGORITHM.state_size > STATE_SIZE)
		state_is_too_large();
	if (connection && !connection->token) {
		connection->token = msk->token;
		ALGORITHM.init(connection->state);
	}
	return connection;
}

/* The place of a subflow among the paths: the one that it has, or the first free one. */
static __always_inline unsigned int place_of(const struct connection *connection, u32 id)
{
	unsigned int place = PLAIT_PATHS_MAX;

	for (int i = PLAIT_PATHS_MAX - 1; i >= 0; i--)
		if (!connection->subflows[i].known)
			place = i;
	for (unsigned int i = 0; i < PLAIT_PATHS_MAX; i++)
		if (connection->subflows[i].known && connection->subflows[i].id == id)
			place = i;
	return place;
}

static __always_inline u8 path_state(struct mptcp_subflow_context *subflow)
{
	if (!mptcp_subflow_active(subflow))
		return BPF_CORE_READ_BITFIELD(subflow, stale) ? PLAIT_POTENTIALLY_FAILED :
								PLAIT_FAILED;
	return BPF_CORE_READ_BITFIELD(subflow, backup) ||
	       BPF_CORE_READ_BITFIELD(subflow, request_bkup) ? PLAIT_BACKUP : PLAIT_ACTIVE;
}

static __always_inline void path_facts(struct plait_path *path, struct sock *ssk,
				       const struct tcp_sock *tp)
{
	u8 ca_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	u32 left = tp->sacked_out + tp->lost_out;
	u32 mss = tp->mss_cache;

	path->in_recovery = ca_state == TCP_CA_LOSS || !bpf_sk_stream_memory_free(ssk);
	path->repairing = ca_state >= TCP_CA_CWR;
	path->mss = mss > OPTION_BYTES ? mss - OPTION_BYTES : LEAST_MSS;
	path->cwnd = tp->snd_cwnd;
	path->ssthresh = tp->snd_ssthresh < TCP_INFINITE_SSTHRESH ? tp->snd_ssthresh : PLAIT_NONE;
	path->in_flight = tp->packets_out - left + tp->retrans_out;
	path->queued = (tp->write_seq - tp->snd_nxt + path->mss - 1) / path->mss;
	path->srtt = (u64)(tp->srtt_us >> 3) * NSEC_PER_USEC;
	path->rttvar = (u64)(tp->rttvar_us >> 2) * NSEC_PER_USEC;
}

static __always_inline void address_facts(struct plait_path *path,
					  const struct mptcp_subflow_context *subflow)
{
	s64 local = subflow->local_id;
	u32 address = local > 0 ? local : subflow->remote_id;

	path->cost = 0;
	path->weight = 1;
	if (address < PLAIT_PATHS_MAX) {
		path->cost = path_costs[address];
		path->weight = path_weights[address];
	}
}

static __always_inline void look_at_subflow(struct connection *connection,
					    struct mptcp_subflow_context *subflow)
{
	struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
	const struct tcp_sock *tp = ssk ? bpf_skc_to_tcp_sock(ssk) : NULL;
	unsigned int place = place_of(connection, subflow->subflow_id);
	struct plait_path *path;
	struct subflow *known;

	if (!tp || place >= PLAIT_PATHS_MAX)
		return;
	path = &connection->paths[place];
	known = &connection->subflows[place];
	if (!known->known) {
		known->known = true;
		known->id = subflow->subflow_id;
		known->delivered = tp->delivered;
		known->timeouts = tp->total_rto;
		known->up = false;
	}
	known->seen = true;
	path->state = path_state(subflow);
	path_facts(path, ssk, tp);
	address_facts(path, subflow);
}

static __always_inline bool is_up(const struct plait_path *path)
{
	return path->state == PLAIT_ACTIVE || path->state == PLAIT_BACKUP;
}

/* Paths without a subflow count as failed. */
static __always_inline void look_at_paths(struct mptcp_sock *msk, struct connection *connection)
{
	struct mptcp_subflow_context *subflow;
	struct bpf_iter_mptcp_subflow it;

	for (unsigned int i = 0; i < PLAIT_PATHS_MAX; i++) {
		connection->subflows[i].seen = false;
		connection->paths[i].id = i;
		connection->paths[i].state = PLAIT_FAILED;
	}
	bpf_iter_mptcp_subflow_new(&it, (struct sock *)msk);
	while ((subflow = bpf_iter_mptcp_subflow_next(&it)))
		look_at_subflow(connection, subflow);
	bpf_iter_mptcp_subflow_destroy(&it);
	for (unsigned int i = 0; i < PLAIT_PATHS_MAX; i++)
		connection->subflows[i].known &= connection->subflows[i].seen;
}

/* The number of the first byte that the core sends next. */
static __always_inline u64 next_byte(const struct mptcp_sock *msk)
{
	const struct mptcp_data_frag *fragment = msk->first_pending;

	return fragment ? fragment->data_seq + fragment->already_sent :
			  msk->write_seq - msk->snd_data_fin_enable;
}

static __always_inline void connection_facts(const struct mptcp_sock *msk,
					     struct connection *connection)
{
	const struct sock *sk = &msk->sk.icsk_inet.sk;
	struct plait_connection *facts = &connection->facts;
	u64 written = msk->write_seq - msk->snd_data_fin_enable;
	u64 next = next_byte(msk);
	s64 window = msk->wnd_end - next;
	int space = sk->sk_sndbuf - sk->sk_wmem_queued;
	u32 mss = LEAST_MSS;

	for (unsigned int i = 0; i < PLAIT_PATHS_MAX; i++)
		if (is_up(&connection->paths[i]))
			mss = max(mss, connection->paths[i].mss);
	facts->unassigned = (written - next + mss - 1) / mss;
	facts->window_left = window > 0 ? (u64)window / mss : 0;
	/* The last segment may be short. */
	if (window >= (s64)(written - next))
		facts->window_left = max(facts->window_left, facts->unassigned);
	facts->window = (msk->wnd_end - msk->snd_una) / mss;
	facts->send_buffer_left = space > 0 ? (u32)space / mss : 0;
	facts->finished = msk->snd_data_fin_enable;
}

static __always_inline void tell(struct connection *connection, u8 kind, unsigned int path)
{
	struct plait_event event = { .kind = kind, .path = path };

	if (ALGORITHM.on_event)
		ALGORITHM.on_event(connection->state, &event, &connection->facts,
				   connection->paths, PLAIT_PATHS_MAX);
}

/* Events follow from the differences to the last question. */
static __always_inline void tell_what_happened(struct mptcp_sock *msk,
					       struct connection *connection)
{
	struct mptcp_subflow_context *subflow;
	struct bpf_iter_mptcp_subflow it;

	for (unsigned int i = 0; i < PLAIT_PATHS_MAX; i++) {
		bool up = is_up(&connection->paths[i]);

		if (up != connection->subflows[i].up)
			tell(connection, up ? PLAIT_PATH_UP : PLAIT_PATH_DOWN, i);
		connection->subflows[i].up = up;
	}
	bpf_iter_mptcp_subflow_new(&it, (struct sock *)msk);
	while ((subflow = bpf_iter_mptcp_subflow_next(&it))) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		const struct tcp_sock *tp = ssk ? bpf_skc_to_tcp_sock(ssk) : NULL;
		unsigned int place = place_of(connection, subflow->subflow_id);
		struct subflow *known;

		if (!tp || place >= PLAIT_PATHS_MAX)
			continue;
		known = &connection->subflows[place];
		if (known->timeouts != tp->total_rto)
			tell(connection, PLAIT_TIMEOUT, place);
		if (known->delivered != tp->delivered)
			tell(connection, PLAIT_ACKED, place);
		known->timeouts = tp->total_rto;
		known->delivered = tp->delivered;
	}
	bpf_iter_mptcp_subflow_destroy(&it);
}

/* Lets a subflow take the next fragment: the one at this place, or the first one that is up. The
 * core sends fragments until the burst is used up: one, if that is a byte.
 */
static __always_inline int give(struct mptcp_sock *msk, const struct connection *connection,
				unsigned int place)
{
	struct mptcp_subflow_context *subflow;
	struct bpf_iter_mptcp_subflow it;
	int error = -1;

	bpf_iter_mptcp_subflow_new(&it, (struct sock *)msk);
	while (error && (subflow = bpf_iter_mptcp_subflow_next(&it))) {
		if (place < PLAIT_PATHS_MAX ? place != place_of(connection, subflow->subflow_id) :
					      !mptcp_subflow_active(subflow))
			continue;
		mptcp_subflow_set_scheduled(subflow, true);
		msk->snd_burst = 1;
		error = 0;
	}
	bpf_iter_mptcp_subflow_destroy(&it);
	return error;
}

/* True if nothing would ask again: the window is closed and nothing is in flight, or data has to be
 * sent again within a full window.
 */
static __always_inline bool waits_in_vain(const struct mptcp_sock *msk,
					  const struct connection *connection)
{
	if (!connection->facts.window_left && msk->snd_una == msk->snd_nxt)
		return true;
	return (s64)(msk->wnd_end - msk->snd_nxt) <= 0 && (s64)(next_byte(msk) - msk->snd_nxt) < 0;
}

SEC("struct_ops")
int BPF_PROG(get_send, struct mptcp_sock *msk)
{
	struct connection *connection = connection_of(msk);
	struct plait_decision decision;

	if (!connection)
		return -1;
	mptcp_set_timeout((struct sock *)msk);
	look_at_paths(msk, connection);
	/* Before the peer has confirmed MPTCP, a fallback to TCP loses data that waits. */
	if (!msk->fully_established)
		return give(msk, connection, PLAIT_PATHS_MAX);
	connection_facts(msk, connection);
	tell_what_happened(msk, connection);
	decision = ALGORITHM.decide(connection->state, bpf_ktime_get_ns(), &connection->facts,
				    connection->paths, PLAIT_PATHS_MAX);
	if (decision.kind == PLAIT_ASSIGN && decision.path < PLAIT_PATHS_MAX &&
	    !connection->paths[decision.path].in_recovery)
		return give(msk, connection, decision.path);
	return waits_in_vain(msk, connection) ? give(msk, connection, PLAIT_PATHS_MAX) : -1;
}

/* As the core's mptcp_subflow_get_retrans(): a subflow whose queues are empty; a backup one only if
 * the others are stale. The check for that may sleep.
 */
SEC(SLEEPING)
int BPF_PROG(get_retrans, struct mptcp_sock *msk)
{
	s64 active = -1, backup = -1, chosen;
	struct mptcp_subflow_context *subflow;
	struct bpf_iter_mptcp_subflow it;
	u8 least_stale = U8_MAX;
	int error = -1;

	bpf_iter_mptcp_subflow_new(&it, (struct sock *)msk);
	while ((subflow = bpf_iter_mptcp_subflow_next(&it))) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		const struct tcp_sock *tp = ssk ? bpf_skc_to_tcp_sock(ssk) : NULL;
		u8 state = path_state(subflow);

		if (!tp || (state != PLAIT_ACTIVE && state != PLAIT_BACKUP))
			continue;
		if (tp->write_seq != tp->snd_nxt || !bpf_mptcp_subflow_queues_empty(ssk)) {
			mptcp_pm_subflow_chk_stale(msk, ssk);
			least_stale = min(least_stale, subflow->stale_count);
		} else if (state == PLAIT_ACTIVE && active < 0) {
			active = subflow->subflow_id;
		} else if (state == PLAIT_BACKUP && backup < 0) {
			backup = subflow->subflow_id;
		}
	}
	bpf_iter_mptcp_subflow_destroy(&it);
	chosen = active < 0 && least_stale > 1 ? backup : active;
	bpf_iter_mptcp_subflow_new(&it, (struct sock *)msk);
	while (error && (subflow = bpf_iter_mptcp_subflow_next(&it))) {
		if (subflow->subflow_id != chosen)
			continue;
		mptcp_subflow_set_scheduled(subflow, true);
		error = 0;
	}
	bpf_iter_mptcp_subflow_destroy(&it);
	return error;
}

SEC(".struct_ops")
struct mptcp_sched_ops scheduler = {
	.get_send = (void *)get_send,
	.get_retrans = (void *)get_retrans,
	.name = NAME,
};
