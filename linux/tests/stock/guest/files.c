// SPDX-License-Identifier: GPL-2.0
/* Files: the sender, and the program of a server that compares them. */
#define _GNU_SOURCE
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
#include <unistd.h>

#include "transfer.h"

#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif
#define PIECE 65536

/* Shared by the processes that send. */
struct totals {
	long right;
	long wrong;		/* another answer: the server got other data */
	long failed;		/* an error, or no answer */
	long fallbacks;
	long subflows;		/* of connections that did not fall back */
	long busy;		/* sockets that Linux refused once or more */
	unsigned long long retransmitted;
};

#define BUSY_LIMIT 1000	/* attempts, one each millisecond */

/* Opens a socket. While a module is being unloaded, Linux still finds its scheduler by name but
 * gets no reference to the module, and the socket fails with EBUSY (mptcp_init_sched). A program
 * meets this if the default scheduler is not changed first. The case that does so sets the
 * variable.
 */
static int open_while_unloaded(struct totals *totals)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);

	if (fd >= 0 || errno != EBUSY || !getenv("MODULE_IS_UNLOADED"))
		return fd;
	__sync_fetch_and_add(&totals->busy, 1);
	for (int i = 0; fd < 0 && errno == EBUSY && i < BUSY_LIMIT; i++) {
		usleep(1000);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
	}
	return fd;
}

/* Without MPTCP's information the connection is TCP. */
static void read_info(int fd, struct mptcp_info *info)
{
	socklen_t length = sizeof(*info);

	memset(info, 0, sizeof(*info));
	if (getsockopt(fd, SOL_MPTCP, MPTCP_INFO, info, &length))
		info->mptcpi_flags = MPTCP_INFO_FLAG_FALLBACK;
}

/* Waits until the server acknowledged data, or fell back. A server may fall back to TCP at the
 * first data. If the program shuts down before the client knows, MPTCP cuts off data that
 * waits (README.md).
 */
static bool wait_for_acknowledgement(int fd)
{
	struct mptcp_info info;

	for (int i = 0; i < LIMIT * 100; i++) {
		read_info(fd, &info);
		if (info.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK || info.mptcpi_bytes_acked)
			return true;
		usleep(10000);
	}
	return false;
}

enum outcome { RIGHT, WRONG, FAILED };

static enum outcome send_once(const struct sockaddr_in *to, const char *data, size_t bytes,
			      const char *answer, struct totals *totals)
{
	char got[256] = "";
	size_t sent = 0, received = 0;
	enum outcome outcome = FAILED;
	struct mptcp_info info;
	int fd = open_while_unloaded(totals);

	if (fd < 0) {
		fprintf(stderr, "transfer: socket: %s\n", strerror(errno));
		return FAILED;
	}
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
	if (!wait_for_acknowledgement(fd))
		goto out;
	shutdown(fd, SHUT_WR);
	while (received < sizeof(got) - 1) {
		ssize_t n = read(fd, got + received, sizeof(got) - 1 - received);

		if (n <= 0)
			break;
		received += n;
	}
	read_info(fd, &info);
	__sync_fetch_and_add(&totals->retransmitted, info.mptcpi_bytes_retrans);
	if (memchr(got, '\n', received))
		outcome = strcmp(strtok(got, "\n"), answer) ? WRONG : RIGHT;
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

/* Interrupts a call that waits. */
static void on_alarm(int signal)
{
	(void)signal;
}

int send_files(char **v, int arguments)
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
	printf("\"subflows\": %ld, \"busy\": %ld, \"retransmitted\": %llu}\n", totals->subflows,
	       totals->busy, totals->retransmitted);
	return totals->right != connections;
}

/* Where data occurs in the file, to tell duplicates, gaps and foreign data apart. */
static long occurs(const char *file, size_t size, const char *data, size_t length)
{
	const char *at = memmem(file, size, data, length);

	return at ? at - file : -1;
}

int compare(const char *name)
{
	int fd = open(name, O_RDONLY);
	static char piece[PIECE], differs[64];
	size_t received = 0, first = 0, kept = 0;
	struct stat stat;
	const char *file;
	ssize_t n;

	if (fd < 0 || fstat(fd, &stat))
		die(name);
	file = mmap(NULL, stat.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		die(name);
	while ((n = read(STDIN_FILENO, piece, sizeof(piece))) > 0) {
		size_t equal = 0, end = received + n;

		if (!kept) {
			while (received < end && received < (size_t)stat.st_size &&
			       piece[equal] == file[received])
				equal++, received++;
			first = received;
		}
		for (size_t i = equal; i < (size_t)n && kept < sizeof(differs);)
			differs[kept++] = piece[i++];
		received = end;
	}
	if (n < 0)
		die("read");
	if (kept)
		printf("%zu bytes, different from %zu on, where %zu bytes are those of %ld\n", received,
		       first, kept, occurs(file, stat.st_size, differs, kept));
	else
		printf("same %zu\n", received);
	return kept != 0;
}
