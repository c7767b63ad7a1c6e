// SPDX-License-Identifier: GPL-2.0-only
/* In the kernel too, the schedulers give the answers of those in crates/plait-sched: with its
 * compiler, word size and division. The same calls and many more are replayed in user space.
 */
#include <kunit/test.h>

#include "plait_replay.h"
#include "plait_vectors.h"

static void answers_are_those_of_plait_sched(struct kunit *test)
{
	struct replay *replay = kunit_kzalloc(test, sizeof(*replay), GFP_KERNEL);
	size_t i;

	KUNIT_ASSERT_NOT_NULL(test, replay);
	for (i = 0; i < ARRAY_SIZE(plait_vectors); i++)
		if (!replay_line(replay, plait_vectors[i]))
			break;
	KUNIT_EXPECT_STREQ(test, replay->message, "");
	KUNIT_EXPECT_GT(test, replay->decisions, 0UL);
	kunit_info(test, "%lu decisions and %lu events\n", replay->decisions, replay->events);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(answers_are_those_of_plait_sched),
	{}
};

static struct kunit_suite suite = {
	.name = "plait",
	.test_cases = cases,
};

kunit_test_suite(suite);
