// SPDX-License-Identifier: GPL-2.0-only
/* The model of MPTCP's core. */
#include "model.h"

/* From engine.c. */
int module_init_load(void);
void module_exit_unload(void);

static struct mptcp_sched_ops *registered[32];
static unsigned int registered_count;

int mptcp_register_scheduler(struct mptcp_sched_ops *ops)
{
	registered[registered_count++] = ops;
	return 0;
}

void mptcp_unregister_scheduler(struct mptcp_sched_ops *ops)
{
	registered_count--;
}

int model_load(void)
{
	return module_init_load();
}

void model_unload(void)
{
	module_exit_unload();
	check(!registered_count);
}

struct mptcp_sched_ops *model_ops(unsigned int index)
{
	return index < registered_count ? registered[index] : NULL;
}

static struct model *model_of(struct mptcp_sock *msk)
{
	return container_of(msk, struct model, msk);
}

static struct model_subflow *subflow_of(struct mptcp_subflow_context *ctx)
{
	return container_of(ctx, struct model_subflow, ctx);
}

void model_init(struct model *model, struct mptcp_sched_ops *ops)
{
	memset(model, 0, sizeof(*model));
	model->next_subflow_id = 1;
	INIT_LIST_HEAD(&model->msk.conn_list);
	model->msk.sched = ops;
	check(!ops->init(&model->msk));
}

void model_release(struct model *model)
{
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++)
		model_close_subflow(model, &model->subflows[i]);
	model->msk.sched->release(&model->msk);
}

/* Like mptcp_restart_sched(). */
void model_restart(struct model *model)
{
	struct mptcp_sched_ops *ops = model->msk.sched;

	model_release(model);
	check(!model->msk.sched_backlog && !model->msk.sched_copies);
	model_init(model, ops);
}

void model_begin(struct model *model)
{
	struct mptcp_sock *msk = &model->msk;

	model->first = random_next();
	model->receive_window = 4000;
	msk->write_seq = model->first;
	msk->snd_nxt = model->first;
	msk->snd_una = model->first;
	msk->wnd_end = model->first + model->receive_window;
	msk->can_ack = true;
	msk->use_64bit_ack = true;
	msk->sk.sk.wspace = 1 << 20;
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++)
		model_open_subflow(model, &model->subflows[i]);
}

void model_open_subflow(struct model *model, struct model_subflow *subflow)
{
	if (subflow->open)
		return;
	memset(subflow, 0, sizeof(*subflow));
	subflow->open = true;
	subflow->tp = (struct tcp_sock) {
		.snd_cwnd = 10, .snd_ssthresh = TCP_INFINITE_SSTHRESH, .mss_cache = 128,
		.srtt_us = 8 * (1000 + random_below(100000)), .min_rtt = 1000,
		.rx_opt = { .saw_tstamp = true, .rcv_tsecr = 1 + random_below(1000) },
	};
	subflow->tp.inet_conn.sk.wspace = 1;
	subflow->tp.inet_conn.icsk_rto = 200;
	subflow->tp.inet_conn.icsk_ulp_data = &subflow->ctx;
	subflow->ctx.active = true;
	subflow->ctx.local_id = random_below(MODEL_SUBFLOWS + 1);
	subflow->ctx.subflow_id = model->next_subflow_id++;
	subflow->ctx.tcp_sock = &subflow->tp.inet_conn.sk;
	list_add_tail(&subflow->ctx.node, &model->msk.conn_list);
}

static bool send_pending(const struct model *model)
{
	return model->first_pending * MODEL_FRAGMENT < model->written || model->msk.sched_backlog;
}

static bool sched_pending(const struct model *model)
{
	return send_pending(model) || model->msk.sched_copies;
}

static u64 fragment_length(const struct model *model, u64 fragment)
{
	return min_t(u64, MODEL_FRAGMENT, model->written - fragment * MODEL_FRAGMENT);
}

static void advance_first_pending(struct model *model)
{
	while (model->first_pending * MODEL_FRAGMENT < model->written &&
	       model->already_sent[model->first_pending] ==
		       fragment_length(model, model->first_pending))
		model->first_pending++;
}

