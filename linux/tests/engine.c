// SPDX-License-Identifier: GPL-2.0-only
/* The engine in a model of MPTCP's core: random traffic over subflows that come, stall and go.
 * Every n-th allocation fails, and sockets connect again. Every byte must reach the receiver.
 */
#include "executor.h"
#include "../schedulers/options.h"
#include "../schedulers/parameters.h"

/* Every allocation fails. */
enum { NO_MEMORY = 1 };

const struct plait_algorithm *algorithm_of(const struct mptcp_sched_ops *ops)
{
	for (unsigned int i = 0; plait_algorithms[i]; i++)
		if (!strcmp(plait_algorithms[i]->kernel_name, ops->name))
			return plait_algorithms[i];
	return NULL;
}

void set_options(unsigned int options)
{
	static const char *const names[] = { "retransmission_penalization", "bufferbloat_mitigation" };

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		for (unsigned int j = 0; plait_option_parameters[j]; j++)
			if (!strcmp(plait_option_parameters[j]->name, names[i]))
				check(!plait_parameter_set(plait_option_parameters[j],
							   options >> i & 1 ? "Y" : "N"));
}

void begin_case(struct model *model, struct mptcp_sched_ops *ops, const char *name)
{
	snprintf(test_case, sizeof(test_case), "%s %s", ops->name, name);
	random_state = 1;
	model_init(model, ops);
	model_begin(model);
}

/* Causes a random event of a connection. */
static void something_happens(struct model *model, bool faults)
{
	struct model_subflow *subflow = &model->subflows[random_below(MODEL_SUBFLOWS)];

	test_now += random_below(3000000);
	switch (random_below(faults ? 30 : 18)) {
	case 0 ... 4:
		model_write(model, random_below(3000));
		break;
	case 5 ... 14:
		for (u32 more = random_below(10); model_acknowledge(model, subflow) && more; more--)
			;
		break;
	case 15:
		subflow->tp.snd_cwnd = 1 + random_below(20);
		break;
	case 16:
		subflow->tp.srtt_us = random_below(2) ? 8 * random_below(100000) : 0;
		subflow->tp.inet_conn.sk.sk_pacing_status = random_below(SK_PACING_FQ + 1);
		subflow->tp.inet_conn.sk.sk_pacing_rate = 1 + random_below(1000000);
		break;
	case 17:
		model_push(model);
		break;
	case 18:
		model_close_subflow(model, subflow);
		break;
	case 19:
		model_open_subflow(model, subflow);
		break;
	case 20:
		subflow->ctx.stale = random_below(2);
		break;
	case 21:
		subflow->ctx.backup = random_below(2);
		break;
	case 22:
		subflow->tp.inet_conn.icsk_ca_state = random_below(TCP_CA_Loss + 1);
		break;
	case 23:
		subflow->tp.inet_conn.sk.wspace = random_below(2);
		break;
	case 24:
		subflow->tp.total_rto++;
		break;
	case 25:
		subflow->tp.lost++;
		subflow->tp.total_retrans++;
		break;
	case 26:
		model->push_fails = random_below(10);
		break;
	case 27:
		model_retransmission_timer(model);
		break;
	case 28:
		model->receive_window = random_below(4000);
		break;
	case 29:
		subflow->tp.mss_cache = 100 + random_below(100);
		break;
	}
}

void come_to_an_end(struct model *model)
{
	const struct mptcp_sched_ops *sched = model->msk.sched;
	unsigned int idle = 0;

	model->push_fails = 0;
	model->receive_window = 4000;
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++) {
		struct model_subflow *subflow = &model->subflows[i];

		model_open_subflow(model, subflow);
		subflow->ctx.stale = false;
		subflow->ctx.backup = false;
		subflow->tp.inet_conn.icsk_ca_state = TCP_CA_Open;
		subflow->tp.inet_conn.sk.wspace = 1;
		subflow->tp.snd_cwnd = 5;
		subflow->tp.srtt_us = 8 * 20000;
	}
	model_finish(model);
	while (!model->fin_sent || model->msk.snd_una + 1 != model->msk.write_seq) {
		bool acknowledged = false;

		test_now += 1000000;
		for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++)
			acknowledged |= model_acknowledge(model, &model->subflows[i]);
		model_window_opens(model);
		/* With nothing in flight the engine has to send the waiting data when it is asked. */
		idle = acknowledged ? 0 : idle + 1;
		check(idle < 3);
	}
	check(!model->msk.first_pending && !(sched->repeats && sched->repeats(&model->msk)));
	for (u64 byte = 0; byte < model->written; byte++)
		check(model->received[byte]);
}

