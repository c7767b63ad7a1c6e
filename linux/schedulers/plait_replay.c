// SPDX-License-Identifier: GPL-2.0-only
/* The module parameter replay, for tests: it takes recorded calls of the schedulers in
 * crates/plait-sched, whole lines at a time. Thus the schedulers are also tested with the kernel's
 * compiler, word size and division.
 *
 * A write fails if an answer differs. Reading returns the difference, or the numbers of calls.
 */
#include <linux/sysfs.h>

#include "plait_replay.h"

/* The lock of the parameters protects both. */
static struct replay replay;
static char line[1024];

static int set_replay(const char *text, const struct kernel_param *kp)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		strscpy(line, text, min(length + 1, sizeof(line)));
		text += length + (text[length] == '\n');
		if (!replay_line(&replay, line))
			return -EINVAL;
	}
	return 0;
}

static int get_replay(char *buffer, const struct kernel_param *kp)
{
	if (replay.message[0])
		return sysfs_emit(buffer, "%s", replay.message);
	return sysfs_emit(buffer, "%lu connections, %lu decisions, %lu events\n",
			  replay.connections, replay.decisions, replay.events);
}

static const struct kernel_param_ops replay_ops = { .set = set_replay, .get = get_replay };
module_param_cb(replay, &replay_ops, NULL, 0600);
MODULE_PARM_DESC(replay, "Recorded calls to compare with");
