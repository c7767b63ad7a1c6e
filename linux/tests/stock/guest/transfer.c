// SPDX-License-Identifier: GPL-2.0
/* MPTCP transfers of files, for tests in a guest.
 *
 *   transfer serve|serve-tcp PORT PROGRAM [ARGUMENT...]
 *	Runs the program for each connection, with the socket as its standard input and output.
 *
 *   transfer send ADDRESS PORT FILE BYTES ANSWER [CONNECTIONS [AT_ONCE]]
 *	Sends the first BYTES of FILE over each connection, then reads the server's answer, which
 *	must begin with ANSWER. Prints facts of the connections as a JSON object. Exits with 1 if a
 *	connection failed or an answer was wrong.
 *
 *   transfer blocks FROM TO PORT BLOCK MICROSECONDS SECONDS
 *	Writes blocks of BLOCK bytes for SECONDS, one each MICROSECONDS; 0: as fast as possible.
 *	Prints the server's answer.
 *
 *   transfer feed FILE PARAMETER
 *	Writes the lines of FILE into a file of sysfs: whole lines, a page at a time.
 *
 *   transfer receive BLOCK SECONDS
 *	The program of such a server. Answers with goodput and delays of blocks, the inside of a
 *	JSON object. Both ends have the same clock.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mptcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif
#define PIECE 65536
#define LIMIT 120	/* seconds for a connection; one that stands still is a failure */

/* Shared by the processes that send. */
struct totals {
	long right;
	long wrong;		/* another answer: the server got other data */
	long failed;		/* an error, or no answer */
	long fallbacks;
	long subflows;		/* of connections that did not fall back */
	unsigned long long retransmitted;
};

static void die(const char *what)
{
	fprintf(stderr, "transfer: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_socket(int protocol)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		fprintf(stderr, "transfer: socket: %s\n", strerror(errno));
	return fd;
}

static struct sockaddr_in address(const char *host, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };

	if (host && inet_pton(AF_INET, host, &a.sin_addr) != 1)
		die(host);
	return a;
}

static void serve(int protocol, const char *port, char **program)
{
	struct sockaddr_in a = address(NULL, port);
	int one = 1, fd = open_socket(protocol);

	signal(SIGCHLD, SIG_IGN);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 512))
		die("bind");
	for (;;) {
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (client < 0)
			continue;
		if (fork() == 0) {
			signal(SIGCHLD, SIG_DFL);
			dup2(client, STDIN_FILENO);
			dup2(client, STDOUT_FILENO);
			execvp(program[0], program);
			die(program[0]);
		}
		close(client);
	}
}

/* Without MPTCP's information the connection is TCP. */
static void read_info(int fd, struct mptcp_info *info)
{
	socklen_t length = sizeof(*info);

	memset(info, 0, sizeof(*info));
	if (getsockopt(fd, SOL_MPTCP, MPTCP_INFO, info, &length))
		info->mptcpi_flags = MPTCP_INFO_FLAG_FALLBACK;
}

enum outcome { RIGHT, WRONG, FAILED };

static enum outcome send_once(const struct sockaddr_in *to, const char *data, size_t bytes,
			      const char *answer, struct totals *totals)
{
	char got[256] = "";
	size_t sent = 0, received = 0;
	enum outcome outcome = FAILED;
	struct mptcp_info info;
	int fd = open_socket(IPPROTO_MPTCP);

	if (fd < 0)
		return FAILED;
	errno = 0;
	alarm(LIMIT);
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)))
		goto out;
	while (sent < bytes) {
		ssize_t n = write(fd, data + sent, bytes - sent < PIECE ? bytes - sent : PIECE);

		if (n <= 0)
			goto out;
		sent += n;
	}
	read_info(fd, &info);
	if (info.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK)
		__sync_fetch_and_add(&totals->fallbacks, 1);
	else	/* The field does not count the first one. */
		__sync_fetch_and_add(&totals->subflows, info.mptcpi_subflows + 1);
	shutdown(fd, SHUT_WR);
	while (received < sizeof(got) - 1) {
		ssize_t n = read(fd, got + received, sizeof(got) - 1 - received);

		if (n <= 0)
			break;
		received += n;
	}
	read_info(fd, &info);
	__sync_fetch_and_add(&totals->retransmitted, info.mptcpi_bytes_retrans);
	if (received >= strlen(answer))
		outcome = strncmp(got, answer, strlen(answer)) ? WRONG : RIGHT;