/* Without faults no byte is sent twice, and each path knows the bytes of its subflow. */
static void check_bytes(struct model *model, bool copies)
{
	struct plait_socket *plait = plait_of(&model->msk);

	plait_look(&model->msk, plait);
	check(!plait->facts.connection.unassigned);
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++) {
		unsigned int slot = 0;

		while (plait->facts.ssks[slot] != model->subflows[i].ctx.tcp_sock)
			check(++slot < PLAIT_PATHS_MAX);
		check(plait->subflows[slot].taken == model->subflows[i].bytes);
	}
	for (u64 byte = 0; byte < model->written; byte++) {
		for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++)
			check(model->taken[i][byte] <= 1);
		check(copies || model->sent[byte] == 1);
	}
}

static void one_connection(struct model *model, struct mptcp_sched_ops *ops, unsigned int options,
			   u64 seed, bool faults, unsigned int fail_each)
{
	struct mptcp_sock *msk = &model->msk;

	snprintf(test_case, sizeof(test_case),
		 "%s, options %u, seed %llu, faults %d, memory fails at every %uth", ops->name,
		 options, (unsigned long long)seed, faults, fail_each);
	random_state = seed;
	/* Memory may become scarce before the state exists, or afterwards. */
	memory_fail_each = seed & 2 ? 0 : fail_each;
	if (msk->sched)
		model_restart(model);
	else
		model_init(model, ops);
	memory_fail_each = fail_each;
	model_begin(model);
	for (int i = 0; i < 600; i++) {
		something_happens(model, faults);
		executor_check(model);
		check_load(model);
	}
	come_to_an_end(model);
	memory_fail_each = 0;
	if (!plait_of(msk))
		check(fail_each && model->by_default == model->asked);
	else
		check(plait_of(msk)->token == msk->token);
	if (fail_each)
		return;
	check(plait_of(msk)->first_dsn == model->first);
	/* After a fault the core may have to place data that is sent again in a full window. */
	check(!model->by_default || (faults && !ops->push));
	if (!faults)
		check_bytes(model, plait_needs(algorithm_of(ops)) & PLAIT_NEEDS_REINJECT);
}

/* The socket connects twice: mptcp_disconnect() is between. */
void connections(struct mptcp_sched_ops *ops, unsigned int options)
{
	static const unsigned int fail_each[] = { NO_MEMORY, 0, 2, 3, 7 };
	static struct model model;

	set_options(options);
	for (u64 seed = 0; seed < 25; seed++) {
		bool faults = seed & 1;

		one_connection(&model, ops, options, seed, faults,
			       fail_each[seed % ARRAY_SIZE(fail_each)]);
		one_connection(&model, ops, options, seed + 1000, !faults,
			       fail_each[(seed + 1) % ARRAY_SIZE(fail_each)]);
		model_release(&model);
		check(!memory_live && !plait_of(&model.msk));
		model.msk.sched = NULL;
	}
	set_options(0);
}

/* Costs and weights depend on the numbers of addresses, not on the places of subflows among the
 * paths. The addresses are those of this host, or of the other one if that opened the subflows.
 */
