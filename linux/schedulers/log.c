// SPDX-License-Identifier: GPL-2.0-only
/* The decision log: what each decision saw and answered, as fixed records in debugfs.
 *
 * plait/decisions is a queue: reading takes records out. It is off until the module parameter
 * log_decisions is set; decisions that find it full are counted in plait/counters.
 */
#include <linux/debugfs.h>
#include <linux/kfifo.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>

#include "engine.h"

/* A power of two, as kfifo wants it: some 50,000 decisions over two paths. */
#define LOG_BYTES	(16 << 20)

/* The paths follow: crates/plait-capture/src/decisions.rs reads it. Times are the wall clock's. */
struct record_head {
	s64	time;
	u32	paths;
	u32	unused;
	struct plait_decision decision;
	struct plait_connection connection;
};

static bool log_decisions;
module_param(log_decisions, bool, 0644);
MODULE_PARM_DESC(log_decisions, "Record every decision for debugfs' plait/decisions");

static DEFINE_SPINLOCK(log_lock);
static struct kfifo log_fifo;
static void *log_buffer;
static struct dentry *log_dir;
static u64 dropped, counts[PLAIT_PENALIZE + 1];

static const char * const kind_names[] = {
	[PLAIT_WAIT] = "wait",
	[PLAIT_ASSIGN] = "assign",
	[PLAIT_REINJECT] = "reinject",
	[PLAIT_RECALL] = "recall",
	[PLAIT_LIMIT] = "limit",
	[PLAIT_PENALIZE] = "penalize",
};

static void record(u64 now, const struct plait_decision *decision,
		   const struct plait_facts *facts)
{
	size_t paths_bytes = facts->count * sizeof(facts->paths[0]);
	struct record_head head = {
		.time = ktime_mono_to_real(now),
		.paths = facts->count,
		.decision = *decision,
		.connection = facts->connection,
	};

	if (decision->kind == PLAIT_WAIT && decision->amount)
		head.decision.amount = ktime_mono_to_real(decision->amount);
	if (kfifo_avail(&log_fifo) < sizeof(head) + paths_bytes) {
		dropped++;
		return;
	}
	kfifo_in(&log_fifo, &head, sizeof(head));
	kfifo_in(&log_fifo, facts->paths, paths_bytes);
}

void plait_log(u64 now, const struct plait_decision *decision, const struct plait_facts *facts)
{
	spin_lock_bh(&log_lock);
	counts[decision->kind]++;
	if (log_decisions)
		record(now, decision, facts);
	spin_unlock_bh(&log_lock);
}

static ssize_t decisions_read(struct file *file, char __user *to, size_t length, loff_t *position)
{
	char chunk[256];
	size_t done = 0;

	while (done < length) {
		unsigned int got;

		spin_lock_bh(&log_lock);
		got = kfifo_out(&log_fifo, chunk, min(sizeof(chunk), length - done));
		spin_unlock_bh(&log_lock);
		if (!got)
			break;
		if (copy_to_user(to + done, chunk, got))
			return -EFAULT;
		done += got;
	}
	*position += done;
	return done;
}

static const struct file_operations decisions_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = decisions_read,
};

static int counters_show(struct seq_file *file, void *unused)
{
	unsigned int kind;

	for (kind = 0; kind < ARRAY_SIZE(counts); kind++)
		seq_printf(file, "%s %llu\n", kind_names[kind], counts[kind]);
	seq_printf(file, "dropped %llu\n", dropped);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

int plait_log_init(void)
{
	BUILD_BUG_ON(sizeof(struct record_head) != 80);
	BUILD_BUG_ON(sizeof(struct plait_path) != 104);
	log_buffer = kvmalloc(LOG_BYTES, GFP_KERNEL);
	if (!log_buffer)
		return -ENOMEM;
	kfifo_init(&log_fifo, log_buffer, LOG_BYTES);
	log_dir = debugfs_create_dir("plait", NULL);
	debugfs_create_file("decisions", 0400, log_dir, NULL, &decisions_fops);
	debugfs_create_file("counters", 0444, log_dir, NULL, &counters_fops);
	return 0;
}

void plait_log_exit(void)
{
	debugfs_remove(log_dir);
	kvfree(log_buffer);
	log_buffer = NULL;
}
