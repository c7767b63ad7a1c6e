/* SPDX-License-Identifier: GPL-2.0-only */
/* The tests of both executors (engine.c), and the cases of each: ranges.c, fragments.c. */
#ifndef PLAIT_TEST_EXECUTOR_H
#define PLAIT_TEST_EXECUTOR_H

#include "model.h"

/* Bits of the options that a test sets. */
enum { PENALIZATION = 1, MITIGATION = 2 };

void set_options(unsigned int options);
const struct plait_algorithm *algorithm_of(const struct mptcp_sched_ops *ops);
/* Names the case, and begins a connection of the model. */
void begin_case(struct model *model, struct mptcp_sched_ops *ops, const char *name);
/* Random connections with these options. */
void connections(struct mptcp_sched_ops *ops, unsigned int options);
/* The network works again, and the application has written its last byte: all is acknowledged. */
void come_to_an_end(struct model *model);

/* Of the executor: the schedulers that it can run, the most options, and cases of a scheduler. */
extern const char *const executor_schedulers[];
extern const unsigned int executor_options;
void executor_cases(struct mptcp_sched_ops *ops);
/* Checks that a path misses a segment exactly if its facts say so. */
void executor_check(const struct model *model);

/* Checks the segments in flight and the queued ones (load.c). */
void check_load(const struct model *model);
/* Transmissions that followed another one over the same path. */
extern unsigned int transmissions_seen;

#endif
