// SPDX-License-Identifier: GPL-2.0-only
/* The decision log: nothing while it is off, whole records while it is on, and the case without
 * memory.
 */
#include "log.h"
#include "random.h"
#include "../schedulers/log.c"

static struct plait_socket plait = { .now = 1000, .token = 0xabcd };

static void decide(unsigned int times)
{
	struct plait_decision decision = { .kind = PLAIT_ASSIGN, .amount = 3 };

	while (times--)
		plait_log(&plait, &decision);
}

static size_t read_out(void *to, size_t size)
{
	loff_t position = 0;

	return decisions_read(NULL, to, size, &position);
}

int test_log(void)
{
	struct record_head head;
	struct plait_path path;
	const size_t record_size = sizeof(head) + 2 * PATH_BYTES;
	static char buffer[1 << 20];
	unsigned long taken;
	size_t got, all = 0;

	snprintf(test_case, sizeof(test_case), "log");
	plait.facts.count = 2;
	plait.facts.connection.unassigned = 77;
	plait.facts.paths[1].cwnd = 5;
	plait.facts.paths[1].pacing_rate = 6;
	check(!plait_log_init());
	check(!memory_live);

	/* Off: decisions are counted, without lock or memory. */
	taken = locks_taken;
	decide(10);
	check(locks_taken == taken && !memory_live);
	check(per_cpu(counts, 0)[PLAIT_ASSIGN] == 10);
	check(!read_out(buffer, sizeof(buffer)));

	/* Without memory the log stays off. */
	memory_fail_each = 1;
	check(set_log_decisions("Y", NULL) == -ENOMEM);
	memory_fail_each = 0;
	decide(1);
	check(locks_taken == taken && !log_decisions);
	check(set_log_decisions("perhaps", NULL) == -EINVAL);

	/* On: whole records, in order. */
	check(!set_log_decisions("Y", NULL));
	decide(3);
	got = read_out(buffer, sizeof(buffer));
	check(got == 3 * record_size);
	memcpy(&head, buffer + record_size, sizeof(head));
	check(head.paths == 2 && head.format == 1 && head.token == 0xabcd && head.decision.amount == 3 && head.connection.unassigned == 77);
	memcpy(&path, buffer + 2 * record_size - PATH_BYTES, PATH_BYTES);
	check(path.cwnd == 5 && path.pacing_rate == 6);

	/* Full: records that do not fit are counted, and no record is incomplete. */
	decide(LOG_BYTES / record_size + 5);
	check(dropped == 5);
	check(!set_log_decisions("N", NULL));
	while ((got = read_out(buffer, sizeof(buffer))))
		all += got;
	check(all == LOG_BYTES / record_size * record_size);
	plait_log_exit();
	check(!memory_live);
	printf("log: %zu records\n", all / record_size);
	return 0;
}
