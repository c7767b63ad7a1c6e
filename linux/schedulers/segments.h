/* SPDX-License-Identifier: GPL-2.0-only */
/* The numbers of segments: each range that is assigned to be one packet has a number, whatever its
 * size.
 *
 * They are kept as runs of segments of one size. Without memory for another run, new bytes count
 * with the last segment. The numbers are coarser then, but always mean the same bytes.
 */
#ifndef PLAIT_SEGMENTS_H
#define PLAIT_SEGMENTS_H

#include <linux/list.h>
#include <linux/types.h>

#include "plait.h"

struct plait_run {
	struct list_head node;
	u64	number;			/* of its first segment */
	u64	start;			/* first byte of that segment */
	u64	size;			/* of all its segments but perhaps the last */
};

struct plait_segments {
	struct list_head runs;		/* ascending; never empty */
	u64	next;			/* the number of the next segment */
	u64	end;			/* the first byte of that segment */
	struct plait_run first;		/* so that the first run needs no memory */
};

/* The first segment begins at this byte. */
void plait_segments_init(struct plait_segments *segments, u64 start);
void plait_segments_free(struct plait_segments *segments);
/* Cuts the bytes up to end that have no number yet into segments of this size. */
void plait_segments_number(struct plait_segments *segments, u64 end, u32 size);
/* Forgets the numbers of all bytes below this one. */
void plait_segments_forget(struct plait_segments *segments, u64 below);
/* The number of the segment with this byte, or the nearest number if it has none. */
u64 plait_segment_at(const struct plait_segments *segments, u64 byte);
/* The bytes of a segment; false if its number is not known. */
bool plait_segment_bytes(const struct plait_segments *segments, u64 number, u64 *start,
			 u64 *end);

#endif
