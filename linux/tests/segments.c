// SPDX-License-Identifier: GPL-2.0-only
/* The numbers of segments against a reference with an entry for every byte. */
#include "random.h"
#include "../schedulers/segments.c"

enum { BYTES = 2000 };

static void random_stream(u64 seed, unsigned int fail_each)
{
	static const u32 sizes[] = { 10, 10, 10, 14, 1 };
	u64 reference[BYTES], written = 0, below = 0, next = 0;
	struct plait_segments segments;

	snprintf(test_case, sizeof(test_case), "segments, seed %llu, memory fails at every %uth",
		 (unsigned long long)seed, fail_each);
	random_state = seed;
	memory_failed = 0;
	memory_fail_each = fail_each;
	plait_segments_init(&segments, 0);
	while (written < BYTES) {
		u64 more = min_t(u64, random_below(50), BYTES - written), before = segments.next;
		u32 size = sizes[random_below(ARRAY_SIZE(sizes))];

		plait_segments_number(&segments, written + more, size);
		for (u64 i = 0; i < more; i++) {
			reference[written] = next + i / size;
			written++;
		}
		next += (more + size - 1) / size;
		below += random_below(written - below + 1) / 2;
		plait_segments_forget(&segments, below);

		check(segments.end == written && segments.next >= before);
		check(memory_failed || segments.next == next);
		for (u64 byte = below, last = 0; byte < written; byte++) {
			u64 number = plait_segment_at(&segments, byte), start, end;

			check(number >= last);
			check(memory_failed || number == reference[byte]);
			check(plait_segment_bytes(&segments, number, &start, &end));
			check(start <= byte && byte < end && end <= written);
			last = number;
		}
		check(plait_segment_at(&segments, written) == segments.next);
		check(!plait_segment_bytes(&segments, segments.next, &below, &below));
	}
	plait_segments_free(&segments);
	check(!memory_live);
}

int test_segments(void)
{
	for (u64 seed = 0; seed < 100; seed++)
		for (unsigned int fail_each = 0; fail_each < 6; fail_each++)
			random_stream(seed, fail_each);
	printf("segments: 600 streams as the reference\n");
	return 0;
}
