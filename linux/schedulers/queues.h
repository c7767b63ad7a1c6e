/* SPDX-License-Identifier: GPL-2.0-only */
/* The two kinds of queues, and the data that each path carries. The data queue holds data that is
 * assigned to no path. Each path has a path queue.
 *
 * They hold ranges of data sequence numbers; the data itself stays where MPTCP keeps it until it is
 * acknowledged. A path queue is not the subflow's write queue: data there has sequence numbers of
 * the subflow and cannot be taken back.
 *
 * Callers hold the msk socket lock, perhaps a spinlock, so memory may be short. No byte is lost for
 * that: ranges grow, move and merge without memory, and a few are kept in reserve.
 */
#ifndef PLAIT_QUEUES_H
#define PLAIT_QUEUES_H

#include <linux/list.h>
#include <linux/types.h>

#include "plait.h"

struct plait_range {
	struct list_head node;
	u64	start;
	u64	end;
};

/* Ascending ranges that do not touch each other. */
struct plait_queue {
	struct list_head ranges;
	struct plait_range *place;	/* end of the last search, start of the next one */
	u64	bytes;
};

struct plait_queues {
	u64	next;		/* the first byte that was never assigned */
	struct plait_queue recalled;	/* the data queue, together with next */
	struct plait_queue paths[PLAIT_PATHS_MAX];
	struct plait_queue carried[PLAIT_PATHS_MAX];	/* sent and not acknowledged */
	struct list_head spare;
	struct plait_range reserve[PLAIT_PATHS_MAX + 1];
};

void plait_queues_init(struct plait_queues *queues, u64 next);
void plait_queues_free(struct plait_queues *queues);

/* Bytes in the data queue, if the application has written data up to end. */
u64 plait_unassigned(const struct plait_queues *queues, u64 end);
/* The first byte that no path has sent. */
u64 plait_first_unsent(const struct plait_queues *queues);
/* The first byte in the data queue. */
u64 plait_next(const struct plait_queues *queues);
/* Moves the next bytes of the data queue, which has this many, to the path; or a few more, if there
 * is no memory to split a range. Returns 0, or -ENOMEM if perhaps not all were moved.
 */
int plait_enqueue(struct plait_queues *queues, unsigned int path, u64 bytes, u64 end);
/* Moves the queue of the path back to the data queue. */
void plait_requeue(struct plait_queues *queues, unsigned int path);
/* Moves all bytes from first on back to the data queue, sent or not. */
void plait_requeue_all(struct plait_queues *queues, u64 first);
/* The first range in the queue of the path; false if there is none. */
bool plait_first_range(const struct plait_queues *queues, unsigned int path, u64 *start,
		       u64 *end);
/* Removes all bytes below first from the path's queue. */
void plait_dequeue(struct plait_queues *queues, unsigned int path, u64 first);
/* Handles the acknowledgement of all bytes below first. */
void plait_acknowledged(struct plait_queues *queues, u64 first);
/* Bytes in all path queues. */
u64 plait_backlog(const struct plait_queues *queues);

/* Records that the path carries these bytes. Without memory this is forgotten, which costs a
 * needless copy.
 */
void plait_carry(struct plait_queues *queues, unsigned int path, u64 start, u64 end);
/* True if the path is known to carry the byte. */
bool plait_carries(struct plait_queues *queues, unsigned int path, u64 byte);
/* The first byte from this one on that the path is not known to carry. */
u64 plait_first_uncarried(struct plait_queues *queues, unsigned int path, u64 byte);
/* Records that the path carries nothing. */
void plait_put_down(struct plait_queues *queues, unsigned int path);

#endif