/* mptcp_sendmsg_frag(): up to the end of a fragment and of the window. */
static u64 send_part(struct model *model, struct model_subflow *subflow, u64 start, u64 bytes)
{
	u64 fragment = start / MODEL_FRAGMENT, window = model->msk.wnd_end - model->first;
	u64 end = min3(start + bytes, (fragment + 1) * MODEL_FRAGMENT, model->written);
	struct model_packet *packet;

	check(start < model->written);
	/* mptcp_frag_at() finds no acknowledged fragment. */
	if (start < model->msk.snd_una - model->first)
		return 0;
	if (start >= window || (model->push_fails && !random_below(model->push_fails)))
		return 0;
	end = min(end, window);
	for (u64 byte = start; byte < end; byte++) {
		model->sent[byte] += model->sent[byte] < U8_MAX;
		model->taken[subflow - model->subflows][byte]++;
	}
	check(subflow->packets < MODEL_PACKETS);
	packet = &subflow->in_flight[subflow->packets - 1];
	if (subflow->packets && packet->end == start && packet->end % MODEL_FRAGMENT == 0)
		packet->end = end;
	else
		subflow->in_flight[subflow->packets++] = (struct model_packet) { start, end };
	subflow->tp.packets_out = subflow->packets;
	subflow->tp.data_segs_out++;
	model->already_sent[fragment] = max_t(u64, model->already_sent[fragment],
					      end - fragment * MODEL_FRAGMENT);
	if (model->first + end - model->msk.snd_nxt < 1ULL << 63)
		model->msk.snd_nxt = max(model->msk.snd_nxt - model->first, end) + model->first;
	advance_first_pending(model);
	return end - start;
}

/* __subflow_push_range() */
static bool push_range(struct model *model, struct model_subflow *subflow)
{
	u32 mss = subflow->tp.mss_cache - 28;
	bool any = false;

	if (subflow->ctx.range_len && model->full_segments && !subflow->ctx.range_again)
		check(subflow->ctx.range_len % mss == 0 ||
		      subflow->ctx.range_seq + subflow->ctx.range_len ==
			      model->first + model->written);
	model->copies += subflow->ctx.range_again && subflow->ctx.range_len;
	while (subflow->ctx.range_len) {
		u64 part = send_part(model, subflow, subflow->ctx.range_seq - model->first,
				     subflow->ctx.range_len);

		if (!part)
			break;
		subflow->ctx.range_seq += part;
		subflow->ctx.range_len -= part;
		any = true;
	}
	return any;
}

static void send_fin(struct model *model)
{
	struct mptcp_sock *msk = &model->msk;

	if (!msk->snd_data_fin_enable || msk->snd_nxt + 1 != msk->write_seq || send_pending(model))
		return;
	msk->snd_nxt = msk->write_seq;
	model->fin_sent = true;
}

static bool any_scheduled(struct model *model)
{
	struct mptcp_subflow_context *ctx;

	mptcp_for_each_subflow(&model->msk, ctx)
		if (ctx->scheduled)
			return true;
	return false;
}

static int get_send(struct model *model)
{
	struct mptcp_sched_data data = { .reinject = false };

	return any_scheduled(model) ? 0 : model->msk.sched->get_subflow(&model->msk, &data);
}

/* __mptcp_push_pending(), or __mptcp_subflow_push_pending(), which leaves some subflows to their
 * turn.
 */
static void push(struct model *model, bool softirq)
{
	struct mptcp_subflow_context *ctx;
	bool again = true;

	while (again && sched_pending(model) && !get_send(model)) {
		again = false;
		mptcp_for_each_subflow(&model->msk, ctx) {
			if (!ctx->scheduled)
				continue;
			if (softirq && random_below(3) == 0) {
				subflow_of(ctx)->delegated = true;
				continue;
			}
			ctx->scheduled = false;
			again |= push_range(model, subflow_of(ctx));
		}
	}
	send_fin(model);
}

/* mptcp_subflow_process_delegated() */
static void push_delegated(struct model *model)
{
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++) {
		struct model_subflow *subflow = &model->subflows[i];

		if (!subflow->open || !subflow->delegated)
			continue;
		subflow->delegated = false;
		if (!sched_pending(model))
			continue;
		subflow->ctx.scheduled = false;
		if (push_range(model, subflow))
			push(model, true);
	}
}

void model_push(struct model *model)
{
	push(model, false);
}

void model_write(struct model *model, u64 bytes)
{
	if (model->msk.snd_data_fin_enable)
		return;
	bytes = min_t(u64, bytes, MODEL_BYTES / 2 - model->written);
	model->written += bytes;
	model->msk.write_seq += bytes;
	push(model, false);
}

