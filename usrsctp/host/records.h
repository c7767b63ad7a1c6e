/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Requests of the caller on standard input, and records for it on standard output. */
#ifndef RECORDS_H
#define RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_kind {
	END = 0, /* u64: time of the next timer */
	SENT = 1, /* an IPv4 packet leaves */
	DELIVERED = 2, /* u64: payload bytes that the far end's application has read so far */
	STATES = 3, /* u64 timeouts, u64 peer's window, then struct path_state of each path */
	FAILED = 4, /* the reason in words */
	DECIDE = 5, /* plait_connection, a plait_path each; the caller answers plait_decision */
	EVENT = 6, /* plait_event, then as in DECIDE; without an answer */
};

/* Ends the program with the reason of errno. */
_Noreturn void die(const char *what);
void put(const void *bytes, size_t length);
void put_head(enum record_kind kind, size_t length);
void put_number(enum record_kind kind, uint64_t value);
/* Hands everything to the caller. */
void put_flush(void);
/* Reads the caller's bytes. Returns false at the end of the input. */
bool get(void *to, size_t length);

#endif