out:
	alarm(0);
	if (outcome != RIGHT) {
		fprintf(stderr, "transfer: %zu of %zu bytes written, answer '%.*s': %s", sent, bytes,
			(int)strcspn(got, "\n"), got, strerror(errno));
		read_info(fd, &info);
		fprintf(stderr, "; %d more subflows, %lld bytes not acknowledged, flags %#x\n",
			info.mptcpi_subflows, (long long)(info.mptcpi_write_seq - info.mptcpi_snd_una),
			info.mptcpi_flags);
	}
	close(fd);
	return outcome;
}

static const char *mapped(const char *name, size_t bytes)
{
	int fd = open(name, O_RDONLY);
	struct stat stat;
	const char *data;

	if (fd < 0 || fstat(fd, &stat))
		die(name);
	if ((size_t)stat.st_size < bytes) {
		fprintf(stderr, "transfer: %s: shorter than %zu bytes\n", name, bytes);
		exit(1);
	}
	data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (data == MAP_FAILED)
		die(name);
	return data;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Interrupts a call that waits. */
static void on_alarm(int signal)
{
	(void)signal;
}

static int send_all(char **v, int arguments)
{
	long connections = arguments > 5 ? atol(v[5]) : 1, at_once = arguments > 6 ? atol(v[6]) : 1;
	struct sockaddr_in to = address(v[0], v[1]);
	size_t bytes = strtoul(v[3], NULL, 10);
	const char *data = mapped(v[2], bytes);
	struct totals *totals;
	double begin;
	long i;

	totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (totals == MAP_FAILED)
		die("mmap");
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm }, NULL);
	begin = now();
	for (i = 0; i < at_once; i++) {
		long share = connections / at_once + (i < connections % at_once);

		pid_t child = fork();

		if (child < 0)
			__sync_fetch_and_add(&totals->failed, share);
		if (child != 0)
			continue;
		while (share--) {
			switch (send_once(&to, data, bytes, v[4], totals)) {
			case RIGHT:
				__sync_fetch_and_add(&totals->right, 1);
				break;
			case WRONG:
				__sync_fetch_and_add(&totals->wrong, 1);
				break;
			case FAILED:
				__sync_fetch_and_add(&totals->failed, 1);
				break;
			}
		}
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	printf("{\"connections\": %ld, \"right\": %ld, \"wrong\": %ld, \"failed\": %ld, ", connections,
	       totals->right, totals->wrong, totals->failed);
	printf("\"bytes\": %zu, \"seconds\": %.3f, \"fallbacks\": %ld, ", bytes, now() - begin,
	       totals->fallbacks);
	printf("\"subflows\": %ld, \"retransmitted\": %llu}\n", totals->subflows,
	       totals->retransmitted);
	return totals->right != connections;
}

/* Begins a block: the time at which it is due. */
struct stamp {
	double due;
	double began;	/* of the connection */
};

static void write_whole(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n <= 0)
			die("write");
		data += n;
		size -= n;
	}
}

static int send_blocks(char **v)
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

static int receive_blocks(char **v)
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

static int feed(char **v)
{
	static char page[4095];
	int from = open(v[0], O_RDONLY), to = open(v[1], O_WRONLY);
	size_t filled = 0, whole;
	ssize_t n;

	if (from < 0 || to < 0)
		die(from < 0 ? v[0] : v[1]);
	while ((n = read(from, page + filled, sizeof(page) - filled)) > 0) {
		const char *end = memrchr(page, '\n', filled += n);

		if (!end)	/* a line longer than a page */
			return 1;
		whole = end + 1 - page;
		write_whole(to, page, whole);
		memmove(page, page + whole, filled -= whole);
	}
	return filled || n;
}

int main(int count, char **v)
{
	if (count >= 4 && !strcmp(v[1], "serve"))
		serve(IPPROTO_MPTCP, v[2], v + 3);
	if (count >= 4 && !strcmp(v[1], "serve-tcp"))
		serve(IPPROTO_TCP, v[2], v + 3);
	if (count >= 7 && !strcmp(v[1], "send"))
		return send_all(v + 2, count - 2);
	if (count == 8 && !strcmp(v[1], "blocks"))
		return send_blocks(v + 2);
	if (count == 4 && !strcmp(v[1], "feed"))
		return feed(v + 2);
	if (count == 4 && !strcmp(v[1], "receive"))
		return receive_blocks(v + 2);
	fprintf(stderr, "usage: transfer serve|serve-tcp PORT PROGRAM... | "
		"transfer send ADDRESS PORT FILE BYTES ANSWER [CONNECTIONS [AT_ONCE]] | "
		"transfer blocks FROM TO PORT BLOCK MICROSECONDS SECONDS | "
		"transfer feed FILE PARAMETER | transfer receive BLOCK SECONDS\n");
	return 2;
}
