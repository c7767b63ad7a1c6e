// SPDX-License-Identifier: GPL-2.0-only
/* The executor for a core without patches, in a model of that core: random traffic over subflows that
 * come, stall and go, memory that fails, and sockets that connect again. Every byte must arrive.
 */
#include "core.h"
#include "../package/stock.h"
#include "../schedulers/options.h"
#include "../schedulers/parameters.h"

/* A socket without memory at every question is left to the core. */
enum { NO_MEMORY = 1 };

static void set_mitigation(bool on)
{
	for (unsigned int i = 0; plait_option_parameters[i]; i++)
		if (!strcmp(plait_option_parameters[i]->name, "bufferbloat_mitigation"))
			check(!plait_parameter_set(plait_option_parameters[i], on ? "Y" : "N"));
}

static void something_happens(struct core *core, bool faults)
{
	struct core_subflow *subflow = &core->subflows[random_below(CORE_SUBFLOWS)];

	test_now += random_below(3000000);
	switch (random_below(faults ? 27 : 17)) {
	case 0 ... 3:
		core_write(core, random_below(4000));
		break;
	case 4 ... 13:
		core_acknowledge(core, subflow);
		break;
	case 14:
		subflow->tp.snd_cwnd = 1 + random_below(20);
		break;
	case 15:
		subflow->tp.srtt_us = random_below(2) ? 8 * random_below(100000) : 0;
		break;
	case 16:
		core_push(core);
		break;
	case 17:
		core_close_subflow(core, subflow);
		break;
	case 18:
		core_open_subflow(core, subflow);
		break;
	case 19:
		subflow->ctx.stale = random_below(2);
		break;
	case 20:
		subflow->ctx.backup = random_below(2);
		break;
	case 21:
		subflow->tp.inet_conn.icsk_ca_state = random_below(TCP_CA_Loss + 1);
		break;
	case 22:
		subflow->tp.inet_conn.sk.wspace = random_below(2);
		break;
	case 23:
		subflow->tp.total_rto++;
		break;
	case 24:
		subflow->tp.lost++;
		subflow->tp.total_retrans++;
		break;
	case 25:
		core->push_fails = random_below(10);
		break;
	case 26:
		core->receive_window = random_below(4000);
		break;
	}
}

/* The network works again. */
static void come_to_an_end(struct core *core)
{
	unsigned int idle = 0;

	core->push_fails = 0;
	core->receive_window = 20000;
	for (unsigned int i = 0; i < CORE_SUBFLOWS; i++) {
		struct core_subflow *subflow = &core->subflows[i];

		core_open_subflow(core, subflow);
		subflow->ctx.stale = false;
		subflow->ctx.backup = false;
		subflow->tp.inet_conn.icsk_ca_state = TCP_CA_Open;
		subflow->tp.inet_conn.sk.wspace = 1;
		subflow->tp.snd_cwnd = 5;
		subflow->tp.srtt_us = 8 * 20000;
	}
	while (core->msk.snd_una != core->msk.write_seq) {
		bool acknowledged = false;

		test_now += 1000000;
		for (unsigned int i = 0; i < CORE_SUBFLOWS; i++)
			acknowledged |= core_acknowledge(core, &core->subflows[i]);
		core_window_opens(core);
		idle = acknowledged ? 0 : idle + 1;
		check(idle < 3);
	}
}

/* The bytes of each path are those that its subflow took. */
static void check_bytes(struct core *core)
{
	struct plait_socket *plait = plait_of(&core->msk);

	plait_look(&core->msk, plait);
	check(plait->facts.connection.unassigned == 0);
	for (unsigned int i = 0; i < CORE_SUBFLOWS; i++) {
		unsigned int slot = 0;

		while (plait->facts.ssks[slot] != core->subflows[i].ctx.tcp_sock)
			check(++slot < PLAIT_PATHS_MAX);
		check(plait->subflows[slot].taken == core->subflows[i].bytes);
	}
}

static void one_connection(struct core *core, struct mptcp_sched_ops *ops, u64 seed, bool faults,
			   unsigned int fail_each)
{
	struct plait_socket *plait;

	snprintf(test_case, sizeof(test_case), "%s, seed %llu, faults %d, memory fails at every %uth",
		 ops->name, (unsigned long long)seed, faults, fail_each);
	random_state = seed;
	core_begin(core, ops, random_next());
	memory_fail_each = fail_each;
	for (int i = 0; i < 600; i++)
		something_happens(core, faults);
	come_to_an_end(core);
	memory_fail_each = 0;
	if (fail_each == NO_MEMORY) {
		check(core->by_default == core->asked);
		return;
	}
	if (!fail_each) {
		check(plait_of(&core->msk)->first_dsn == core->first);
		/* After a fault the core places data that is sent again in a full window. */
		check(faults || !core->by_default);
		if (!faults)
			check_bytes(core);
	}
	plait = plait_of(&core->msk);
	check(plait || fail_each);
	check(!plait || plait->token == core->msk.token);
}

