/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between the kernels that the schedulers build with: 6.12 is the reference. */
#ifndef PLAIT_COMPAT_H
#define PLAIT_COMPAT_H

#include <linux/version.h>

/* 6.15 split get_subflow() into get_send() and get_retrans(). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define PLAIT_SPLIT_OPS 1
#endif

/* The time at which the timer of a subflow expires. linux/package/Kbuild looks at the headers. */
#if defined(PLAIT_TCP_TIMEOUT_EXPIRES)
#define plait_timer_expires(ssk)	tcp_timeout_expires(ssk)
#elif defined(PLAIT_ICSK_TIMEOUT)
#define plait_timer_expires(ssk)	icsk_timeout(inet_csk(ssk))
#else
#define plait_timer_expires(ssk)	(inet_csk(ssk)->icsk_timeout)
#endif

#endif
