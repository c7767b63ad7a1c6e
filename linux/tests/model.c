// SPDX-License-Identifier: GPL-2.0-only
/* The model's sockets: the stream with its fragments, and the write queues of subflows. */
#include "model.h"

/* From engine.c. */
int module_init_load(void);
void module_exit_unload(void);

static struct mptcp_sched_ops *registered[32];
static unsigned int registered_count;

#ifndef PLAIT_HOOKS
/* symbols.c and layout.c need a kernel. */
int plait_core_init(void)
{
	return 0;
}
#endif

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

void model_init(struct model *model, struct mptcp_sched_ops *ops)
{
	memset(model, 0, sizeof(*model));
	model->next_subflow_id = 1;
	INIT_LIST_HEAD(&model->msk.conn_list);
	INIT_LIST_HEAD(&model->msk.rtx_queue);
	model->msk.allow_subflows = true;
	model->msk.sched = ops;
	if (ops->init)
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
	msk->fully_established = true;
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
		.write_seq = random_next(),
		.rx_opt = { .saw_tstamp = true, .rcv_tsecr = 1 + random_below(1000) },
	};
	subflow->tp.snd_nxt = subflow->tp.write_seq;
	subflow->tp.inet_conn.sk.wspace = 1;
	subflow->tp.inet_conn.icsk_rto = 200;
	subflow->tp.inet_conn.icsk_ulp_data = &subflow->ctx;
	subflow->ctx.active = true;
	subflow->ctx.local_id = random_below(MODEL_SUBFLOWS + 1);
	subflow->ctx.subflow_id = model->next_subflow_id++;
	subflow->ctx.tcp_sock = &subflow->tp.inet_conn.sk;
	list_add_tail(&subflow->ctx.node, &model->msk.conn_list);
}

u32 model_payload(const struct model_subflow *subflow)
{
	return subflow->tp.mss_cache - 28;
}

/* TCP transmits the segments that its window admits. */
void model_transmit(struct model_subflow *subflow)
{
	struct tcp_sock *tp = &subflow->tp;

	while (tp->packets_out < subflow->segments && tp->packets_out < tp->snd_cwnd) {
		const struct model_segment *segment = &subflow->segment[tp->packets_out++];

		tp->snd_nxt += segment->end - segment->start;
		tp->data_segs_out++;
	}
	tp->inet_conn.icsk_pending = tp->packets_out > 0;
	tp->inet_conn.icsk_timeout = jiffies + 300;
}

/* Puts data into the write queue. A segment that waits there grows. */
void model_queue(struct model_subflow *subflow, u64 start, u64 end)
{
	u32 waiting = subflow->segments - subflow->tp.packets_out;
	struct model_segment *last = waiting ? &subflow->segment[subflow->segments - 1] : NULL;

	subflow->tp.write_seq += end - start;
	subflow->bytes += end - start;
	if (last && last->end == start) {
		last->end = min(end, max(start, last->start + model_payload(subflow)));
		start = last->end;
	}
	while (start < end) {
		u64 next = min(end, start + model_payload(subflow));

		check(subflow->segments < MODEL_SEGMENTS);
		subflow->segment[subflow->segments++] = (struct model_segment) { start, next };
		start = next;
	}
}

/* mptcp_sendmsg(): fills the last fragment only while it waits. */
void model_append(struct model *model, u64 bytes)
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

struct mptcp_data_frag *model_next(struct mptcp_sock *msk, struct mptcp_data_frag *dfrag)
{
	return list_is_last(&dfrag->list, &msk->rtx_queue) ? NULL : list_next_entry(dfrag, list);
}

/* __mptcp_clean_una(), whose warnings are errors here. */
void model_clean(struct model *model)
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
			msk->first_pending = model_next(msk, dfrag);
		}
		list_del(&dfrag->list);
	}
	if (msk->recovery && after64(msk->snd_una, msk->recovery_snd_nxt))
		msk->recovery = false;
}

/* __mptcp_retransmit_pending_data() */
void model_recover(struct mptcp_sock *msk)
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
