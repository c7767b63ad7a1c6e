/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel side keeps of a connection, and the decision log's interface. */
#ifndef PLAIT_ENGINE_H
#define PLAIT_ENGINE_H

#include "plait.h"

struct mptcp_sock;
struct sock;

/* What was seen of a subflow when the scheduler was asked last: what differs now has happened meanwhile. */
struct plait_subflow {
	struct sock	*ssk;		/* NULL: no such path; never dereferenced without looking it up again */
	u32	subflow_id;		/* tells a subflow from a later one at the same address */
	bool	up;
	u32	delivered;
	u32	lost;
	u32	sent;			/* new data segments */
	u32	retransmitted;
	u32	timeouts;
	u32	tsval;
	u32	tsecr;
	s64	forward_delay;
};

struct plait_socket {
	const struct plait_algorithm *algorithm;
	u64	now;			/* the moment that the decisions of one opportunity share */
	u64	first_dsn;
	struct plait_subflow subflows[PLAIT_PATHS_MAX];
	u8	state[PLAIT_STATE_SIZE] __aligned(8);
};

/* log.c: decisions for whoever reads debugfs' plait/decisions, counters in plait/counters. */
void plait_log(u64 now, const struct plait_decision *decision, const struct plait_connection *connection,
	       const struct plait_path *paths, unsigned int count);
int plait_log_init(void);
void plait_log_exit(void);

#endif
