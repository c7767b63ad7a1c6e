/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Settings of the virtual network, and its addresses. */
#ifndef WORLD_H
#define WORLD_H

#include <stdint.h>
#include <stdio.h>

struct world {
	uint64_t now;
	uint64_t seed;
	uint32_t paths;
	uint32_t mtu;
};

extern struct world world;

enum end {
	NEAR = 1,
	FAR = 2,
};

/* The address of an end of a path: 10.0.path.end. */
struct sockaddr_in world_address(uint32_t path, enum end end, uint16_t port);

#endif
