/* SPDX-License-Identifier: GPL-2.0-only */
/* The facts that a scheduler sees, and its decisions: the C mirror of crates/plait-sched (view.rs,
 * decision.rs).
 *
 * A scheduler is pure in its arguments and its own state: no clock, no locks, no allocation, no
 * sockets. The engine (engine.c) takes the facts from the subflows and carries the decisions out.
 * In user space a test replays calls that were recorded from the Rust schedulers. Nothing here
 * needs more of the kernel than linux/types.h.
 */
#ifndef PLAIT_H
#define PLAIT_H

#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include "user.h"
#endif

/* Largest number of subflows of an MPTCP connection in Linux (MPTCP_SUBFLOWS_MAX). */
#define PLAIT_PATHS_MAX		8
/* Enough state for any scheduler with its options, for tests. Connections allocate its real size. */
#define PLAIT_STATE_SIZE	16384
/* No limit, threshold or other amount. */
#define PLAIT_NONE		U32_MAX
/* An unknown forward delay, or no segment. */
#define PLAIT_UNKNOWN		S64_MIN

enum plait_path_state {
	PLAIT_ACTIVE,
	PLAIT_BACKUP,
	PLAIT_POTENTIALLY_FAILED,
	PLAIT_FAILED,
};

/* Times in nanoseconds, amounts in segments. */
struct plait_path {
	u8	id;			/* index into the array of paths */
	u8	state;			/* enum plait_path_state */
	bool	in_recovery;		/* should take no new data until a loss is repaired */
	bool	repairing;		/* loss recovery: the window has been reduced already */
	u32	mss;			/* payload bytes of a segment */
	u32	cwnd;
	u32	ssthresh;		/* PLAIT_NONE while unset */
	u32	in_flight;		/* sent, neither acknowledged nor considered lost */
	u32	queued;			/* assigned and not sent */
	u32	limit;			/* of in_flight, set by a decision; or PLAIT_NONE */
	u32	loss_ppm;		/* lost share of the sent segments, in parts per million */
	u32	cost;
	u32	weight;			/* share of the sent data, relative to the others */
	u64	srtt;			/* 0 until the first sample, like the next ones */
	u64	rttvar;
	u64	latest_rtt;
	u64	min_rtt;
	s64	forward_delay;		/* plus an offset common to all paths; or PLAIT_UNKNOWN */
	u64	rto;
	u64	delivery_rate;		/* bit/s of payload; 0 until measured */
	u64	pacing_rate;		/* bit/s at which packets may leave; 0 without pacing */
	s64	uncarried;		/* oldest segment in flight only elsewhere; or PLAIT_UNKNOWN */
	/* Not in the log (log.c), because in Linux it is srtt. */
	u64	own_rtt;		/* smoothed, of packets acknowledged on the path itself */
};

struct plait_connection {
	u64	unassigned;		/* segments written and assigned to no path */
	u64	next_segment;		/* number of the next segment to be assigned */
	u64	window_left;		/* segments that the receiver admits, less those queued */
	u64	window;			/* segments admitted from the oldest unacknowledged on */
	u64	send_buffer_left;
	u64	oldest_unacked;		/* number of the oldest segment in flight, if has_oldest */
	u32	oldest_carried;		/* bit per path that carries it */
	u8	oldest_path;		/* path that carries it, the latest if several do */
	bool	has_oldest;
	bool	finished;		/* the application has written its last byte */
};

enum plait_decision_kind {
	PLAIT_WAIT,			/* amount: ask again by this time; 0: after an event */
	PLAIT_ASSIGN,			/* amount: segments that path takes next */
	PLAIT_REINJECT,			/* amount: number of the segment to be sent on path too */
	PLAIT_RECALL,			/* move the queue of path back to the data queue */
	PLAIT_LIMIT,			/* amount: segments in flight on path at most; or PLAIT_NONE */
	PLAIT_PENALIZE,			/* halve the congestion window of path */
};

struct plait_decision {
	u64	amount;
	u8	kind;			/* enum plait_decision_kind */
	u8	path;
};

enum plait_event_kind {
	PLAIT_SENT,			/* amount: number of the segment; U64_MAX if not known */
	PLAIT_ACKED,			/* amount: segments; rtt: sample, 0 if none */
	PLAIT_LOST,			/* amount: segments */
	PLAIT_TIMEOUT,
	PLAIT_PATH_DOWN,
	PLAIT_PATH_UP,
};

struct plait_event {
	u64	amount;
	u64	rtt;
	u8	kind;			/* enum plait_event_kind */
	u8	path;
	bool	retransmission;		/* PLAIT_SENT: the segment had been sent before */
};

/* Needs of a scheduler beyond assignments within the window. Linux offers all of them. */
#define PLAIT_NEEDS_ASSIGN_AHEAD	BIT(0)
#define PLAIT_NEEDS_RECALL		BIT(1)
#define PLAIT_NEEDS_REINJECT		BIT(2)
#define PLAIT_NEEDS_LIMIT		BIT(3)
#define PLAIT_NEEDS_PENALIZE		BIT(4)
#define PLAIT_NEEDS_UNCARRIED		BIT(5)

struct plait_parameter;			/* parameters.h */

struct plait_algorithm {
	const char *name;		/* as in `plait schedulers` */
	const char *kernel_name;	/* as in net.mptcp.scheduler: 15 characters at most */
	size_t	state_size;
	bool	by_packet;		/* chooses a place for each packet: fragments are too large */
	struct plait_parameter *const *parameters;	/* its own, ended by NULL; may be NULL */
	u32	(*needs)(void);		/* with the present parameters */
	void	(*init)(void *state);	/* state is zeroed; reads the present parameters */
	struct plait_decision (*decide)(void *state, u64 now,
					const struct plait_connection *connection,
					const struct plait_path *paths, unsigned int count);
	/* The facts already contain the event. May be NULL. */
	void	(*on_event)(void *state, const struct plait_event *event,
			    const struct plait_connection *connection,
			    const struct plait_path *paths, unsigned int count);
};

extern const struct plait_algorithm plait_round_robin;
extern const struct plait_algorithm plait_lowest_rtt;
extern const struct plait_algorithm plait_delivery_delay;
extern const struct plait_algorithm plait_intelligent_delivery_delay;
extern const struct plait_algorithm plait_daps;
extern const struct plait_algorithm plait_daps_rounds;
extern const struct plait_algorithm plait_dqs;
extern const struct plait_algorithm plait_redundant;
extern const struct plait_algorithm plait_blest;
extern const struct plait_algorithm plait_ecf;
extern const struct plait_algorithm plait_otias;
extern const struct plait_algorithm plait_sttf;
extern const struct plait_algorithm plait_cheapest_first;
extern const struct plait_algorithm plait_weighted;
extern const struct plait_algorithm plait_earliest_arrival;

/* All schedulers, ended by NULL (registry.c). */
extern const struct plait_algorithm *const plait_algorithms[];

#endif
