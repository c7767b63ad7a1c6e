// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Clock, interfaces and random numbers. Both ends live in one stack: each path has two interfaces,
 * and only their addresses tell the ends apart.
 */
#include "plait.h"
#include "world.h"

#include <arpa/inet.h>
#include <string.h>

#define NSEC_PER_SEC 1000000000
#define NSEC_PER_USEC 1000

struct world world;

uint64_t plait_now(void)
{
	return world.now;
}

int plait_timeval(struct timeval *tv)
{
	tv->tv_sec = (time_t)(world.now / NSEC_PER_SEC);
	tv->tv_usec = (suseconds_t)(world.now % NSEC_PER_SEC / NSEC_PER_USEC);
	return 0;
}

struct sockaddr_in world_address(uint32_t path, enum end end, uint16_t port)
{
	struct sockaddr_in sin;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_port = htons(port);
	sin.sin_addr.s_addr = htonl(10u << 24 | path << 8 | (uint32_t)end);
	return sin;
}

int plait_address(uint32_t index, struct sockaddr_in *sin)
{
	uint32_t path = (index - 1) / 2;

	if (path >= world.paths)
		return 0;
	*sin = world_address(path, index % 2 ? NEAR : FAR, 0);
	return 1;
}

uint32_t plait_interface(const struct sockaddr *to)
{
	struct sockaddr_in sin;
	uint32_t address;

	memcpy(&sin, to, sizeof(sin));
	address = ntohl(sin.sin_addr.s_addr);
	/* The other end's interface on the same path. */
	return (address >> 8 & 0xff) * 2 + ((address & 0xff) == FAR ? NEAR : FAR);
}

uint32_t plait_mtu(void)
{
	return world.mtu;
}

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t next_random(void)
{
	uint64_t z = (world.seed += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

void plait_random(void *buffer, size_t size)
{
	size_t done, part;

	for (done = 0; done < size; done += part) {
		uint64_t value = next_random();

		part = size - done < sizeof(value) ? size - done : sizeof(value);
		memcpy((char *)buffer + done, &value, part);
	}
}
