// SPDX-License-Identifier: GPL-2.0-only
/* The engine in a model of MPTCP's core: random traffic over subflows that come, stall and go.
 * Every n-th allocation fails. Every byte must reach the receiver, and data handed to a subflow is
 * checked byte by byte.
 */
#include "model.h"
#include "../schedulers/engine.h"
#include "../schedulers/options.h"
#include "../schedulers/parameters.h"

static const struct plait_algorithm *algorithm_of(const struct mptcp_sched_ops *ops)
{
	for (unsigned int i = 0; plait_algorithms[i]; i++)
		if (!strcmp(plait_algorithms[i]->kernel_name, ops->name))
			return plait_algorithms[i];
	return NULL;
}

static void set_options(unsigned int options)
{
	static const char *const names[] = { "retransmission_penalization", "bufferbloat_mitigation" };

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		for (unsigned int j = 0; plait_option_parameters[j]; j++)
			if (!strcmp(plait_option_parameters[j]->name, names[i]))
				plait_parameter_set(plait_option_parameters[j],
						    options >> i & 1 ? "Y" : "N");
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
		model_acknowledge(model, subflow);
		break;
	case 15:
		subflow->tp.snd_cwnd = 1 + random_below(20);
		break;
	case 16:
		subflow->tp.srtt_us = random_below(2) ? 8 * random_below(100000) : 0;
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

/* The network works again, and the application has written its last byte. */
static void come_to_an_end(struct model *model)
{
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
		/* With nothing in flight the engine has to send the waiting data when it
		 * is asked.
		 */
		idle = acknowledged ? 0 : idle + 1;
		check(idle < 3);
	}
	check(!model->msk.first_pending && !model->msk.sched->repeats(&model->msk));
}

static void check_doubles(const struct model *model, bool copies)
{
	for (u64 byte = 0; byte < model->written; byte++) {
		check(model->received[byte]);
		for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++)
			check(model->taken[i][byte] <= 1);
		check(copies || model->sent[byte] == 1);
	}
}

static bool carries(struct plait_socket *plait, unsigned int path, u64 byte)
{
	return plait->facts.ssks[path] && plait_carries(&plait->queues, path, byte);
}

/* Segment by segment: the first one in flight that the path does not carry, up to one that no path
 * carries.
 */
static s64 expected_uncarried(struct plait_socket *plait, unsigned int path)
{
	const struct plait_facts *facts = &plait->facts;
	u64 segment, start, end;

	if (!facts->ssks[path] || !(plait->needs & PLAIT_NEEDS_UNCARRIED))
		return PLAIT_UNKNOWN;
	for (u64 at = facts->acked; at < facts->sent; at = end) {
		bool others = false;

		segment = plait_segment_at(&plait->segments, at);
		if (!plait_segment_bytes(&plait->segments, segment, &start, &end))
			return PLAIT_UNKNOWN;
		for (u64 byte = max(start, facts->acked); byte < end; byte++) {
			if (carries(plait, path, byte))
				continue;
			if (carries(plait, path, max(start, facts->acked)))
				break;
			for (unsigned int i = 0; i < facts->count; i++)
				others |= i != path && carries(plait, i, byte);
			return others ? (s64)segment : PLAIT_UNKNOWN;
		}
	}
	return PLAIT_UNKNOWN;
}

static unsigned int uncarried_seen;

static void check_uncarried(const struct model *model)
{
	struct plait_socket *plait = plait_of(&model->msk);

	/* Data that the core sent itself, without memory for the state, has no numbers. */
	if (!plait || !plait->begun || model->late)
		return;
	plait_look((struct mptcp_sock *)&model->msk, plait);
	for (unsigned int i = 0; i < plait->facts.count; i++) {
		check(plait->facts.paths[i].uncarried == expected_uncarried(plait, i));
		uncarried_seen += plait->facts.paths[i].uncarried != PLAIT_UNKNOWN;
	}
}

