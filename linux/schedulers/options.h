/* SPDX-License-Identifier: GPL-2.0-only */
/* A scheduler with its options, as the engine uses it: the options act around any algorithm, which
 * does not know of them. The state has plait_state_size() bytes, aligned for u64.
 */
#ifndef PLAIT_OPTIONS_H
#define PLAIT_OPTIONS_H

#include "plait.h"

/* Bytes of state that a connection needs. */
size_t plait_state_size(const struct plait_algorithm *algorithm);

/* The needs with the present parameters. */
u32 plait_needs(const struct plait_algorithm *algorithm);

/* Reads the present parameters; the state need not be zeroed. */
void plait_init(const struct plait_algorithm *algorithm, void *state);

struct plait_decision plait_decide(const struct plait_algorithm *algorithm, void *state, u64 now,
				   const struct plait_connection *connection,
				   const struct plait_path *paths, unsigned int count);

/* The facts already contain the event. */
void plait_on_event(const struct plait_algorithm *algorithm, void *state,
		    const struct plait_event *event, const struct plait_connection *connection,
		    const struct plait_path *paths, unsigned int count);

/* The options' parameters, ended by NULL. */
extern struct plait_parameter *const plait_option_parameters[];

#endif
