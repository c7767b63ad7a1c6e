/* SPDX-License-Identifier: GPL-2.0-only */
/* The numbers of segments: what is assigned to be one packet has one, whatever its size.
 *
 * Kept as runs of segments of one size. Without memory for another run new bytes count with the
 * last segment: the numbers are coarser then, but always mean the same bytes.
 */
#ifndef PLAIT_SEGMENTS_H
#define PLAIT_SEGMENTS_H

#include <linux/list.h>
#include <linux/types.h>

#include "plait.h"

struct plait_run {
	struct list_head node;
	u64	number;			/* of its first segment */
	u64	start;			/* the byte where that begins */
	u64	size;			/* of all its segments but perhaps the last */
};

struct plait_segments {
	struct list_head runs;		/* ascending; never empty */
	u64	next;			/* the number of the next segment */
	u64	end;			/* the byte where it begins */
	struct plait_run first;		/* so that the first one needs no memory */
};

/* The first segment begins at this byte. */
void plait_segments_init(struct plait_segments *segments, u64 start);
void plait_segments_free(struct plait_segments *segments);
/* What has no number yet of the bytes up to end is cut into segments of this size. */
void plait_segments_number(struct plait_segments *segments, u64 end, u32 size);
/* What lies below the byte needs no numbers any more. */
void plait_segments_forget(struct plait_segments *segments, u64 below);
/* The number of the segment with this byte; the nearest one, if none has it. */
u64 plait_segment_at(const struct plait_segments *segments, u64 byte);
/* The bytes of a segment; false if its number is not known. */
bool plait_segment_bytes(const struct plait_segments *segments, u64 number, u64 *start,
			 u64 *end);

#endif
