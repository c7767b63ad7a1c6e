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
	INIT_LIST_HEAD(&model->msk.rtx_queue);
	model->msk.allow_subflows = true;
	model->msk.sched = ops;
	ops->init(&model->msk);
}

void model_release(struct model *model)
{
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++)
		model_close_subflow(model, &model->subflows[i]);
	model->msk.sched->release(&model->msk);
}

/* mptcp_disconnect(), after which the socket has another token. */
void model_restart(struct model *model)
{
	struct mptcp_sched_ops *ops = model->msk.sched;

	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++)
		model_close_subflow(model, &model->subflows[i]);
	model_init(model, ops);
}

void model_begin(struct model *model)
{
	struct mptcp_sock *msk = &model->msk;

	model->first = random_next();
	model->receive_window = 4000;
	msk->token = 1 + random_next() % U32_MAX;
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

/* mptcp_sched_pending() */
static bool sched_pending(const struct model *model)
{
	return model->msk.first_pending || model->msk.sched->repeats(&model->msk);
}

/* mptcp_sendmsg(): fills the last fragment only while it waits. */
static void append(struct model *model, u64 bytes)
{
	struct mptcp_sock *msk = &model->msk;

	while (bytes) {
		struct mptcp_data_frag *dfrag = NULL;
		u64 part;

		if (msk->first_pending)
			dfrag = list_last_entry(&msk->rtx_queue, struct mptcp_data_frag, list);
		if (!dfrag || dfrag->data_len >= MODEL_FRAGMENT) {
			check(model->fragments_used < MODEL_FRAGMENTS);
			dfrag = &model->fragments[model->fragments_used++];
			dfrag->data_seq = model->first + model->written;
			list_add_tail(&dfrag->list, &msk->rtx_queue);
		}
		part = min_t(u64, bytes, MODEL_FRAGMENT - dfrag->data_len);
		dfrag->data_len += part;
		model->written += part;
		msk->write_seq += part;
		bytes -= part;
		if (!msk->first_pending)
			msk->first_pending = dfrag;
	}
}

/* __mptcp_clean_una(), whose warnings are errors here. */
static void clean_una(struct model *model)
{
	struct mptcp_sock *msk = &model->msk;
	struct mptcp_data_frag *dfrag;

	while (!list_empty(&msk->rtx_queue)) {
		u64 delta;

		dfrag = list_first_entry(&msk->rtx_queue, struct mptcp_data_frag, list);
		if (after64(dfrag->data_seq + dfrag->data_len, msk->snd_una)) {
			delta = msk->snd_una - dfrag->data_seq;
			if (!after64(msk->snd_una, dfrag->data_seq))
				break;
			check(delta <= dfrag->already_sent || msk->recovery);
			dfrag->already_sent -= min_t(u64, delta, dfrag->already_sent);
			dfrag->data_seq += delta;
			dfrag->data_len -= delta;
			break;
		}
		if (dfrag == msk->first_pending) {
			check(msk->recovery);
			msk->first_pending = list_is_last(&dfrag->list, &msk->rtx_queue) ?
				NULL : list_next_entry(dfrag, list);
		}
		list_del(&dfrag->list);
	}
	if (msk->recovery && after64(msk->snd_una, msk->recovery_snd_nxt))
		msk->recovery = false;
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
	struct model_packet *packet;

	check(info->sent < info->limit && info->limit <= dfrag->data_len);
	if (start >= window || (model->push_fails && !random_below(model->push_fails)))
		return 0;
	end = min(end, window);
	for (u64 byte = start; byte < end; byte++) {
		model->sent[byte] += model->sent[byte] < U8_MAX;
		model->taken[subflow - model->subflows][byte]++;
	}
	check(subflow->packets < MODEL_PACKETS);
	packet = &subflow->in_flight[subflow->packets - 1];
	if (subflow->packets && packet->end == start && !info->sent)
		packet->end = end;
	else
		subflow->in_flight[subflow->packets++] = (struct model_packet) { start, end };
	subflow->tp.packets_out = subflow->packets;
	subflow->tp.data_segs_out++;
	return end - start;
}

/* The core without the scheduler pushes the first fragment, whole. */
static bool push_fragment(struct model *model, struct model_subflow *subflow)
{
	struct mptcp_data_frag *dfrag = model->msk.first_pending;
	struct mptcp_sendmsg_info info = { 0 };
	int ret;

	if (!dfrag)
		return false;
	info.sent = dfrag->already_sent;
	info.limit = dfrag->data_len;
	ret = mptcp_sendmsg_frag((struct sock *)&model->msk, subflow->ctx.tcp_sock, dfrag, &info);
	if (ret <= 0)
		return false;
	dfrag->already_sent += ret;
	if (after64(dfrag->data_seq + dfrag->already_sent, model->msk.snd_nxt))
		model->msk.snd_nxt = dfrag->data_seq + dfrag->already_sent;
	if (dfrag->already_sent == dfrag->data_len)
		model->msk.first_pending = list_is_last(&dfrag->list, &model->msk.rtx_queue) ?
			NULL : list_next_entry(dfrag, list);
	return true;
}

/* __subflow_push_pending() */
static bool push_subflow(struct model *model, struct model_subflow *subflow)
{
	const struct plait_socket *plait = plait_of(&model->msk);
	struct mptcp_sendmsg_info info = { 0 };
	struct sock *ssk = subflow->ctx.tcp_sock;
	u32 mss = subflow->tp.mss_cache - 28;
	int ret;

	for (unsigned int i = 0; plait && i < PLAIT_PATHS_MAX; i++) {
		const struct plait_subflow *slot = &plait->subflows[i];
		u64 bytes = slot->given_end - slot->given;

		if (slot->ssk != ssk || !bytes)
			continue;
		check(!model->full_segments || slot->again || bytes % mss == 0 ||
		      slot->given_end + plait->first_dsn == model->first + model->written);
		model->copies += slot->again;
	}
	ret = model->msk.sched->push((struct sock *)&model->msk, ssk, &info);
	if (ret != -EOPNOTSUPP)
		return ret > 0;
	return push_fragment(model, subflow);
}

static void send_fin(struct model *model)
{
	struct mptcp_sock *msk = &model->msk;

	if (!msk->snd_data_fin_enable || msk->snd_nxt + 1 != msk->write_seq || msk->first_pending)
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
	struct mptcp_sock *msk = &model->msk;
	bool late = (!plait_of(msk) || !plait_of(msk)->begun) && msk->snd_nxt != model->first;
	int error = any_scheduled(model) ? 0 : msk->sched->get_subflow(msk, &data);

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
	append(model, bytes);
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
	if (msk->sched->acked(msk, subflow->ctx.tcp_sock) || after64(msk->wnd_end, msk->snd_nxt))
		push(model, true);
	msk->snd_una = model->first + acked;
	clean_una(model);
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

struct sock *mptcp_subflow_get_send(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *ctx;

	mptcp_for_each_subflow(msk, ctx)
		if (mptcp_subflow_active(ctx) && subflow_of(ctx)->packets < subflow_of(ctx)->tp.snd_cwnd)
			return ctx->tcp_sock;
	return NULL;
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
	struct mptcp_data_frag *dfrag =
		list_first_entry_or_null(&model->msk.rtx_queue, struct mptcp_data_frag, list);
	u64 start = dfrag ? dfrag->data_seq - model->first : 0;
	u64 end = dfrag ? start + dfrag->already_sent : 0;
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

/* __mptcp_retransmit_pending_data() */
static void retransmit_pending(struct mptcp_sock *msk)
{
	struct mptcp_data_frag *dfrag;

	if (msk->snd_una == msk->snd_nxt || list_empty(&msk->rtx_queue))
		return;
	msk->recovery_snd_nxt = msk->snd_nxt;
	msk->recovery = true;
	msk->first_pending = list_first_entry(&msk->rtx_queue, struct mptcp_data_frag, list);
	msk->snd_burst = 0;
	list_for_each_entry(dfrag, &msk->rtx_queue, list) {
		if (!dfrag->already_sent)
			break;
		dfrag->already_sent = 0;
	}
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
	retransmit_pending(msk);
	if (!list_empty(&msk->conn_list))
		push(model, false);
}
