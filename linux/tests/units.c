// SPDX-License-Identifier: GPL-2.0-only
/* Parts of the engine, each by itself: queues, segments, the decision log. */
int test_queues(void);
int test_segments(void);
int test_log(void);

int main(void)
{
	return test_queues() || test_segments() || test_log();
}
