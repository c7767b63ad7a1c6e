// SPDX-License-Identifier: GPL-2.0-only
/* The model's questions to the scheduler, and the pushes that follow. */
#include "model.h"

static struct model *model_of(struct mptcp_sock *msk)
{
	return container_of(msk, struct model, msk);
}

static struct model_subflow *subflow_of(struct mptcp_subflow_context *ctx)
{
	return container_of(ctx, struct model_subflow, ctx);
}

/* mptcp_sched_pending(); without hooks mptcp_send_head() */
static bool sched_pending(const struct model *model)
{
	const struct mptcp_sched_ops *sched = model->msk.sched;

	return model->msk.first_pending || (sched->repeats && sched->repeats(&model->msk));
}

/* Up to the end of the window. */
int mptcp_sendmsg_frag(struct sock *sk, struct sock *ssk, struct mptcp_data_frag *dfrag,
		       struct mptcp_sendmsg_info *info)
{
	struct model *model = model_of(mptcp_sk(sk));
	struct model_subflow *subflow = subflow_of(mptcp_subflow_ctx(ssk));
	u64 start = dfrag->data_seq + info->sent - model->first;
	u64 end = dfrag->data_seq + info->limit - model->first;
	u64 window = model->msk.wnd_end - model->first;

	check(info->sent < info->limit && info->limit <= dfrag->data_len);
	if (start >= window || (model->push_fails && !random_below(model->push_fails)))
		return 0;
	end = min(end, window);
	for (u64 byte = start; byte < end; byte++) {
		model->sent[byte] += model->sent[byte] < U8_MAX;
		model->taken[subflow - model->subflows][byte]++;
	}
	model_queue(subflow, start, end);
	return end - start;
}

/* The core itself pushes fragments, each whole, until the burst is used up: after one, here. */
static bool push_fragments(struct model *model, struct model_subflow *subflow)
{
	struct mptcp_sock *msk = &model->msk;
	struct mptcp_data_frag *dfrag;
	unsigned int whole = 0;
	bool any = false;

	while ((dfrag = msk->first_pending)) {
		struct mptcp_sendmsg_info info = {
			.sent = dfrag->already_sent, .limit = dfrag->data_len,
		};
		int ret = mptcp_sendmsg_frag((struct sock *)msk, subflow->ctx.tcp_sock, dfrag, &info);

		if (ret <= 0)
			break;
		any = true;
		dfrag->already_sent += ret;
		msk->snd_burst -= ret;
		if (after64(dfrag->data_seq + dfrag->already_sent, msk->snd_nxt))
			msk->snd_nxt = dfrag->data_seq + dfrag->already_sent;
		if (dfrag->already_sent < dfrag->data_len)
			break;
		check(++whole == 1);
		subflow->fragments++;
		msk->first_pending = model_next(msk, dfrag);
		if (msk->snd_burst <= 0 || !sk_stream_memory_free(subflow->ctx.tcp_sock))
			break;
	}
	return any;
}

static void check_given(struct model *model, const struct model_subflow *subflow)
{
	const struct plait_socket *plait = plait_of(&model->msk);

	for (unsigned int i = 0; plait && i < PLAIT_PATHS_MAX; i++) {
		const struct plait_subflow *slot = &plait->subflows[i];
		u64 bytes = slot->given_end - slot->given;

		if (slot->ssk != subflow->ctx.tcp_sock || !bytes)
			continue;
		check(!model->full_segments || slot->again || bytes % model_payload(subflow) == 0 ||
		      slot->given_end + plait->first_dsn == model->first + model->written);
		model->copies += slot->again;
	}
}

/* __subflow_push_pending() */
static bool push_subflow(struct model *model, struct model_subflow *subflow)
{
	const struct mptcp_sched_ops *sched = model->msk.sched;
	struct mptcp_sendmsg_info info = { 0 };
	int ret = -EOPNOTSUPP;
	bool any;

	check_given(model, subflow);
	if (sched->push)
		ret = sched->push((struct sock *)&model->msk, subflow->ctx.tcp_sock, &info);
	any = ret == -EOPNOTSUPP ? push_fragments(model, subflow) : ret > 0;
	model_transmit(subflow);
	return any;
}

static void send_fin(struct model *model)
{
	struct mptcp_sock *msk = &model->msk;

	if (!msk->snd_data_fin_enable || msk->snd_nxt + 1 != msk->write_seq || msk->first_pending)
		return;
	msk->snd_nxt = msk->write_seq;
	model->fin_sent = true;
}

