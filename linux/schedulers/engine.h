/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's state of a connection, and the functions that its files share. */
#ifndef PLAIT_ENGINE_H
#define PLAIT_ENGINE_H

#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "plait.h"
#include "queues.h"
#include "segments.h"

struct dentry;
struct mptcp_sched_ops;
struct mptcp_sendmsg_info;
struct mptcp_sock;
struct mptcp_subflow_context;
struct sock;

/* The state of a subflow when the scheduler was asked last. Differences show the events
 * since then.
 */
struct plait_subflow {
	struct sock	*ssk;		/* for comparisons only: it may be gone */
	u32	subflow_id;		/* tells a subflow from a later one at the same address */
	bool	up;
	bool	is_new;			/* since this look: several subflows may appear at once */
	bool	again;			/* the given range is a copy */
	u32	delivered;
	u32	lost;
	u32	retransmitted;
	u32	timeouts;
	u32	limit;
	u64	from;			/* ranges.c: begin of the range that was given last */
	u64	given;			/* ranges.c: its part to take, none if empty */
	u64	given_end;
	u64	sent;			/* the data that it took, to be reported to the scheduler */
	u64	sent_end;
	u64	taken;			/* bytes since the connection began */
	u32	write_seq;		/* fragments.c */
	u32	tsval;			/* fragments.c: the timestamps of the last sample */
	u32	tsecr;
};

/* Messages between acknowledgments and decisions, which hold different locks. */
struct plait_mailbox {
	struct sock	*ssk;		/* for comparisons only */
	s64	forward;		/* delay towards the receiver; or PLAIT_UNKNOWN */
	bool	penalty;		/* halve its window as soon as its lock is held */
};

/* The facts at one moment. */
struct plait_facts {
	struct plait_connection connection;
	struct plait_path paths[PLAIT_PATHS_MAX];
	struct sock *ssks[PLAIT_PATHS_MAX];	/* NULL: no such path */
	unsigned int count;
	u32	mss;			/* the largest segment of a path that is up */
	u64	window;			/* end of the receiver's window, as the queues count */
	u64	written;		/* end of the written data */
	u64	acked;			/* end of the data that the receiver has in order */
	u64	sent;			/* end of the data that was ever sent */
};

/* Protected by the msk socket lock, unless stated otherwise. */
struct plait_socket {
	const struct plait_algorithm *algorithm;
	u32	token;			/* of the connection, as `ss -M` shows it */
	u32	needs;
	bool	begun;
	bool	repeats;		/* the algorithm itself sends copies */
	u64	now;			/* common time of the decisions of an opportunity */
	u64	first_dsn;		/* the queues count from here */
	bool	backlog;		/* read anywhere: data waits for a path */
	bool	copies;			/* read anywhere: the scheduler may send copies */
	struct plait_facts facts;	/* of the last look; too large for a stack */
	struct plait_subflow subflows[PLAIT_PATHS_MAX];
	spinlock_t mailboxes_lock;	/* acknowledgments arrive while the socket is owned */
	struct plait_mailbox mailboxes[PLAIT_PATHS_MAX];	/* in no order */
	struct plait_queues queues;
	struct plait_segments segments;
	struct rcu_head rcu;
	void	*state;			/* of the algorithm; its own memory, as it may be large */
};

/* operations.c needs connections.c and engine.c, engine.c needs the executor and facts.c, the
 * executor needs engine.c, and all need subflow.c. The executor is ranges.c with push.c, or
 * linux/package/fragments.c in a kernel that is neither patched nor livepatched.
 */

/* subflow.c. */
extern unsigned int plait_path_costs[PLAIT_PATHS_MAX];
extern unsigned int plait_path_weights[PLAIT_PATHS_MAX];
/* Handles an acknowledgment; the locks of the subflow and of the msk data are held. */
void plait_acked(struct plait_socket *plait, struct sock *ssk);
/* Takes a sample of the delay towards the receiver from the newest timestamps. */
void plait_sample_delay(struct plait_socket *plait, struct sock *ssk);
/* Halves the window when the subflow's next acknowledgment comes. */
void plait_penalize(struct plait_socket *plait, struct sock *ssk);
/* Frees the mailboxes of subflows that are gone. */
void plait_forget_mail(struct plait_socket *plait, const struct plait_facts *facts);
/* The place of a subflow among the paths; NULL if none is left. */
struct plait_subflow *plait_slot(struct mptcp_sock *msk, struct plait_socket *plait,
				 const struct mptcp_subflow_context *subflow);
void plait_path_facts(struct mptcp_sock *msk, struct plait_socket *plait, struct plait_path *path,
		      const struct plait_subflow *slot, struct mptcp_subflow_context *subflow);

