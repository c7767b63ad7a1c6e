/* SPDX-License-Identifier: GPL-2.0-only */
/* A model of MPTCP's core (net/mptcp/protocol.c): its questions to the scheduler, its fragments,
 * and the write queues of subflows. With a scheduler's hooks it is the patched core, without them the
 * unmodified one.
 */
#ifndef PLAIT_TEST_MODEL_H
#define PLAIT_TEST_MODEL_H

#include "sockets.h"
#include "random.h"
#include "../schedulers/engine.h"

enum {
	MODEL_SUBFLOWS = 4,
	MODEL_BYTES = 1 << 19,
	MODEL_SEGMENTS = 8192,		/* in a write queue */
	MODEL_FRAGMENT = 1000,		/* bytes of a fragment at most */
	MODEL_FRAGMENTS = 4096,
};

/* Bytes of the stream. */
struct model_segment {
	u64 start, end;
};

struct model_subflow {
	struct tcp_sock tp;		/* packets_out segments are in flight */
	struct mptcp_subflow_context ctx;
	bool open;
	bool delegated;			/* a push waits for this subflow's turn */
	unsigned int segments;		/* not acknowledged */
	struct model_segment segment[MODEL_SEGMENTS];
	u64 bytes;			/* taken since it opened */
	unsigned int fragments;		/* whose end it took */
};

struct model {
	struct mptcp_sock msk;
	struct model_subflow subflows[MODEL_SUBFLOWS];
	u64 first;			/* number of the stream's first byte */
	u64 written;			/* bytes of the stream */
	u64 receive_window;
	u32 next_subflow_id;
	u32 push_fails;			/* one push in this many finds no memory; 0: none */
	unsigned long asked, by_default;
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

/* model.c */
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
void model_open_subflow(struct model *model, struct model_subflow *subflow);
void model_append(struct model *model, u64 bytes);
u32 model_payload(const struct model_subflow *subflow);
void model_queue(struct model_subflow *subflow, u64 start, u64 end);
void model_transmit(struct model_subflow *subflow);
struct mptcp_data_frag *model_next(struct mptcp_sock *msk, struct mptcp_data_frag *dfrag);
void model_clean(struct model *model);
void model_recover(struct mptcp_sock *msk);

/* questions.c */
void model_write(struct model *model, u64 bytes);
void model_finish(struct model *model);
void model_push(struct model *model);
/* Acknowledges the oldest segment; false if none is in flight. */
bool model_acknowledge(struct model *model, struct model_subflow *subflow);
void model_window_opens(struct model *model);
void model_retransmission_timer(struct model *model);
void model_close_subflow(struct model *model, struct model_subflow *subflow);

#endif
