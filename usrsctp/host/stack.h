/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stack beyond its public interface. */
#ifndef STACK_H
#define STACK_H

#include <stdint.h>

struct socket;
struct sctp_nets;
struct sctp_tcb;

/* The near end's state of a path; sizes in bytes. */
struct path_state {
	uint64_t srtt_us; /* 0: none yet */
	uint64_t cwnd;
	uint64_t ssthresh;
	uint64_t in_flight;
	uint64_t confirmed;
	uint64_t failed;
};

/* The association of a socket, or NULL. */
struct sctp_tcb *stack_association(struct socket *so);
/* The path of a destination. */
uint32_t stack_path_of(const struct sctp_nets *net);
/* Fills the state of a path. Returns a negative number if the association is gone. */
int stack_path(struct socket *so, uint32_t path, struct path_state *state);
/* The window that the peer has left, in bytes. */
uint64_t stack_window(struct socket *so);
/* The virtual time of the next timer, or UINT64_MAX. */
uint64_t stack_next_timer(void);
/* Runs the timers that are due. */
void stack_run_timers(void);
/* Timeouts of data so far. */
uint64_t stack_timeouts(void);

#endif
