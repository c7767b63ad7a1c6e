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
	u64	given;			/* ranges.c: the range to take, none if empty */
	u64	given_end;
	u64	sent;			/* the data that it took, to be reported to the scheduler */
	u64	sent_end;
	u64	taken;			/* fragments.c: bytes since the connection began */
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
	u32	recoveries;		/* last known value of msk->recoveries */
	struct plait_facts facts;	/* of the last look; too large for a stack */
	struct plait_subflow subflows[PLAIT_PATHS_MAX];
	spinlock_t mailboxes_lock;	/* acknowledgments arrive while the socket is owned */
	struct plait_mailbox mailboxes[PLAIT_PATHS_MAX];	/* in no order */
	struct plait_queues queues;
	struct plait_segments segments;
	struct rcu_head rcu;
	u8	state[] __aligned(8);
};

/* engine.c needs the executor and facts.c, the executor needs engine.c, and all need subflow.c. The
 * executor is ranges.c in a kernel with the patches, and linux/package/fragments.c in any other.
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

/* The executor. */
extern const struct mptcp_sched_ops plait_operations;	/* of all schedulers, without a name */
int plait_executor_init(void);
void plait_executor_exit(void);
/* True if the executor can carry out the decisions of the algorithm. */
bool plait_can_execute(const struct plait_algorithm *algorithm);
/* Returns the state of a connection; NULL if there is none. */
struct plait_socket *plait_of(const struct mptcp_sock *msk);
/* Removes sent and acknowledged data from the queues, and notes the data that subflows took. */
void plait_settle(struct mptcp_sock *msk, struct plait_socket *plait);
/* Tells the core when to ask. */
void plait_ask_again(struct mptcp_sock *msk, struct plait_socket *plait);
/* Lets a subflow take data that its path queue may send; false if none may. */
bool plait_send_queued(struct plait_socket *plait);
/* Carries out a decision. Returns 1 if a subflow takes data now, 0, or an error. */
int plait_carry_out(struct mptcp_sock *msk, struct plait_socket *plait,
		    const struct plait_decision *decision);
/* Lets a subflow probe a closed window. Returns 0, or an error. */
int plait_probe_window(struct mptcp_sock *msk, struct plait_socket *plait);

/* engine.c. Bytes of a connection's state. */
size_t plait_socket_size(const struct plait_algorithm *algorithm);
void plait_begin(struct plait_socket *plait, const struct plait_algorithm *algorithm);
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