/* The socket connects twice: nothing of the first connection is known in the second one. */
static void connections(struct mptcp_sched_ops *ops)
{
	static const unsigned int fail_each[] = { 0, 2, 3, 7, NO_MEMORY };
	static struct core core;

	for (u64 seed = 0; seed < 25; seed++) {
		unsigned int fails = fail_each[seed % ARRAY_SIZE(fail_each)];

		one_connection(&core, ops, seed, seed & 1, fails);
		one_connection(&core, ops, seed + 1000, !(seed & 1), 0);
		core_end(&core);
		check(!memory_live);
		check(!plait_of(&core.msk));
	}
}

/* The timeout for the core is the latest of the subflows' that can send and are not stale. */
static void timeouts(struct mptcp_sched_ops *ops)
{
	static struct core core;

	snprintf(test_case, sizeof(test_case), "%s with timeouts", ops->name);
	random_state = 1;
	core_begin(&core, ops, 1);
	core_write(&core, 1);
	for (unsigned int i = 0; i < CORE_SUBFLOWS; i++) {
		core.subflows[i].tp.inet_conn.icsk_pending = false;
		core.subflows[i].tp.inet_conn.sk.wspace = 0;	/* nobody sends */
	}
	core.subflows[0].tp.inet_conn.icsk_pending = true;
	core.subflows[0].tp.inet_conn.icsk_timeout = jiffies + 77;
	core.subflows[1].tp.inet_conn.icsk_pending = true;
	core.subflows[1].tp.inet_conn.icsk_timeout = jiffies + 5000;
	core.subflows[1].ctx.stale_count = 1;
	core.subflows[2].tp.inet_conn.icsk_pending = true;
	core.subflows[2].tp.inet_conn.icsk_timeout = jiffies + 9000;
	core.subflows[2].ctx.active = false;
	core_write(&core, 1);
	check(core.msk.timer_ival == 77);
	core.subflows[0].tp.inet_conn.icsk_pending = false;
	core.subflows[1].tp.inet_conn.icsk_pending = false;
	core.subflows[2].tp.inet_conn.icsk_pending = false;
	core_push(&core);
	check(core.msk.timer_ival == TCP_RTO_MIN);
	core_end(&core);
}

/* A path with a limit takes no fragment while as many segments are in flight or queued. */
static void limits(struct mptcp_sched_ops *ops)
{
	struct plait_decision decision = { .kind = PLAIT_LIMIT, .amount = 12 };
	struct plait_socket *plait;
	static struct core core;

	snprintf(test_case, sizeof(test_case), "%s with a limit", ops->name);
	random_state = 1;
	core_begin(&core, ops, 1);
	core.receive_window = 1 << 20;
	core_window_opens(&core);
	core_write(&core, 1);
	plait = plait_of(&core.msk);
	plait_look(&core.msk, plait);
	check(!plait_carry_out(&core.msk, plait, &decision));
	check(plait->facts.paths[0].limit == 12);
	decision = (struct plait_decision) { .kind = PLAIT_ASSIGN, .amount = 1 };
	plait->facts.paths[0].in_flight = 10;
	plait->facts.paths[0].queued = 1;
	check(plait_carry_out(&core.msk, plait, &decision) == 1);
	plait->facts.paths[0].queued = 2;
	check(plait_carry_out(&core.msk, plait, &decision) == -EAGAIN);
	core_end(&core);
}

/* All data was sent, but a subflow is lost with its part. */
static void lost_subflow(struct mptcp_sched_ops *ops)
{
	static struct core core;

	snprintf(test_case, sizeof(test_case), "%s with a lost subflow", ops->name);
	random_state = 1;
	core_begin(&core, ops, 1);
	core_write(&core, 3000);
	for (unsigned int i = 0; core.msk.first_pending; i++)
		core_acknowledge(&core, &core.subflows[i % CORE_SUBFLOWS]);
	for (unsigned int i = 0; i < CORE_SUBFLOWS; i++)
		if (core.subflows[i].parts)
			core_close_subflow(&core, &core.subflows[i]);
	come_to_an_end(&core);
	core_end(&core);
}

/* A subflow is lost while the receiver's window is full, and no congestion window has room: no
 * acknowledgment would ask again, so the core places the data.
 */
