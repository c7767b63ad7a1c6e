// SPDX-License-Identifier: GPL-2.0-only
/* The decision log: the facts and the answer of each decision, as fixed records in debugfs.
 *
 * plait/decisions is a queue: reading takes records out. It is off, and takes no memory and no
 * lock, until the module parameter log_decisions is set. Decisions that find the queue full are
 * counted in plait/counters.
 */
#include <linux/debugfs.h>
#include <linux/kfifo.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>

#include "engine.h"

/* A power of two, as kfifo requires: some 50,000 decisions over two paths. */
#define LOG_BYTES	(16 << 20)

/* The format of a record. Those of format 0 had own_rtt in place of pacing_rate. */
#define FORMAT		1
/* Bytes of a path's facts. */
#define PATH_BYTES	offsetof(struct plait_path, own_rtt)

/* The paths follow this head; crates/plait-capture/src/decisions.rs reads the records. Times are
 * wall-clock times.
 */
struct record_head {
	s64	time;
	u16	paths;
	u16	format;
	u32	token;			/* of the connection */
	struct plait_decision decision;
	struct plait_connection connection;
};

static bool log_decisions;

static DEFINE_SPINLOCK(log_lock);
static struct kfifo log_fifo;		/* its buffer is NULL until it is needed */
static u64 dropped;
struct dentry *plait_debugfs;
static DEFINE_PER_CPU(u64 [PLAIT_PENALIZE + 1], counts);

static const char * const kind_names[] = {
	[PLAIT_WAIT] = "wait",
	[PLAIT_ASSIGN] = "assign",
	[PLAIT_REINJECT] = "reinject",
	[PLAIT_RECALL] = "recall",
	[PLAIT_LIMIT] = "limit",
	[PLAIT_PENALIZE] = "penalize",
};

static void record(const struct plait_socket *plait, const struct plait_decision *decision)
{
	const struct plait_facts *facts = &plait->facts;
	size_t paths_bytes = facts->count * PATH_BYTES;
	struct record_head head = {
		.time = ktime_mono_to_real(plait->now),
		.paths = facts->count,
		.format = FORMAT,
		.token = plait->token,
		.decision = *decision,
		.connection = facts->connection,
	};
	unsigned int i;

	if (decision->kind == PLAIT_WAIT && decision->amount)
		head.decision.amount = ktime_mono_to_real(decision->amount);
	spin_lock_bh(&log_lock);
	if (kfifo_avail(&log_fifo) < sizeof(head) + paths_bytes) {
		dropped++;
	} else {
		kfifo_in(&log_fifo, &head, sizeof(head));
		for (i = 0; i < facts->count; i++)
			kfifo_in(&log_fifo, &facts->paths[i], PATH_BYTES);
	}
	spin_unlock_bh(&log_lock);
}

void plait_log(const struct plait_socket *plait, const struct plait_decision *decision)
{
	this_cpu_inc(counts[decision->kind]);
	/* Pairs with log_begin(): a reader that sees it set also sees the buffer. */
	if (smp_load_acquire(&log_decisions))
		record(plait, decision);
}

/* Once allocated, the buffer stays, so that the records can still be read. */
static int log_begin(void)
{
	void *buffer;

	if (kfifo_initialized(&log_fifo))
		return 0;
	buffer = kvmalloc(LOG_BYTES, GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	return kfifo_init(&log_fifo, buffer, LOG_BYTES);
}

/* Parameters are set one at a time. The command line of a kernel with this module built in comes
 * too early for memory; plait_log_init() allocates then.
 */
static int set_log_decisions(const char *text, const struct kernel_param *kp)
{
	bool on;
	int error = kstrtobool(text, &on);

	if (!error && on && plait_debugfs)
		error = log_begin();
	if (error)
		return error;
	/* The buffer becomes visible before this does. */
	smp_store_release(&log_decisions, on);
	return 0;
}

static const struct kernel_param_ops log_decisions_ops = {
	.set = set_log_decisions,
	.get = param_get_bool,
};
module_param_cb(log_decisions, &log_decisions_ops, &log_decisions, 0644);
MODULE_PARM_DESC(log_decisions, "Record every decision for debugfs' plait/decisions");

static ssize_t decisions_read(struct file *file, char __user *to, size_t length, loff_t *position)
{
	char chunk[256];
	size_t done = 0;

	while (done < length) {
		unsigned int got;

		if (!kfifo_initialized(&log_fifo))
			break;
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
	int cpu;

	for (kind = 0; kind < ARRAY_SIZE(kind_names); kind++) {
		u64 count = 0;

		for_each_possible_cpu(cpu)
			count += per_cpu(counts, cpu)[kind];
		seq_printf(file, "%s %llu\n", kind_names[kind], count);
	}
	seq_printf(file, "dropped %llu\n", READ_ONCE(dropped));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

int plait_log_init(void)
{
	BUILD_BUG_ON(sizeof(struct record_head) != 88);
	BUILD_BUG_ON(PATH_BYTES != 112);
	if (log_decisions && log_begin())
		return -ENOMEM;
	plait_debugfs = debugfs_create_dir("plait", NULL);
	debugfs_create_file("decisions", 0400, plait_debugfs, NULL, &decisions_fops);
	debugfs_create_file("counters", 0444, plait_debugfs, NULL, &counters_fops);
	return 0;
}

void plait_log_exit(void)
{
	debugfs_remove(plait_debugfs);
	plait_debugfs = NULL;
	kvfree(log_fifo.kfifo.data);
	memset(&log_fifo, 0, sizeof(log_fifo));
}
