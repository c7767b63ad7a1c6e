// SPDX-License-Identifier: GPL-2.0-only
/* Cases of the executor for a core without hooks, which sends whole fragments. */
#include "executor.h"

const char *const executor_schedulers[] = {
	"round-robin", "lowest-rtt", "delivery-delay", "blest", "ecf", "otias", "sttf",
	"cheapest-first", "weighted", NULL,
};
const unsigned int executor_options = MITIGATION;

/* No path carries copies. */
void executor_check(const struct model *model)
{
}

/* The timeout for the core is the latest of the subflows' that can send and are not stale. */
static void timeouts(struct mptcp_sched_ops *ops)
{
	static struct model model;

	begin_case(&model, ops, "with timeouts");
	model_write(&model, 1);
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++) {
		model.subflows[i].tp.inet_conn.icsk_pending = i < 3;
		model.subflows[i].tp.inet_conn.sk.wspace = 0;	/* nobody sends */
	}
	model.subflows[0].tp.inet_conn.icsk_timeout = jiffies + 77;
	model.subflows[1].tp.inet_conn.icsk_timeout = jiffies + 5000;
	model.subflows[1].ctx.stale_count = 1;
	model.subflows[2].tp.inet_conn.icsk_timeout = jiffies + 9000;
	model.subflows[2].ctx.active = false;
	model_write(&model, 1);
	check(model.msk.timer_ival == 77);
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++)
		model.subflows[i].tp.inet_conn.icsk_pending = false;
	model_push(&model);
	check(model.msk.timer_ival == TCP_RTO_MIN);
	model_release(&model);
}

/* A path with a limit takes no fragment while as many segments are in flight or queued. */
static void limits(struct mptcp_sched_ops *ops)
{
	struct plait_decision decision = { .kind = PLAIT_LIMIT, .amount = 12 };
	struct plait_socket *plait;
	static struct model model;

	begin_case(&model, ops, "with a limit");
	model.receive_window = 1 << 20;
	model_window_opens(&model);
	model_write(&model, 1);
	plait = plait_of(&model.msk);
	plait_look(&model.msk, plait);
	check(!plait_carry_out(&model.msk, plait, &decision));
	check(plait->facts.paths[0].limit == 12);
	decision = (struct plait_decision) { .kind = PLAIT_ASSIGN, .amount = 1 };
	plait->facts.paths[0].in_flight = 10;
	plait->facts.paths[0].queued = 1;
	check(plait_carry_out(&model.msk, plait, &decision) == 1);
	plait->facts.paths[0].queued = 2;
	check(plait_carry_out(&model.msk, plait, &decision) == -EAGAIN);
	model_release(&model);
}

/* A subflow is lost while the receiver's window is full, and no congestion window has room: no
 * acknowledgment would ask again, so the core places the data.
 */
static void full_window(struct mptcp_sched_ops *ops)
{
	unsigned int lost = 0;
	static struct model model;

	begin_case(&model, ops, "with a full window");
	model.msk.wnd_end = model.first + 2000;
	model_write(&model, 5000);
	check(model.msk.snd_nxt == model.msk.wnd_end);
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++)
		model.subflows[i].tp.snd_cwnd = 0;
	while (!model.subflows[lost].segments)
		lost++;
	model_close_subflow(&model, &model.subflows[lost]);
	check(model.msk.first_pending->data_seq + model.msk.first_pending->already_sent ==
	      model.msk.wnd_end);
	model_release(&model);
}

/* A connection that may still fall back is left to the core, without a state. */
static void unconfirmed(struct mptcp_sched_ops *ops)
{
	static struct model model;

	begin_case(&model, ops, "before MPTCP is confirmed");
	model.msk.fully_established = false;
	model_write(&model, 3000);
	check(model.asked && model.by_default == model.asked);
	check(!plait_of(&model.msk));
	model.msk.fully_established = true;
	model_write(&model, 3000);
	check(plait_of(&model.msk) && model.by_default < model.asked);
	come_to_an_end(&model);
	model_release(&model);
}

/* Turns are fragments: three of four go to the path with a weight of 3. */
static void weights(struct mptcp_sched_ops *ops)
{
	static struct model model;
	int turns;

	plait_path_weights[1] = 3;
	begin_case(&model, ops, "with weights");
	model.receive_window = 1 << 20;
	for (unsigned int i = 2; i < MODEL_SUBFLOWS; i++)
		model_close_subflow(&model, &model.subflows[i]);
	for (unsigned int i = 0; i < 2; i++) {
		model.subflows[i].ctx.local_id = 1 + i;
		model.subflows[i].tp.snd_cwnd = 3000;
	}
	model_window_opens(&model);
	model_write(&model, 250000);
	turns = model.subflows[1].fragments;
	check(turns > 50 && abs((int)model.subflows[0].fragments - 3 * turns) < 4);
	plait_path_weights[1] = 1;
	model_release(&model);
}

void executor_cases(struct mptcp_sched_ops *ops)
{
	timeouts(ops);
	limits(ops);
	unconfirmed(ops);
	if (!strcmp(ops->name, "round-robin"))
		full_window(ops);
	if (!strcmp(ops->name, "weighted"))
		weights(ops);
}
