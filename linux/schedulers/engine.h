/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's state of a connection, and the functions that its files share. */
#ifndef PLAIT_ENGINE_H
#define PLAIT_ENGINE_H

#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "plait.h"
#include "queues.h"
#include "segments.h"

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
	u64	given;			/* the range that it has to take, none if empty */
	u64	given_end;
	u64	sent;			/* the part that it took, to be reported to the scheduler */
	u64	sent_end;
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

/* engine.c needs facts.c and subflow.c, facts.c needs subflow.c; there are no other
 * dependencies.
 */

/* subflow.c. */
extern unsigned int plait_path_costs[PLAIT_PATHS_MAX];
extern unsigned int plait_path_weights[PLAIT_PATHS_MAX];
struct plait_socket *plait_of(const struct mptcp_sock *msk);
/* Handles an acknowledgment; the locks of the subflow and of the msk data are held. */
void plait_acked(struct plait_socket *plait, struct sock *ssk);
/* Halves the window when the subflow's next acknowledgment comes. */
void plait_penalize(struct plait_socket *plait, struct sock *ssk);
/* Frees the mailboxes of subflows that are gone. */
void plait_forget_mail(struct plait_socket *plait, const struct plait_facts *facts);
/* The place of a subflow among the paths; NULL if none is left. */
struct plait_subflow *plait_slot(struct mptcp_sock *msk,
				 const struct mptcp_subflow_context *subflow);
void plait_path_facts(struct mptcp_sock *msk, struct plait_path *path,
		      const struct plait_subflow *slot, struct mptcp_subflow_context *subflow);

/* facts.c. The msk socket lock is held. Takes the facts, and reports events to the scheduler. */
void plait_look(struct mptcp_sock *msk);
/* Updates the facts of the queues after a decision that moved data. */
void plait_look_at_queues(struct mptcp_sock *msk);

/* log.c: decisions for readers of debugfs' plait/decisions, counters in plait/counters. */
void plait_log(u64 now, const struct plait_decision *decision, const struct plait_facts *facts);
int plait_log_init(void);
void plait_log_exit(void);

#endif
