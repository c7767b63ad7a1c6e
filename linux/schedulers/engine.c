// SPDX-License-Identifier: GPL-2.0-only
/* The engine: Linux' MPTCP asks for a subflow, a scheduler decides, and an executor carries it out.
 *
 * MPTCP asks whenever data waits to be sent: in sendmsg(), and for each acknowledgment. The msk
 * socket lock is held in both cases.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include <net/mptcp.h>

#include "protocol.h"
#include "engine.h"
#include "options.h"

/* Decisions at one moment at most: a scheduler that needs more never ends. */
#define DECISIONS_MAX	4096

static struct plait_decision decide(struct plait_socket *plait)
{
	const struct plait_facts *facts = &plait->facts;
	struct plait_decision decision;

	decision = plait_decide(plait->algorithm, plait->state, plait->now,
				&facts->connection, facts->paths, facts->count);
	plait_log(plait, &decision);
	return decision;
}

/* Recalls and limits need no subflow: schedulers also use them for a path whose subflow is gone. */
static bool possible(const struct plait_facts *facts, const struct plait_decision *decision)
{
	if (decision->kind == PLAIT_RECALL || decision->kind == PLAIT_LIMIT)
		return decision->path < PLAIT_PATHS_MAX;
	return decision->path < facts->count && facts->ssks[decision->path];
}

int plait_get_send(struct mptcp_sock *msk, struct plait_socket *plait)
{
	const struct plait_facts *facts = &plait->facts;
	int i, done;

	plait_look(msk, plait);
	for (i = 0; i < DECISIONS_MAX; i++) {
		struct plait_decision decision;

		if (plait_send_queued(plait))
			return 0;
		decision = decide(plait);
		if (decision.kind == PLAIT_WAIT || !possible(facts, &decision))
			break;
		done = plait_carry_out(msk, plait, &decision);
		if (done > 0)
			return 0;
		if (done)
			break;
	}
	if (!facts->connection.window_left && msk->snd_una == msk->snd_nxt)
		return plait_probe_window(msk, plait);
	return -EAGAIN;
}

/* The connection is zeroed. */
int plait_begin(struct plait_socket *plait, const struct plait_algorithm *algorithm)
{
	unsigned int i;

	plait->state = kmalloc(plait_state_size(algorithm), GFP_ATOMIC | __GFP_NOWARN);
	if (!plait->state)
		return -ENOMEM;
	spin_lock_init(&plait->mailboxes_lock);
	plait_queues_init(&plait->queues, 0);
	plait_segments_init(&plait->segments, 0);
	plait->algorithm = algorithm;
	plait->needs = plait_needs(algorithm);
	plait->repeats = algorithm->needs() & PLAIT_NEEDS_REINJECT;
	plait_init(algorithm, plait->state);
	for (i = 0; i < PLAIT_PATHS_MAX; i++)
		plait->subflows[i].limit = PLAIT_NONE;
	return 0;
}

void plait_end(struct plait_socket *plait)
{
	plait_queues_free(&plait->queues);
	plait_segments_free(&plait->segments);
	kfree(plait->state);
}

struct plait_scheduler {
	struct mptcp_sched_ops ops;
	const struct plait_algorithm *algorithm;
};

const struct plait_algorithm *plait_algorithm_of(const struct mptcp_sock *msk)
{
	return container_of(msk->sched, struct plait_scheduler, ops)->algorithm;
}

static struct plait_scheduler schedulers[16];
static unsigned int registered;

static int register_algorithm(const struct plait_algorithm *algorithm)
{
	struct plait_scheduler *scheduler = &schedulers[registered];
	int error;

	if (registered == ARRAY_SIZE(schedulers))
		return -E2BIG;
	scheduler->algorithm = algorithm;
	scheduler->ops = plait_operations;
	strscpy(scheduler->ops.name, algorithm->kernel_name, sizeof(scheduler->ops.name));
	error = mptcp_register_scheduler(&scheduler->ops);
	registered += !error;
	return error;
}

static void unload(void)
{
	while (registered)
		mptcp_unregister_scheduler(&schedulers[--registered].ops);
	synchronize_rcu();
	plait_log_exit();
	plait_connections_exit();
}

static int __init load(void)
{
	unsigned int i;
	int error = plait_core_init() ?: plait_log_init();

	if (error)
		return error;
	error = plait_connections_init();
	if (error) {
		plait_log_exit();
		return error;
	}
	for (i = 0; !error && plait_algorithms[i]; i++)
		if (plait_can_execute(plait_algorithms[i]))
			error = register_algorithm(plait_algorithms[i]);
	if (!error)
		error = plait_core_start();
	if (error)
		unload();
	return error;
}

module_init(load);
module_exit(unload);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Plait's MPTCP packet schedulers");
