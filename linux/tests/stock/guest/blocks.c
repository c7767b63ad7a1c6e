// SPDX-License-Identifier: GPL-2.0
/* Blocks: the sender, and the program of a server that measures them. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "transfer.h"

/* Begins a block: the time at which it is due. */
struct stamp {
	double due;
	double began;	/* of the connection */
};

int send_blocks(char **v)
{
	struct sockaddr_in from = address(v[0], "0"), to = address(v[1], v[2]);
	size_t block = strtoul(v[3], NULL, 10);
	double interval = strtoul(v[4], NULL, 10) / 1e6, seconds = atof(v[5]);
	char *data = calloc(1, block < sizeof(struct stamp) ? sizeof(struct stamp) : block);
	struct stamp *stamp = (struct stamp *)data;
	int fd = open_socket(IPPROTO_MPTCP);
	char answer[4096];
	ssize_t n;

	alarm(LIMIT);
	stamp->began = now();
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die("connect");
	for (long i = 0;; i++) {
		stamp->due = interval ? stamp->began + i * interval : now();
		if (stamp->due >= stamp->began + seconds)
			break;
		if (interval) {
			struct timespec at = { .tv_sec = stamp->due };

			at.tv_nsec = (stamp->due - at.tv_sec) * 1e9;
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		}
		write_whole(fd, data, block);
	}
	shutdown(fd, SHUT_WR);
	while ((n = read(fd, answer, sizeof(answer))) > 0)
		write_whole(STDOUT_FILENO, answer, n);
	return n < 0;
}

static int ascending(const void *a, const void *b)
{
	return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b);
}

int receive_blocks(char **v)
{
	size_t block = strtoul(v[0], NULL, 10), filled = 0, blocks = 0, room = 1024;
	double seconds = atof(v[1]), sum = 0, *delays = malloc(room * sizeof(*delays));
	char *data = calloc(1, block < sizeof(struct stamp) ? sizeof(struct stamp) : block);
	const struct stamp *stamp = (const struct stamp *)data;
	unsigned long long bytes = 0;
	ssize_t n;

	while ((n = read(STDIN_FILENO, data + filled, block - filled)) > 0) {
		double moment = now();

		filled += n;
		/* The first bytes of a block tell when the connection began. */
		if (filled < sizeof(*stamp) || moment < stamp->began + seconds)
			bytes += n;
		if (filled < block)
			continue;
		filled = 0;
		if (blocks == room)
			delays = realloc(delays, (room *= 2) * sizeof(*delays));
		delays[blocks++] = moment - stamp->due;
		sum += moment - stamp->due;
	}
	qsort(delays, blocks, sizeof(*delays), ascending);
	printf("\"blocks\": %zu, \"goodput_bps\": %.0f", blocks, bytes * 8 / seconds);
	if (blocks)
		printf(", \"mean_ms\": %.3f, \"p95_ms\": %.3f", sum / blocks * 1e3,
		       delays[blocks * 95 / 100] * 1e3);
	printf("\n");
	return n < 0;
}
