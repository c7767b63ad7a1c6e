// SPDX-License-Identifier: GPL-2.0-only
/* The code that uses the kernel, in user space: queues, segments, the decision log, the engine. */
int test_queues(void);
int test_segments(void);
int test_log(void);
int test_engine(void);

int main(void)
{
	return test_queues() || test_segments() || test_log() || test_engine();
}