static unsigned int scheduled(struct model *model)
{
	struct mptcp_subflow_context *ctx;
	unsigned int count = 0;

	mptcp_for_each_subflow(&model->msk, ctx)
		count += ctx->scheduled;
	return count;
}

/* mptcp_sched_get_send() */
static int get_send(struct model *model)
{
	struct mptcp_sched_data data = { .reinject = false };
	struct mptcp_sock *msk = &model->msk;
	bool late = (!plait_of(msk) || !plait_of(msk)->begun) && msk->snd_nxt != model->first;
	int error;

	if (scheduled(model))
		return 0;
	model->asked++;
	error = msk->sched->get_subflow(msk, &data);
	check(scheduled(model) == !error);
	model->late |= late && plait_of(msk) && plait_of(msk)->begun;
	return error;
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
			again |= push_subflow(model, subflow_of(ctx));
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
		if (push_subflow(model, subflow))
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
	model_append(model, bytes);
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
static void acknowledge(struct model *model, struct model_subflow *subflow)
{
	struct mptcp_sock *msk = &model->msk;
	u64 acked = msk->snd_una - model->first;
	bool asks;

	while (acked < model->written && model->received[acked])
		acked++;
	subflow->tp.inet_conn.sk.locked = true;
	msk->wnd_end = max(msk->wnd_end - model->first, acked + model->receive_window) + model->first;
	asks = msk->sched->acked && msk->sched->acked(msk, subflow->ctx.tcp_sock);
	if (asks || after64(msk->wnd_end, msk->snd_nxt))
		push(model, true);
	msk->snd_una = model->first + acked;
	model_clean(model);
	subflow->tp.inet_conn.sk.locked = false;
	push_delegated(model);
}

bool model_acknowledge(struct model *model, struct model_subflow *subflow)
{
	struct tcp_sock *tp = &subflow->tp;
	struct model_segment segment;

	if (!subflow->open || !tp->packets_out)
		return false;
	segment = subflow->segment[0];
	subflow->segments--;
	memmove(subflow->segment, subflow->segment + 1, subflow->segments * sizeof(segment));
	memset(model->received + segment.start, true, segment.end - segment.start);
	tp->packets_out--;
	tp->delivered++;
	tp->rx_opt.rcv_tsval = tp->rx_opt.rcv_tsecr + random_below(100);
	model_transmit(subflow);
	acknowledge(model, subflow);
	return true;
}

/* An acknowledgment without news but the window. */
void model_window_opens(struct model *model)
{
	struct mptcp_subflow_context *ctx =
		list_first_entry_or_null(&model->msk.conn_list, struct mptcp_subflow_context, node);

	if (ctx)
		acknowledge(model, subflow_of(ctx));
}

/* Sets the timeout, too. */
struct sock *mptcp_subflow_get_send(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *ctx;

	model_of(msk)->by_default++;
	msk->timer_ival = 1;
	msk->snd_burst = 1;
	mptcp_for_each_subflow(msk, ctx)
		if (mptcp_subflow_active(ctx) && sk_stream_memory_free(ctx->tcp_sock))
			return ctx->tcp_sock;
	return NULL;
}

/* "Find an idle subflow." */
struct sock *mptcp_subflow_get_retrans(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *ctx;

	mptcp_for_each_subflow(msk, ctx)
		if (ctx->active && !subflow_of(ctx)->segments)
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
	struct mptcp_data_frag *dfrag =
		list_first_entry_or_null(&model->msk.rtx_queue, struct mptcp_data_frag, list);
	u64 start = dfrag ? dfrag->data_seq - model->first : 0;
	u64 end = dfrag ? start + dfrag->already_sent : 0;
	int error = scheduled(model) ? 0 : model->msk.sched->get_subflow(&model->msk, &data);

	mptcp_for_each_subflow(&model->msk, ctx) {
		if (!error && ctx->scheduled)
			model_queue(subflow_of(ctx), start, end);
		model_transmit(subflow_of(ctx));
		ctx->scheduled = false;
	}
	push(model, false);
}

/* __mptcp_close_ssk() */
void model_close_subflow(struct model *model, struct model_subflow *subflow)
{
	struct mptcp_sock *msk = &model->msk;

	if (!subflow->open)
		return;
	subflow->open = false;
	list_del(&subflow->ctx.node);
	if (msk->snd_una - model->first >= model->written)
		return;
	model_recover(msk);
	if (!list_empty(&msk->conn_list))
		push(model, false);
}
