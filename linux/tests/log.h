/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of debugfs, kfifo and the like that the decision log needs. */
#ifndef PLAIT_TEST_LOG_H
#define PLAIT_TEST_LOG_H

#include "kernel.h"

struct dentry;
struct file;
struct seq_file;
struct kernel_param;

struct file_operations {
	void	*owner;
	int	(*open)(void);
	ssize_t	(*read)(struct file *file, char *to, size_t length, loff_t *position);
};

struct kernel_param_ops {
	int	(*set)(const char *text, const struct kernel_param *kp);
	void	*get;
};

struct kfifo {
	struct {
		size_t	mask, in, out;
		char	*data;
	} kfifo;
};

#define simple_open			NULL
#define param_get_bool			NULL
#define DEFINE_SHOW_ATTRIBUTE(name)	static const struct file_operations name##_fops __used
#define debugfs_create_dir(...)		((struct dentry *)&test_now)
#define debugfs_create_file(name, mode, dir, data, fops)	((void)(fops))
#define debugfs_remove(dir)		((void)(dir))
#define seq_printf(file, ...)		((void)(file), (void)printf(__VA_ARGS__))
#define DEFINE_PER_CPU(type, name)	typeof(type) name
#define per_cpu(name, cpu)		((void)(cpu), name)
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define this_cpu_inc(counter)		((counter)++)
#define ktime_mono_to_real(time)	(time)
#define copy_to_user(to, from, bytes)	(memcpy(to, from, bytes), 0)

#define kfifo_initialized(fifo)		((fifo)->kfifo.mask)
#define kfifo_avail(fifo)	((fifo)->kfifo.mask + 1 - ((fifo)->kfifo.in - (fifo)->kfifo.out))

static inline int kfifo_init(struct kfifo *fifo, void *buffer, size_t size)
{
	assert(!(size & (size - 1)));
	fifo->kfifo.data = buffer;
	fifo->kfifo.mask = size - 1;
	return 0;
}

static inline void kfifo_in(struct kfifo *fifo, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		fifo->kfifo.data[fifo->kfifo.in++ & fifo->kfifo.mask] = ((const char *)from)[i];
}

static inline size_t kfifo_out(struct kfifo *fifo, void *to, size_t bytes)
{
	bytes = min(bytes, fifo->kfifo.in - fifo->kfifo.out);
	for (size_t i = 0; i < bytes; i++)
		((char *)to)[i] = fifo->kfifo.data[fifo->kfifo.out++ & fifo->kfifo.mask];
	return bytes;
}

#endif
