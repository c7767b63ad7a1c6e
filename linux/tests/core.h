/* SPDX-License-Identifier: GPL-2.0-only */
/* A model of MPTCP's core without patches (net/mptcp/protocol.c): fragments in the order of the
 * stream, each whole into the write queue of one subflow.
 */
#ifndef PLAIT_TEST_CORE_H
#define PLAIT_TEST_CORE_H

#include "sockets.h"
#include "random.h"
#include "../schedulers/plait.h"

enum {
	CORE_SUBFLOWS = 4,
	CORE_FRAGMENTS = 2000,
	CORE_FRAGMENT = 1000,		/* bytes of a fragment at most */
	CORE_PARTS = 4000,
};

struct core_part {
	u64 start, end;			/* of the stream */
};

struct core_subflow {
	struct tcp_sock tp;
	struct mptcp_subflow_context ctx;
	bool open;
	unsigned int parts;		/* not acknowledged; the first packets_out are in flight */
	struct core_part part[CORE_PARTS];
	u64 bytes;			/* taken since it opened */
	unsigned int fragments;		/* whose end it took */
};

struct core {
	struct mptcp_sock msk;
	struct core_subflow subflows[CORE_SUBFLOWS];
	struct mptcp_data_frag fragments[CORE_FRAGMENTS];
	unsigned int written, pending;	/* fragments */
	u64 first, bytes;		/* number of the first byte; bytes of the stream */
	u64 receive_window;
	u32 next_subflow_id;
	u32 push_fails;			/* one push in this many finds no memory; 0: none */
	unsigned long asked, by_default;
	bool received[CORE_FRAGMENTS * CORE_FRAGMENT];
};

/* The schedulers that were registered, NULL after the last one. */
struct mptcp_sched_ops *core_ops(unsigned int index);
int core_load(void);
void core_unload(void);

void core_begin(struct core *core, struct mptcp_sched_ops *ops, u32 token);
void core_end(struct core *core);
void core_write(struct core *core, u32 bytes);
void core_push(struct core *core);
bool core_acknowledge(struct core *core, struct core_subflow *subflow);
void core_window_opens(struct core *core);
void core_open_subflow(struct core *core, struct core_subflow *subflow);
void core_close_subflow(struct core *core, struct core_subflow *subflow);

#endif
