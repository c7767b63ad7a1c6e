/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The caller's scheduler behind the functions of plait_sched.h. */
#ifndef REMOTE_H
#define REMOTE_H

#include "plait_sched.h"

#include <stdint.h>

struct plait_scheduler {
	uint32_t there; /* 0: the stack's own turns */
	uint32_t interest; /* bits PLAIT_INTEREST_... */
};

extern struct plait_scheduler remote_scheduler;

#endif