static void one_connection(struct model *model, unsigned int options, u64 seed, bool faults,
			   unsigned int fail_each)
{
	const struct plait_algorithm *algorithm = algorithm_of(model->msk.sched);
	u32 needs;

	snprintf(test_case, sizeof(test_case), "%s, options %u, seed %llu, faults %d, memory fails at every %uth",
		 algorithm->name, options, (unsigned long long)seed, faults, fail_each);
	random_state = seed;
	needs = plait_needs(algorithm);
	memory_failed = 0;
	memory_fail_each = fail_each;
	model_begin(model);
	for (int i = 0; i < 600; i++) {
		something_happens(model, faults);
		if (needs & PLAIT_NEEDS_UNCARRIED)
			check_uncarried(model);
	}
	come_to_an_end(model);
	if (!faults && !memory_failed)
		check_doubles(model, needs & PLAIT_NEEDS_REINJECT);
	memory_fail_each = 0;
}

static void connections(struct mptcp_sched_ops *ops, unsigned int options)
{
	static const unsigned int fail_each[] = { 0, 1, 2, 3, 7 };
	static struct model model;

	set_options(options);
	for (u64 seed = 0; seed < 25; seed++) {
		unsigned int fails = fail_each[seed % ARRAY_SIZE(fail_each)];

		model_init(&model, ops);
		one_connection(&model, options, seed, seed & 1, fails);
		/* mptcp_disconnect(), and another connection. */
		model_restart(&model);
		one_connection(&model, options, seed + 1000, !(seed & 1), fails);
		model_release(&model);
		check(!memory_live);
	}
	set_options(0);
}

/* Subflows with different segment sizes get full segments of their own size, all but the last. */
static void segments_of_unequal_paths(struct mptcp_sched_ops *ops)
{
	static struct model model;

	snprintf(test_case, sizeof(test_case), "%s over unequal segments", ops->name);
	random_state = 1;
	model_init(&model, ops);
	model_begin(&model);
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++) {
		model.subflows[i].tp.mss_cache = 128 + 31 * i;
		model.subflows[i].tp.snd_cwnd = 3 + i;
		model.subflows[i].tp.rate_delivered = 5;
		model.subflows[i].tp.rate_interval_us = 1000;
	}
	model.receive_window = 1 << 20;
	model_window_opens(&model);
	model.full_segments = true;
	model_write(&model, 15001);
	/* Rates are of payload, like segments. */
	for (unsigned int i = 0; i < plait_of(&model.msk)->facts.count; i++) {
		const struct plait_path *path = &plait_of(&model.msk)->facts.paths[i];

		check(path->delivery_rate == 5 * 1000 * 8 * (u64)path->mss);
	}
	come_to_an_end(&model);
	model_release(&model);
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

	snprintf(test_case, sizeof(test_case), "%s with costs and weights", ops->name);
	random_state = 1;
	for (unsigned int i = 0; i < PLAIT_PATHS_MAX; i++) {
		plait_path_costs[i] = 100 + i;
		plait_path_weights[i] = 200 + i;
	}
	model_init(&model, ops);
	model_begin(&model);
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

/* Two subflows whose slow one carries the oldest segment. */
static void slow_subflow_first(struct model *model, struct mptcp_sched_ops *ops)
{
	random_state = 1;
	set_options(1);
	model_init(model, ops);
	model_begin(model);
	for (unsigned int i = 2; i < MODEL_SUBFLOWS; i++)
		model_close_subflow(model, &model->subflows[i]);
	model->subflows[0].tp.srtt_us = 8 * 200000;
	model->subflows[1].tp.srtt_us = 8 * 10000;
	model->subflows[0].tp.snd_cwnd = 8;
	model->subflows[1].tp.snd_cwnd = 30;
	model->receive_window = 2000;
	model_window_opens(model);
	test_now += 1000000000;
}

/* The core lost a subflow while there was no memory for the state: the engine begins with data that is
 * to be sent again.
 */