static void full_window(struct mptcp_sched_ops *ops)
{
	static struct core core;

	snprintf(test_case, sizeof(test_case), "%s with a full window", ops->name);
	random_state = 1;
	core_begin(&core, ops, 1);
	core.msk.wnd_end = core.first + 2000;
	core_write(&core, 5000);
	check(core.msk.snd_nxt == core.msk.wnd_end);
	for (unsigned int i = 0; i < CORE_SUBFLOWS; i++)
		core.subflows[i].tp.snd_cwnd = 0;
	for (unsigned int i = 0; i < CORE_SUBFLOWS; i++) {
		if (!core.subflows[i].parts)
			continue;
		core_close_subflow(&core, &core.subflows[i]);
		break;
	}
	check(core.msk.first_pending->data_seq + core.msk.first_pending->already_sent ==
	      core.msk.wnd_end);
	core_end(&core);
}

/* A connection that may still fall back is left to the core, without a state. */
static void unconfirmed(struct mptcp_sched_ops *ops)
{
	static struct core core;

	snprintf(test_case, sizeof(test_case), "%s before MPTCP is confirmed", ops->name);
	random_state = 1;
	core_begin(&core, ops, 1);
	core.msk.fully_established = false;
	core_write(&core, 3000);
	check(core.asked && core.by_default == core.asked);
	check(!plait_of(&core.msk));
	core.msk.fully_established = true;
	core_write(&core, 3000);
	check(plait_of(&core.msk) && core.by_default < core.asked);
	come_to_an_end(&core);
	core_end(&core);
}

/* A closed window is probed when nothing is in flight. */
static void closed_window(struct mptcp_sched_ops *ops)
{
	static struct core core;
	unsigned int scheduled = 0;

	snprintf(test_case, sizeof(test_case), "%s with a closed window", ops->name);
	random_state = 1;
	core_begin(&core, ops, 1);
	core.msk.wnd_end = core.msk.snd_una;
	core.subflows[0].ctx.stale = true;
	core_write(&core, 500);
	check(core.msk.snd_nxt == core.first);
	check(!core.msk.sched->get_subflow(&core.msk, &(struct mptcp_sched_data) { .reinject = false }));
	for (unsigned int i = 0; i < CORE_SUBFLOWS; i++)
		scheduled += core.subflows[i].ctx.scheduled;
	check(scheduled == 1 && !core.subflows[0].ctx.scheduled);
	core_end(&core);
}

/* Turns are fragments: three of four go to the path with a weight of 3. */
static void weights(struct mptcp_sched_ops *ops)
{
	static struct core core;
	int turns;

	snprintf(test_case, sizeof(test_case), "%s with weights", ops->name);
	random_state = 1;
	plait_path_weights[1] = 3;
	core_begin(&core, ops, 1);
	core.receive_window = 1 << 20;
	for (unsigned int i = 2; i < CORE_SUBFLOWS; i++)
		core_close_subflow(&core, &core.subflows[i]);
	for (unsigned int i = 0; i < 2; i++) {
		core.subflows[i].ctx.local_id = 1 + i;
		core.subflows[i].tp.snd_cwnd = 3000;
	}
	core_window_opens(&core);
	core_write(&core, 200000);
	turns = core.subflows[1].fragments;
	check(turns > 50 && abs((int)core.subflows[0].fragments - 3 * turns) < 4);
	plait_path_weights[1] = 1;
	core_end(&core);
}

static const char *const expected[] = {
	"round-robin", "lowest-rtt", "delivery-delay", "blest", "ecf", "otias", "sttf",
	"cheapest-first", "weighted",
};

int main(void)
{
	unsigned int count = 0;

	check(!core_load());
	for (; core_ops(count); count++) {
		struct mptcp_sched_ops *ops = core_ops(count);

		check(count < ARRAY_SIZE(expected) && !strcmp(ops->name, expected[count]));
		for (unsigned int mitigation = 0; mitigation < 2; mitigation++) {
			set_mitigation(mitigation);
			connections(ops);
		}
		set_mitigation(false);
		timeouts(ops);
		limits(ops);
		lost_subflow(ops);
		if (!strcmp(ops->name, "round-robin"))
			full_window(ops);
		closed_window(ops);
		unconfirmed(ops);
		if (!strcmp(ops->name, "weighted"))
			weights(ops);
	}
	check(count == ARRAY_SIZE(expected));
	core_unload();
	check(!memory_live);
	printf("fragments: %u schedulers, 100 connections each: every byte arrived\n", count);
	return 0;
}
