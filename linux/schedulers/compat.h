/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between the kernels that the schedulers build with: 6.12 is the reference. */
#ifndef PLAIT_COMPAT_H
#define PLAIT_COMPAT_H

#include <linux/version.h>

/* 6.15 split get_subflow() into get_send() and get_retrans(), without the data that only said which of them. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define PLAIT_SPLIT_OPS 1
#endif

/* 6.15 renamed the conversion of timers to what contains them. */
#ifndef timer_container_of
#define timer_container_of(var, callback_timer, timer_fieldname) \
	container_of(callback_timer, typeof(*var), timer_fieldname)
#endif

#endif