static void costs_and_weights(struct mptcp_sched_ops *ops)
{
	static const unsigned int costs[MODEL_SUBFLOWS] = { 100, 102, 101, 0 };
	static const unsigned int weights[MODEL_SUBFLOWS] = { 200, 202, 201, 1 };
	const struct plait_facts *facts;
	static struct model model;

	for (unsigned int i = 0; i < PLAIT_PATHS_MAX; i++) {
		plait_path_costs[i] = 100 + i;
		plait_path_weights[i] = 200 + i;
	}
	begin_case(&model, ops, "with costs and weights");
	model.subflows[0].ctx.local_id = 0;
	model.subflows[1].ctx.local_id = 2;
	model.subflows[2].ctx.local_id = 0;
	model.subflows[2].ctx.remote_id = 1;
	model.subflows[3].ctx.local_id = 200;
	model_write(&model, 15000);
	facts = &plait_of(&model.msk)->facts;
	check(facts->count == MODEL_SUBFLOWS);
	for (unsigned int i = 0; i < facts->count; i++) {
		unsigned int subflow = 0;

		while (facts->ssks[i] != model.subflows[subflow].ctx.tcp_sock)
			subflow++;
		check(facts->paths[i].cost == costs[subflow]);
		check(facts->paths[i].weight == weights[subflow]);
	}
	come_to_an_end(&model);
	model_release(&model);
	memset(plait_path_costs, 0, sizeof(plait_path_costs));
	for (unsigned int i = 0; i < PLAIT_PATHS_MAX; i++)
		plait_path_weights[i] = 1;
}

/* The core lost a subflow while there was no memory for the state: the engine begins with data that
 * is to be sent again.
 */
static void begins_in_recovery(struct mptcp_sched_ops *ops)
{
	static struct model model;

	memory_fail_each = NO_MEMORY;
	begin_case(&model, ops, "that begins in recovery");
	model_write(&model, 3000);
	model.push_fails = 1;
	for (unsigned int i = 0; i < MODEL_SUBFLOWS - 1; i++)
		model_close_subflow(&model, &model.subflows[i]);
	check(model.msk.recovery && !plait_of(&model.msk));
	memory_fail_each = 0;
	come_to_an_end(&model);
	model_release(&model);
}

/* All data was sent, but a subflow is lost with its part. */
static void lost_subflow(struct mptcp_sched_ops *ops)
{
	static struct model model;

	begin_case(&model, ops, "with a lost subflow");
	model_write(&model, 3000);
	for (unsigned int i = 0; model.msk.first_pending; i++)
		model_acknowledge(&model, &model.subflows[i % MODEL_SUBFLOWS]);
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++)
		if (model.subflows[i].segments)
			model_close_subflow(&model, &model.subflows[i]);
	come_to_an_end(&model);
	model_release(&model);
}

/* A closed window is probed when nothing is in flight. */
static void closed_window(struct mptcp_sched_ops *ops)
{
	struct mptcp_sched_data data = { .reinject = false };
	static struct model model;
	unsigned int scheduled = 0;

	begin_case(&model, ops, "with a closed window");
	model.msk.wnd_end = model.msk.snd_una;
	/* The first path is the stale one. */
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++)
		model.subflows[i].ctx.local_id = 1 + i;
	model.subflows[0].ctx.stale = true;
	model_write(&model, 500);
	check(model.msk.snd_nxt == model.first);
	check(!ops->get_subflow(&model.msk, &data));
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++)
		scheduled += model.subflows[i].ctx.scheduled;
	check(scheduled == 1 && !model.subflows[0].ctx.scheduled);
	model_release(&model);
}

int main(void)
{
	unsigned int count = 0;

	check(!model_load());
	for (; model_ops(count); count++) {
		struct mptcp_sched_ops *ops = model_ops(count);

		check(executor_schedulers[count] && !strcmp(ops->name, executor_schedulers[count]));
		for (unsigned int options = 0; options <= (PENALIZATION | MITIGATION); options++)
			if (!(options & ~executor_options))
				connections(ops, options);
		begins_in_recovery(ops);
		lost_subflow(ops);
		closed_window(ops);
		if (!strcmp(ops->name, "cheapest-first"))
			costs_and_weights(ops);
		executor_cases(ops);
	}
	check(!executor_schedulers[count]);
	model_unload();
	check(!memory_live);
	check(transmissions_seen > 1000);
	printf("%u schedulers, 50 connections each with each set of options: every byte arrived\n", count);
	return 0;
}
