// SPDX-License-Identifier: GPL-2.0
/* MPTCP transfers of files, for tests in a guest.
 *
 *   transfer serve|serve-tcp PORT PROGRAM [ARGUMENT...]
 *	Runs the program for each connection, with the socket as its standard input and output.
 *
 *   transfer send ADDRESS PORT FILE BYTES ANSWER [CONNECTIONS [AT_ONCE]]
 *	Sends the first BYTES of FILE over each connection, then reads the server's answer, a line
 *	that must be ANSWER. Prints facts of the connections as a JSON object. Exits with 1 if a
 *	connection failed or an answer was wrong.
 *
 *   transfer blocks FROM TO PORT BLOCK MICROSECONDS SECONDS
 *	Writes blocks of BLOCK bytes for SECONDS, one each MICROSECONDS; 0: as fast as possible.
 *	Prints the server's answer.
 *
 *   transfer begin ADDRESS PORT BYTES
 *	Connects and writes BYTES. Prints how many of them MPTCP has given to no subflow by then.
 *
 *   transfer feed FILE PARAMETER
 *	Writes the lines of FILE into a file of sysfs: whole lines, a page at a time.
 *
 *   transfer compare FILE
 *	The program of a server of files. Answers `same BYTES` if it received the first BYTES of
 *	FILE, otherwise where the data differs.
 *
 *   transfer receive BLOCK SECONDS
 *	The program of a server of blocks. Answers with goodput and delays of blocks, the inside of a
 *	JSON object. Both ends have the same clock.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "transfer.h"

void die(const char *what)
{
	fprintf(stderr, "transfer: %s: %s\n", what, strerror(errno));
	exit(1);
}

int open_socket(int protocol)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		fprintf(stderr, "transfer: socket: %s\n", strerror(errno));
	return fd;
}

struct sockaddr_in address(const char *host, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };

	if (host && inet_pton(AF_INET, host, &a.sin_addr) != 1)
		die(host);
	return a;
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

void write_whole(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n <= 0)
			die("write");
		data += n;
		size -= n;
	}
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

static int begin(char **v)
{
	struct sockaddr_in to = address(v[0], v[1]);
	size_t bytes = strtoul(v[2], NULL, 10);
	int fd = open_socket(IPPROTO_MPTCP), waits = -1;
	char *data = calloc(1, bytes);

	if (fd < 0 || !data)
		return 1;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die("connect");
	write_whole(fd, data, bytes);
	if (ioctl(fd, SIOCOUTQNSD, &waits))
		die("ioctl");
	printf("%d\n", waits);
	return 0;
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
		return send_files(v + 2, count - 2);
	if (count == 8 && !strcmp(v[1], "blocks"))
		return send_blocks(v + 2);
	if (count == 5 && !strcmp(v[1], "begin"))
		return begin(v + 2);
	if (count == 4 && !strcmp(v[1], "feed"))
		return feed(v + 2);
	if (count == 3 && !strcmp(v[1], "compare"))
		return compare(v[2]);
	if (count == 4 && !strcmp(v[1], "receive"))
		return receive_blocks(v + 2);
	fprintf(stderr, "usage: transfer serve|serve-tcp PORT PROGRAM... | "
		"transfer send ADDRESS PORT FILE BYTES ANSWER [CONNECTIONS [AT_ONCE]] | "
		"transfer blocks FROM TO PORT BLOCK MICROSECONDS SECONDS | "
		"transfer begin ADDRESS PORT BYTES | transfer feed FILE PARAMETER | "
		"transfer compare FILE | "
		"transfer receive BLOCK SECONDS\n");
	return 2;
}
