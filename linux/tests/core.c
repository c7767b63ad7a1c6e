// SPDX-License-Identifier: GPL-2.0-only
/* The model of the core without patches. */
#include "core.h"
#include "../package/stock.h"

/* From engine.c. */
int module_init_load(void);
void module_exit_unload(void);

static struct mptcp_sched_ops *registered[32];
static unsigned int registered_count;
static struct core *current_core;	/* of mptcp_subflow_get_send() */

int mptcp_register_scheduler(struct mptcp_sched_ops *ops)
{
	registered[registered_count++] = ops;
	return 0;
}

void mptcp_unregister_scheduler(struct mptcp_sched_ops *ops)
{
	registered_count--;
}

/* log.c has a test of its own. */
struct dentry *plait_debugfs;

void plait_log(const struct plait_socket *plait, const struct plait_decision *decision)
{
	check(plait->token);
}

int plait_log_init(void)
{
	return 0;
}

void plait_log_exit(void)
{
}

/* symbols.c and layout.c need a kernel. */
int plait_core_init(void)
{
	return 0;
}

int core_load(void)
{
	return module_init_load();
}

void core_unload(void)
{
	module_exit_unload();
	check(!registered_count);
}

struct mptcp_sched_ops *core_ops(unsigned int index)
{
	return index < registered_count ? registered[index] : NULL;
}

static struct core_subflow *subflow_of(struct mptcp_subflow_context *ctx)
{
	return container_of(ctx, struct core_subflow, ctx);
}

/* A socket may begin again after mptcp_disconnect(): only its token changes for the scheduler. */
void core_begin(struct core *core, struct mptcp_sched_ops *ops, u32 token)
{
	struct mptcp_sock *msk = &core->msk;

	memset(core, 0, sizeof(*core));
	core->first = random_next();
	core->receive_window = 20000;
	core->next_subflow_id = 1;
	INIT_LIST_HEAD(&msk->conn_list);
	msk->sched = ops;
	msk->token = token;
	msk->write_seq = core->first;
	msk->snd_nxt = core->first;
	msk->snd_una = core->first;
	msk->wnd_end = core->first + core->receive_window;
	msk->can_ack = true;
	msk->fully_established = true;
	msk->use_64bit_ack = true;
	msk->sk.sk.wspace = 1 << 20;
	for (unsigned int i = 0; i < CORE_SUBFLOWS; i++)
		core_open_subflow(core, &core->subflows[i]);
}

void core_end(struct core *core)
{
	core->msk.sched->release(&core->msk);
}

void core_open_subflow(struct core *core, struct core_subflow *subflow)
{
	if (subflow->open)
		return;
	memset(subflow, 0, sizeof(*subflow));
	subflow->open = true;
	subflow->tp = (struct tcp_sock) {
		.snd_cwnd = 10, .snd_ssthresh = TCP_INFINITE_SSTHRESH, .mss_cache = 128,
		.srtt_us = 8 * (1000 + random_below(100000)), .min_rtt = 1000,
		.write_seq = random_next(),
		.rx_opt = { .saw_tstamp = true, .rcv_tsecr = 1 + random_below(1000) },
	};
	subflow->tp.snd_nxt = subflow->tp.write_seq;
	subflow->tp.inet_conn.sk.wspace = 1;
	subflow->tp.inet_conn.icsk_rto = 200;
	subflow->tp.inet_conn.icsk_ulp_data = &subflow->ctx;
	subflow->ctx.active = true;
	subflow->ctx.local_id = random_below(CORE_SUBFLOWS + 1);
	subflow->ctx.subflow_id = core->next_subflow_id++;
	subflow->ctx.tcp_sock = &subflow->tp.inet_conn.sk;
	list_add_tail(&subflow->ctx.node, &core->msk.conn_list);
}

/* __mptcp_close_ssk(), with __mptcp_retransmit_pending_data(): all data that is not acknowledged is
 * pending again.
 */
void core_close_subflow(struct core *core, struct core_subflow *subflow)
{
	struct mptcp_sock *msk = &core->msk;
	unsigned int i;

	if (!subflow->open)
		return;
	subflow->open = false;
	list_del(&subflow->ctx.node);
	for (i = 0; i < core->written; i++) {
		struct mptcp_data_frag *fragment = &core->fragments[i];

		if (fragment->data_seq + fragment->data_len - core->first <= msk->snd_una - core->first)
			continue;
		fragment->already_sent = 0;
		core->pending = min(core->pending, i);
	}
	msk->first_pending = core->pending < core->written ? &core->fragments[core->pending] : NULL;
	msk->snd_burst = 0;
	core_push(core);
}

/* TCP sends segments as far as its window admits them. */
static void transmit(struct core_subflow *subflow)
{
	struct tcp_sock *tp = &subflow->tp;

	while (tp->packets_out < subflow->parts && tp->packets_out < tp->snd_cwnd) {
		const struct core_part *part = &subflow->part[tp->packets_out++];

		tp->snd_nxt += part->end - part->start;
		tp->data_segs_out++;
	}
	tp->inet_conn.icsk_pending = tp->packets_out > 0;
	tp->inet_conn.icsk_timeout = jiffies + 300;
}

/* mptcp_sendmsg_frag(): a segment of a fragment, as the receiver's window admits. */
static u32 send_part(struct core *core, struct core_subflow *subflow,
		     struct mptcp_data_frag *fragment)
{
	u64 start = fragment->data_seq + fragment->already_sent - core->first;
	u64 end = min(start + 100, fragment->data_seq + fragment->data_len - core->first);