static void begins_in_recovery(struct mptcp_sched_ops *ops)
{
	static struct model model;

	snprintf(test_case, sizeof(test_case), "%s that begins in recovery", ops->name);
	random_state = 1;
	memory_fail_each = 1;
	model_init(&model, ops);
	model_begin(&model);
	model_write(&model, 3000);
	model.push_fails = 1;
	for (unsigned int i = 0; i < MODEL_SUBFLOWS - 1; i++)
		model_close_subflow(&model, &model.subflows[i]);
	check(model.msk.recovery && !plait_of(&model.msk));
	memory_fail_each = 0;
	come_to_an_end(&model);
	model_release(&model);
}

/* A penalty waits for the lock of its subflow: tcp_snd_cwnd_set() in sockets.h checks that. */
static void penalties(struct mptcp_sched_ops *ops)
{
	static struct model model;
	u32 before;

	snprintf(test_case, sizeof(test_case), "%s with penalties", ops->name);
	slow_subflow_first(&model, ops);
	model_write(&model, 15000);
	/* The window is full. The fast path has room. */
	model.receive_window = 0;
	before = model.subflows[0].tp.snd_cwnd;
	while (model_acknowledge(&model, &model.subflows[1]))
		test_now += 10000000;
	check(model.subflows[0].tp.snd_cwnd == before);
	check(model.copies > 0 || model.subflows[0].packets);
	model_acknowledge(&model, &model.subflows[0]);
	check(model.subflows[0].tp.snd_cwnd < before);
	come_to_an_end(&model);
	model_release(&model);
	set_options(0);
}

/* The rest of an open window is a fact also when all data is assigned: 0 would mean a full window,
 * for which paths are penalized.
 */
static void an_open_window_is_not_full(struct mptcp_sched_ops *ops)
{
	static struct model model;
	const struct plait_connection *connection;

	snprintf(test_case, sizeof(test_case), "%s with an open window", ops->name);
	slow_subflow_first(&model, ops);
	model.receive_window = 100000;
	model_window_opens(&model);
	model_write(&model, 1000);
	while (model_acknowledge(&model, &model.subflows[1]))
		test_now += 10000000;
	plait_look_at_queues(&model.msk, plait_of(&model.msk));
	connection = &plait_of(&model.msk)->facts.connection;
	check(!connection->unassigned);
	check(connection->window_left);
	come_to_an_end(&model);
	model_release(&model);
	set_options(0);
}

/* Sets each word of the first parameter, and then the first one again. */
static void modes(struct mptcp_sched_ops *ops)
{
	struct plait_parameter *mode = algorithm_of(ops)->parameters[0];

	for (unsigned int i = 1; i <= mode->max; i++) {
		check(!plait_parameter_set(mode, mode->words[i]));
		for (unsigned int options = 0; options < 4; options++)
			connections(ops, options);
	}
	check(!plait_parameter_set(mode, mode->words[0]));
	check(uncarried_seen > 1000);
}

int test_engine(void)
{
	unsigned int schedulers = 0, copies = 0;

	check(!model_load());
	for (; model_ops(schedulers); schedulers++) {
		struct mptcp_sched_ops *ops = model_ops(schedulers);

		for (unsigned int options = 0; options < 4; options++)
			connections(ops, options);
		begins_in_recovery(ops);
		if (!strcmp(ops->name, "lowest-rtt") || !strcmp(ops->name, "round-robin"))
			segments_of_unequal_paths(ops);
		if (!strcmp(ops->name, "round-robin")) {
			penalties(ops);
			an_open_window_is_not_full(ops);
		}
		if (!strcmp(ops->name, "cheapest-first"))
			costs_and_weights(ops);
		if (!strcmp(ops->name, "redundant")) {
			modes(ops);
			copies++;
		}
	}
	check(copies == 1);
	model_unload();
	check(!memory_live);
	printf("engine: %u schedulers, %u connections each: every byte arrived\n", schedulers, 4 * 50);
	return 0;
}
