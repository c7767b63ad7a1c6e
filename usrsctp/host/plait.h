/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Replacements of clock, interfaces, sockets and random numbers for the patched stack.
 */
#ifndef PLAIT_H
#define PLAIT_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/uio.h>

/* The virtual time in nanoseconds. */
uint64_t plait_now(void);
/* The virtual time in the stack's format, with its resolution of a microsecond. */
int plait_timeval(struct timeval *tv);

/* The address of the interface of this index, from 1 on; 0 if there is none. */
int plait_address(uint32_t index, struct sockaddr_in *sin);
/* The index of the interface that sends to an address: each path is a network of its own. */
uint32_t plait_interface(const struct sockaddr *to);
/* The MTU of all interfaces. */
uint32_t plait_mtu(void);

/* Takes an IPv4 packet that the stack sends. */
void plait_transmit(const struct iovec *parts, int count);
/* Hands an IPv4 packet to the stack. */
void plait_receive(uint8_t *packet, size_t length);

/* Random numbers that follow from the seed. */
void plait_random(void *buffer, size_t size);

#endif
