// SPDX-License-Identifier: GPL-2.0-only
/* Cases of the executor for a core with hooks: segments, copies, penalties. */
#include "executor.h"
#include "../schedulers/options.h"
#include "../schedulers/parameters.h"

const char *const executor_schedulers[] = {
	"round-robin", "lowest-rtt", "daps", "daps-rounds", "delivery-delay", "intelligent-dd", "dqs",
	"redundant", "blest", "ecf", "otias", "sttf", "cheapest-first", "weighted",
	"plait", NULL,
};
const unsigned int executor_options = PENALIZATION | MITIGATION;

static unsigned int uncarried_seen;

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

	if (!facts->ssks[path])
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

void executor_check(const struct model *model)
{
	struct plait_socket *plait = plait_of(&model->msk);

	/* Data that the core sent itself, without memory for the state, has no numbers. */
	if (!plait || !plait->begun || model->late || !(plait->needs & PLAIT_NEEDS_UNCARRIED))
		return;
	plait_look((struct mptcp_sock *)&model->msk, plait);
	for (unsigned int i = 0; i < plait->facts.count; i++) {
		check(plait->facts.paths[i].uncarried == expected_uncarried(plait, i));
		uncarried_seen += plait->facts.paths[i].uncarried != PLAIT_UNKNOWN;
	}
}

/* Subflows with different segment sizes get full segments of their own size, all but the last. */
static void segments_of_unequal_paths(struct mptcp_sched_ops *ops)
{
	static struct model model;
	const struct sock *paced = (struct sock *)&model.subflows[1].tp;
	const struct plait_facts *facts;

	begin_case(&model, ops, "over unequal segments");
	for (unsigned int i = 0; i < MODEL_SUBFLOWS; i++) {
		model.subflows[i].tp.mss_cache = 128 + 31 * i;
		model.subflows[i].tp.snd_cwnd = 3 + i;
		model.subflows[i].tp.rate_delivered = 5;
		model.subflows[i].tp.rate_interval_us = 1000;
		model.subflows[i].tp.inet_conn.sk.sk_pacing_status = i;
		model.subflows[i].tp.inet_conn.sk.sk_pacing_rate = i < 2 ? 5000 : ULONG_MAX;
	}
	model.receive_window = 1 << 20;
	model_window_opens(&model);
	model.full_segments = true;
	model_write(&model, 15001);
	/* Measured rates are of payload, like segments. */
	facts = &plait_of(&model.msk)->facts;
	for (unsigned int i = 0; i < facts->count; i++) {
		const struct plait_path *path = &facts->paths[i];

		check(path->delivery_rate == 5 * 1000 * 8 * (u64)path->mss);
		check(path->pacing_rate == (facts->ssks[i] == paced ? 40000 : 0));
	}
	come_to_an_end(&model);
	model_release(&model);
}

/* Two subflows whose slow one carries the oldest segment. */
static void slow_subflow_first(struct model *model, struct mptcp_sched_ops *ops, const char *name)
{
	set_options(PENALIZATION);
	begin_case(model, ops, name);
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

/* A penalty waits for the lock of its subflow: tcp_snd_cwnd_set() in sockets.h checks that. */
static void penalties(struct mptcp_sched_ops *ops)
{
	static struct model model;
	u32 before;

	slow_subflow_first(&model, ops, "with penalties");
	model_write(&model, 15000);
	/* The window is full. The fast path has room. */
	model.receive_window = 0;
	before = model.subflows[0].tp.snd_cwnd;
	while (model_acknowledge(&model, &model.subflows[1]))
		test_now += 10000000;
	check(model.subflows[0].tp.snd_cwnd == before);
	check(model.copies > 0 || model.subflows[0].segments);
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

	slow_subflow_first(&model, ops, "with an open window");
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

void executor_cases(struct mptcp_sched_ops *ops)
{
	if (!strcmp(ops->name, "lowest-rtt") || !strcmp(ops->name, "round-robin"))
		segments_of_unequal_paths(ops);
	if (!strcmp(ops->name, "round-robin")) {
		penalties(ops);
		an_open_window_is_not_full(ops);
	}
	if (!strcmp(ops->name, "redundant"))
		modes(ops);
}