void model_finish(struct model *model)
{
	model->msk.write_seq++;
	model->msk.snd_data_fin_enable = true;
	push(model, false);
	send_fin(model);
}

/* ack_update_msk(): the push comes before snd_una. */
bool model_acknowledge(struct model *model, struct model_subflow *subflow)
{
	struct mptcp_sock *msk = &model->msk;
	struct model_packet packet;
	u64 acked = msk->snd_una - model->first;

	if (!subflow->open || !subflow->packets)
		return false;
	packet = subflow->in_flight[0];
	subflow->packets--;
	memmove(subflow->in_flight, subflow->in_flight + 1, subflow->packets * sizeof(packet));
	subflow->tp.packets_out = subflow->packets;
	subflow->tp.delivered++;
	subflow->tp.rx_opt.rcv_tsval = subflow->tp.rx_opt.rcv_tsecr + random_below(100);
	for (u64 byte = packet.start; byte < packet.end; byte++)
		model->received[byte] = true;
	while (acked < model->written && model->received[acked])
		acked++;

	subflow->tp.inet_conn.sk.locked = true;
	msk->wnd_end = max(msk->wnd_end - model->first, acked + model->receive_window) + model->first;
	msk->sched->acked(msk, subflow->ctx.tcp_sock);
	if (msk->wnd_end - model->first > msk->snd_nxt - model->first || msk->sched_backlog ||
	    msk->sched_copies)
		push(model, true);
	msk->snd_una = model->first + acked;
	if (msk->recovery && msk->snd_una - model->first > msk->recovery_snd_nxt - model->first)
		msk->recovery = false;
	if (model->first_pending * MODEL_FRAGMENT < acked) {
		model->first_pending = max_t(u64, model->first_pending, acked / MODEL_FRAGMENT);
		if (acked % MODEL_FRAGMENT)
			model->already_sent[acked / MODEL_FRAGMENT] =
				max_t(u64, model->already_sent[acked / MODEL_FRAGMENT],
				      acked % MODEL_FRAGMENT);
	}
	advance_first_pending(model);
	subflow->tp.inet_conn.sk.locked = false;
	push_delegated(model);
	return true;
}

void model_window_opens(struct model *model)
{
	struct mptcp_sock *msk = &model->msk;
	u64 end = msk->snd_una - model->first + model->receive_window;

	msk->wnd_end = max(msk->wnd_end - model->first, end) + model->first;
	push(model, true);
	push_delegated(model);
}

/* "Find an idle subflow." */
struct sock *mptcp_subflow_get_retrans(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *ctx;

	mptcp_for_each_subflow(msk, ctx)
		if (ctx->active && !subflow_of(ctx)->packets)
			return ctx->tcp_sock;
	return NULL;
}

/* __mptcp_retrans(): sends the first fragment again, from its beginning. Afterwards no subflow is
 * scheduled.
 */
void model_retransmission_timer(struct model *model)
{
	struct mptcp_sched_data data = { .reinject = true };
	struct mptcp_subflow_context *ctx;
	u64 start = model->msk.snd_una - model->first;
	u64 end = start / MODEL_FRAGMENT * MODEL_FRAGMENT + model->already_sent[start / MODEL_FRAGMENT];
	struct model_subflow *subflow;
	int error = any_scheduled(model) ? 0 : model->msk.sched->get_subflow(&model->msk, &data);

	mptcp_for_each_subflow(&model->msk, ctx) {
		subflow = subflow_of(ctx);
		if (!error && ctx->scheduled && start < end)
			subflow->in_flight[subflow->packets++] = (struct model_packet) { start, end };
		subflow->tp.packets_out = subflow->packets;
		ctx->scheduled = false;
	}
	push(model, false);
}

/* __mptcp_close_ssk(), with __mptcp_retransmit_pending_data() */
void model_close_subflow(struct model *model, struct model_subflow *subflow)
{
	struct mptcp_sock *msk = &model->msk;

	if (!subflow->open)
		return;
	subflow->open = false;
	list_del(&subflow->ctx.node);
	if (msk->snd_una - model->first >= model->written)
		return;
	msk->recovery = true;
	msk->recoveries++;
	msk->recovery_snd_nxt = msk->snd_nxt;
	model->first_pending = (msk->snd_una - model->first) / MODEL_FRAGMENT;
	memset(model->already_sent, 0, sizeof(model->already_sent));
	if (!list_empty(&msk->conn_list))
		push(model, false);
}
