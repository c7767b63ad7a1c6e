// SPDX-License-Identifier: GPL-2.0-only
/* The states of connections. An unmodified mptcp_sock has no place for them, so a table holds them. */
#include <linux/debugfs.h>
#include <linux/rhashtable.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "protocol.h"
#include "engine.h"

struct connection {
	struct rhash_head node;
	const struct mptcp_sock *msk;
	struct rcu_head rcu;
	unsigned int netns;		/* as in /proc/PID/ns/net */
	struct plait_socket plait;
};

static const struct rhashtable_params parameters = {
	.key_len = sizeof_field(struct connection, msk),
	.key_offset = offsetof(struct connection, msk),
	.head_offset = offsetof(struct connection, node),
	.automatic_shrinking = true,
};

static struct rhashtable connections;

static struct connection *find(const struct mptcp_sock *msk)
{
	return rhashtable_lookup_fast(&connections, &msk, parameters);
}

struct plait_socket *plait_of(const struct mptcp_sock *msk)
{
	struct connection *connection = find(msk);

	return connection ? &connection->plait : NULL;
}

static struct connection *connect(const struct mptcp_sock *msk)
{
	const struct plait_algorithm *algorithm = plait_algorithm_of(msk);
	struct connection *connection;

	connection = kzalloc(sizeof(*connection), GFP_ATOMIC | __GFP_NOWARN);
	if (!connection || plait_begin(&connection->plait, algorithm)) {
		kfree(connection);
		return NULL;
	}
	connection->msk = msk;
	connection->netns = sock_net((const struct sock *)msk)->ns.inum;
	connection->plait.token = READ_ONCE(msk->token);
	if (rhashtable_insert_fast(&connections, &connection->node, parameters)) {
		plait_end(&connection->plait);
		kfree(connection);
		return NULL;
	}
	return connection;
}

void plait_disconnect(const struct mptcp_sock *msk)
{
	struct connection *connection = find(msk);

	if (!connection)
		return;
	rhashtable_remove_fast(&connections, &connection->node, parameters);
	plait_end(&connection->plait);
	kfree_rcu(connection, rcu);
}

/* A socket has no token before it connects, and another one after it was disconnected. */
struct plait_socket *plait_connection(const struct mptcp_sock *msk)
{
	struct connection *connection = find(msk);

	if (connection && !connection->plait.token)
		connection->plait.token = READ_ONCE(msk->token);
	if (connection && connection->plait.token != READ_ONCE(msk->token)) {
		plait_disconnect(msk);
		connection = NULL;
	}
	if (!connection)
		connection = connect(msk);
	return connection ? &connection->plait : NULL;
}

static const char * const states[] = {
	[PLAIT_ACTIVE] = "active",
	[PLAIT_BACKUP] = "backup",
	[PLAIT_POTENTIALLY_FAILED] = "stale",
	[PLAIT_FAILED] = "failed",
};

/* The connection may be deciding: values are of different moments. */
static void show(struct seq_file *file, const struct connection *connection)
{
	const struct plait_facts *facts = &connection->plait.facts;
	unsigned int i;

	seq_printf(file, "connection token=%08x netns=%u scheduler=%s\n", connection->plait.token,
		   connection->netns, connection->plait.algorithm->kernel_name);
	for (i = 0; i < PLAIT_PATHS_MAX; i++) {
		const struct plait_path *path = &facts->paths[i];
		s64 delay = READ_ONCE(path->forward_delay);

		if (!READ_ONCE(facts->ssks[i]))
			continue;
		seq_printf(file, "path number=%u state=%s cwnd=%u in_flight=%u queued=%u", i + 1,
			   states[READ_ONCE(path->state)], path->cwnd, path->in_flight,
			   path->queued);
		if (path->limit != PLAIT_NONE)
			seq_printf(file, " limit=%u", path->limit);
		seq_printf(file, " srtt_us=%llu", div_u64(path->srtt, NSEC_PER_USEC));
		if (delay != PLAIT_UNKNOWN)
			seq_printf(file, " forward_delay_us=%lld", div_s64(delay, NSEC_PER_USEC));
		seq_printf(file, " bytes=%llu\n", READ_ONCE(connection->plait.subflows[i].taken));
	}
}

static int connections_show(struct seq_file *file, void *unused)
{
	struct rhashtable_iter walk;
	struct connection *connection;

	rhashtable_walk_enter(&connections, &walk);
	rhashtable_walk_start(&walk);
	while ((connection = rhashtable_walk_next(&walk)))
		if (!IS_ERR(connection))	/* the table grows: the walk goes on */
			show(file, connection);
	rhashtable_walk_stop(&walk);
	rhashtable_walk_exit(&walk);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(connections);

/* The name for the kernel, the name that parameters begin with, and whether it is offered. */
static int schedulers_show(struct seq_file *file, void *unused)
{
	unsigned int i;

	for (i = 0; plait_algorithms[i]; i++)
		seq_printf(file, "%s %s %s\n", plait_algorithms[i]->kernel_name,
			   plait_algorithms[i]->name,
			   plait_can_execute(plait_algorithms[i]) ? "offered" : "missing");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(schedulers);

int plait_connections_init(void)
{
	int error = rhashtable_init(&connections, &parameters);

	if (error)
		return error;
	debugfs_create_file("connections", 0400, plait_debugfs, NULL, &connections_fops);
	debugfs_create_file("schedulers", 0400, plait_debugfs, NULL, &schedulers_fops);
	return 0;
}

void plait_connections_exit(void)
{
	rhashtable_destroy(&connections);
}
