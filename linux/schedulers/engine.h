/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel side keeps of a connection, and what its files share. */
#ifndef PLAIT_ENGINE_H
#define PLAIT_ENGINE_H

#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "plait.h"
#include "queues.h"

struct mptcp_sock;
struct sock;

/* What was seen of a subflow when the scheduler was asked last: what differs now has happened
 * meanwhile.
 */
struct plait_subflow {
	struct sock	*ssk;		/* to be compared, not to be used: it may be gone */
	u32	subflow_id;		/* tells a subflow from a later one at the same address */
	bool	up;
	bool	is_new;			/* since this look: several subflows may appear at once */
	u32	delivered;
	u32	lost;
	u32	sent;			/* data segments, retransmissions included */
	u32	retransmitted;
	u32	timeouts;
	u32	limit;
};

/* The delay of a subflow towards the receiver, as acknowledgments tell it. */
struct plait_delay {
	struct sock	*ssk;		/* to be compared */
	s64	forward;		/* PLAIT_UNKNOWN before the first one */
};

struct plait_socket {
	const struct plait_algorithm *algorithm;
	u32	needs;
	u64	now;			/* the moment that the decisions of an opportunity share */
	u64	first_dsn;		/* the queues, and segments, are counted from here */
	u64	recovered;		/* msk->recovery_snd_nxt of the last failure of a subflow */
	struct plait_subflow subflows[PLAIT_PATHS_MAX];
	spinlock_t delays_lock;		/* acknowledgments arrive while the socket is owned */
	struct plait_delay delays[PLAIT_PATHS_MAX];	/* in no order */
	struct plait_queues queues;
	struct rcu_head rcu;
	s8	sending;		/* path whose first range is being sent; or negative */
	u8	state[PLAIT_STATE_SIZE] __aligned(8);
};

/* The facts at one moment. */
struct plait_facts {
	struct plait_connection connection;
	struct plait_path paths[PLAIT_PATHS_MAX];
	struct sock *ssks[PLAIT_PATHS_MAX];	/* NULL: no such path */
	unsigned int count;
	u32	mss;
	u64	window;			/* end of the receiver's window, as the queues count */
	u64	written;		/* end of what the application has written */
};

struct plait_socket *plait_of(const struct mptcp_sock *msk);

/* facts.c: an acknowledgment came on a subflow; the msk spinlock is held. */
void plait_sample_delay(struct plait_socket *plait, struct sock *ssk);
/* The msk socket lock is held. Takes the facts, and tells the scheduler what happened. */
void plait_look(struct mptcp_sock *msk, struct plait_facts *facts);
/* What the queues hold, after a decision that moved something. */
void plait_look_at_queues(struct mptcp_sock *msk, struct plait_facts *facts);
/* Adds the oldest unacknowledged segment; no subflow's lock is held. */
void plait_look_for_oldest(struct mptcp_sock *msk, struct plait_facts *facts);

/* log.c: decisions for whoever reads debugfs' plait/decisions, counters in plait/counters. */
void plait_log(u64 now, const struct plait_decision *decision, const struct plait_facts *facts);
int plait_log_init(void);
void plait_log_exit(void);

#endif
