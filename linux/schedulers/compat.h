/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between the kernels that the schedulers build with: 6.12 is the reference. */
#ifndef PLAIT_COMPAT_H
#define PLAIT_COMPAT_H

#include <linux/version.h>

/* 6.15 split get_subflow() into get_send() and get_retrans(). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define PLAIT_SPLIT_OPS 1
#endif

#endif