/* facts.c. The msk socket lock is held. Takes the facts, and reports events to the scheduler. */
void plait_look(struct mptcp_sock *msk, struct plait_socket *plait);
/* Updates the facts of the queues after a decision that moved data. */
void plait_look_at_queues(struct mptcp_sock *msk, struct plait_socket *plait);
bool plait_is_up(const struct plait_path *path);

/* operations.c */
extern const struct mptcp_sched_ops plait_operations;	/* of all schedulers, without a name */
/* Sets the connection's retransmission timer to the latest timer of a subflow; of one that can send
 * (active) as mptcp_subflow_get_send() does, or of any as mptcp_set_timeout().
 */
void plait_set_timeout(struct mptcp_sock *msk, bool active);

/* connections.c: the states of connections, and debugfs' plait/connections. */
int plait_connections_init(void);
void plait_connections_exit(void);
/* Returns the state of a connection, a new one if needed; NULL without memory. The msk socket lock is
 * held.
 */
struct plait_socket *plait_connection(const struct mptcp_sock *msk);
/* Returns the state of a connection; NULL if there is none. Under the msk socket lock or RCU. */
struct plait_socket *plait_of(const struct mptcp_sock *msk);
/* Forgets a socket. */
void plait_disconnect(const struct mptcp_sock *msk);

/* The kernel's core. A patched one needs no preparation: linux/package/symbols.c. */
#ifdef PLAIT_HOOKS
static inline int plait_core_init(void)
{
	return 0;
}
#else
int plait_core_init(void);
#endif

/* linux/package/livepatch.c. Replaces functions of the core; nothing may fail afterwards. */
#ifdef PLAIT_LIVEPATCH
int plait_core_start(void);
#else
static inline int plait_core_start(void)
{
	return 0;
}
#endif

/* linux/package. False while the core decides itself for this connection. */
#ifdef PLAIT_HOOKS
static inline bool plait_core_ready(struct mptcp_sock *msk)
{
	return true;
}
#else
bool plait_core_ready(struct mptcp_sock *msk);
#endif

/* push.c: the functions that a core with hooks calls. Pushes the subflow's range; like
 * __subflow_push_pending(). -EOPNOTSUPP: the engine has not begun, and the core has to push.
 */
int plait_push(struct sock *sk, struct sock *ssk, struct mptcp_sendmsg_info *info);
/* True if the scheduler may send copies, even if no data waits. */
bool plait_repeats(const struct mptcp_sock *msk);
/* Handles an acknowledgment, with the locks of subflow and msk data. True if the scheduler is to be
 * asked, even if the window is full.
 */
bool plait_asks(struct mptcp_sock *msk, struct sock *ssk);
/* Leaves a connection to the core, which sends all unacknowledged data again. */
void plait_start_over(struct mptcp_sock *msk);
/* Moves first_pending to the first fragment with data that was never sent. */
void plait_advance(struct mptcp_sock *msk, struct plait_socket *plait);

/* The executor. */
/* True if the executor can carry out the decisions of the algorithm. */
bool plait_can_execute(const struct plait_algorithm *algorithm);
/* Removes sent and acknowledged data from the queues, and notes the data that subflows took. */
void plait_settle(struct mptcp_sock *msk, struct plait_socket *plait);
/* True if an acknowledgment will ask again when the scheduler waits. */
bool plait_is_asked_again(const struct mptcp_sock *msk);
/* Tells the core when to ask. */
void plait_ask_again(struct mptcp_sock *msk, struct plait_socket *plait);
/* Lets a subflow take data that its path queue may send; false if none may. */
bool plait_send_queued(struct plait_socket *plait);
/* Carries out a decision. Returns 1 if a subflow takes data now, 0, or an error. */
int plait_carry_out(struct mptcp_sock *msk, struct plait_socket *plait,
		    const struct plait_decision *decision);
/* Lets a subflow probe a closed window. Returns 0, or an error. */
int plait_probe_window(struct mptcp_sock *msk, struct plait_socket *plait);

/* engine.c. Returns 0, or -ENOMEM. */
int plait_begin(struct plait_socket *plait, const struct plait_algorithm *algorithm);
void plait_end(struct plait_socket *plait);
const struct plait_algorithm *plait_algorithm_of(const struct mptcp_sock *msk);
/* Chooses a subflow. Returns 0, or an error. */
int plait_get_send(struct mptcp_sock *msk, struct plait_socket *plait);

/* log.c: decisions for readers of debugfs' plait/decisions, counters in plait/counters. */
extern struct dentry *plait_debugfs;
void plait_log(const struct plait_socket *plait, const struct plait_decision *decision);
int plait_log_init(void);
void plait_log_exit(void);

#endif
