/* SPDX-License-Identifier: GPL-2.0-only */
/* A model of MPTCP's core with the patches (net/mptcp/protocol.c): which scheduler it asks when,
 * and how it keeps fragments.
 */
#ifndef PLAIT_TEST_MODEL_H
#define PLAIT_TEST_MODEL_H

#include "sockets.h"
#include "random.h"
#include "../schedulers/engine.h"

enum {
	MODEL_SUBFLOWS = 4,
	MODEL_BYTES = 1 << 19,
	MODEL_PACKETS = 4096,
	MODEL_FRAGMENT = 1000,		/* bytes of a fragment at most */
	MODEL_FRAGMENTS = 4096,
};

struct model_packet {
	u64 start, end;
};

struct model_subflow {
	struct tcp_sock tp;
	struct mptcp_subflow_context ctx;
	bool open;
	bool delegated;			/* a push waits for this subflow's turn */
	unsigned int packets;
	struct model_packet in_flight[MODEL_PACKETS];
};

struct model {
	struct mptcp_sock msk;
	struct model_subflow subflows[MODEL_SUBFLOWS];
	u64 first;			/* number of the stream's first byte */
	u64 written;			/* bytes of the stream */
	u64 receive_window;
	u32 next_subflow_id;
	u32 push_fails;			/* one push in this many finds no memory; 0: none */
	unsigned long copies;
	bool fin_sent;
	bool full_segments;		/* check that all segments are full */
	bool late;			/* the state began when data was sent already */
	struct mptcp_data_frag fragments[MODEL_FRAGMENTS];
	unsigned int fragments_used;
	bool received[MODEL_BYTES];
	u8 sent[MODEL_BYTES];
	u8 taken[MODEL_SUBFLOWS][MODEL_BYTES];
};

int model_load(void);
void model_unload(void);
/* The schedulers that were registered, NULL after the last one. */
struct mptcp_sched_ops *model_ops(unsigned int index);

void model_init(struct model *model, struct mptcp_sched_ops *ops);
/* Starts another connection of the socket. */
void model_restart(struct model *model);
void model_release(struct model *model);
/* A handshake: subflows are open, and the stream begins at some number. */
void model_begin(struct model *model);
void model_write(struct model *model, u64 bytes);
void model_finish(struct model *model);
void model_push(struct model *model);
/* Acknowledges the oldest packet; false if none is in flight. */
bool model_acknowledge(struct model *model, struct model_subflow *subflow);
void model_window_opens(struct model *model);
void model_retransmission_timer(struct model *model);
void model_open_subflow(struct model *model, struct model_subflow *subflow);
void model_close_subflow(struct model *model, struct model_subflow *subflow);

#endif
