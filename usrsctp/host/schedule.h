/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A scheduler of plait_sched.h as path scheduler of the stack. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdint.h>

struct sctp_tcb;
struct plait_scheduler;

/* Lets the scheduler choose the destination of each chunk of an association. */
void schedule_start(struct sctp_tcb *stcb, struct plait_scheduler *scheduler);
/* The time until which the scheduler waits, or UINT64_MAX. */
uint64_t schedule_next_timer(void);
/* Asks the scheduler if that time has come. */
void schedule_run_timer(void);

#endif