	end = min(end, core->msk.wnd_end - core->first);
	if (end <= start || (core->push_fails && !random_below(core->push_fails)))
		return 0;
	check(subflow->parts < CORE_PARTS);
	subflow->part[subflow->parts++] = (struct core_part) { start, end };
	subflow->tp.write_seq += end - start;
	subflow->bytes += end - start;
	fragment->already_sent += end - start;
	if (end > core->msk.snd_nxt - core->first)
		core->msk.snd_nxt = core->first + end;
	core->msk.snd_burst -= end - start;
	return end - start;
}

/* __subflow_push_pending() */
static bool push_fragments(struct core *core, struct core_subflow *subflow)
{
	struct mptcp_sock *msk = &core->msk;
	unsigned int whole = 0;
	bool any = false;

	while (msk->first_pending) {
		struct mptcp_data_frag *fragment = msk->first_pending;

		while (fragment->already_sent < fragment->data_len) {
			if (!send_part(core, subflow, fragment))
				goto out;
			any = true;
		}
		check(++whole == 1);
		subflow->fragments++;
		core->pending++;
		msk->first_pending = core->pending < core->written ? fragment + 1 : NULL;
		if (msk->snd_burst <= 0 || !sk_stream_memory_free(subflow->ctx.tcp_sock))
			break;
	}
out:
	transmit(subflow);
	return any;
}

static bool any_scheduled(struct core *core)
{
	struct mptcp_subflow_context *ctx;

	mptcp_for_each_subflow(&core->msk, ctx)
		if (ctx->scheduled)
			return true;
	return false;
}

/* __mptcp_push_pending(): one subflow for each question. */
void core_push(struct core *core)
{
	struct mptcp_sched_data data = { .reinject = false };
	struct mptcp_sock *msk = &core->msk;
	struct mptcp_subflow_context *ctx;
	bool again = true;

	current_core = core;
	while (again && msk->first_pending) {
		unsigned int scheduled = 0;

		again = false;
		core->asked++;
		msk->timer_ival = 0;
		if (!any_scheduled(core) && msk->sched->get_subflow(msk, &data))
			break;
		mptcp_for_each_subflow(msk, ctx) {
			if (!ctx->scheduled)
				continue;
			ctx->scheduled = false;
			scheduled++;
			again |= push_fragments(core, subflow_of(ctx));
		}
		check(scheduled == 1);
	}
}

/* The core's own scheduler. It sets the timeout too. */
struct sock *mptcp_subflow_get_send(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *ctx;

	current_core->by_default++;
	msk->timer_ival = 1;
	msk->snd_burst = 1;
	mptcp_for_each_subflow(msk, ctx)
		if (mptcp_subflow_active(ctx) && sk_stream_memory_free(ctx->tcp_sock))
			return ctx->tcp_sock;
	return NULL;
}

struct sock *mptcp_subflow_get_retrans(struct mptcp_sock *msk)
{
	return NULL;
}

void core_write(struct core *core, u32 bytes)
{
	struct mptcp_sock *msk = &core->msk;

	while (bytes && core->written < CORE_FRAGMENTS) {
		u32 length = min_t(u32, bytes, 1 + random_below(CORE_FRAGMENT));

		core->fragments[core->written] = (struct mptcp_data_frag) {
			.data_seq = msk->write_seq, .data_len = length,
		};
		if (!msk->first_pending)
			msk->first_pending = &core->fragments[core->written];
		core->written++;
		msk->write_seq += length;
		core->bytes += length;
		bytes -= length;
	}
	core_push(core);
}

/* An acknowledgment asks only if its window admits new data. */
static void window_opens(struct core *core, u64 acked)
{
	struct mptcp_sock *msk = &core->msk;
	u64 end = acked + core->receive_window;

	msk->wnd_end = max(msk->wnd_end - core->first, end) + core->first;
	if (after64(msk->wnd_end, msk->snd_nxt))
		core_push(core);
}

/* ack_update_msk() */
bool core_acknowledge(struct core *core, struct core_subflow *subflow)
{
	struct mptcp_sock *msk = &core->msk;
	u64 acked = msk->snd_una - core->first;
	struct core_part part;

	if (!subflow->open || !subflow->tp.packets_out)
		return false;
	part = subflow->part[0];
	subflow->parts--;
	subflow->tp.packets_out--;
	memmove(subflow->part, subflow->part + 1, subflow->parts * sizeof(part));
	subflow->tp.delivered++;
	subflow->tp.rx_opt.rcv_tsval = subflow->tp.rx_opt.rcv_tsecr + random_below(100);
	transmit(subflow);
	memset(core->received + part.start, true, part.end - part.start);
	while (acked < core->bytes && core->received[acked])
		acked++;
	/* The push comes before snd_una. */
	window_opens(core, acked);
	msk->snd_una = core->first + acked;
	/* __mptcp_clean_una(): acknowledged fragments are pending no more. */
	while (msk->first_pending &&
	       msk->first_pending->data_seq + msk->first_pending->data_len - core->first <= acked) {
		core->pending++;
		msk->first_pending = core->pending < core->written ? msk->first_pending + 1 : NULL;
	}
	if (msk->first_pending && msk->first_pending->data_seq - core->first < acked)
		msk->first_pending->already_sent = max_t(u64, msk->first_pending->already_sent,
			acked - (msk->first_pending->data_seq - core->first));
	return true;
}

void core_window_opens(struct core *core)
{
	window_opens(core, core->msk.snd_una - core->first);
}
