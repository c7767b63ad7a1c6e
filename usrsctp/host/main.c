// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Both ends of one association, in virtual time. The caller writes requests to standard input and
 * reads the answer to each from standard output. It decides when every packet arrives.
 *
 * usrsctp KEY=VALUE ...
 *
 * PLAIT_USRSCTP_CORRECT in the environment names corrections of the stack, as NAME,... or "all".
 *
 * All numbers are little-endian. A request is { u64 time; u32 kind; u32 length; } and as many
 * bytes. Timers that are due at its time run first, except for STATE. The answer consists of
 * records { u32 kind; u32 length; } with as many bytes. END is the last one.
 */
#include "plait.h"
#include "records.h"
#include "remote.h"
#include "schedule.h"
#include "stack.h"
#include "world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <usrsctp.h>

enum request_kind {
	WAKE = 0, /* nothing but the timers */
	PACKET = 1, /* an IPv4 packet arrives */
	WRITE = 2, /* u64: payload bytes that the near application writes; all ones: endless */
	STATE = 3, /* asks for STATES */
};

struct request {
	uint64_t time;
	uint32_t kind;
	uint32_t length;
};

#define MOST_BYTES 65536
#define NEAR_PORT 5000
#define FAR_PORT 5001
#define ENDLESS UINT64_MAX

static struct {
	uint32_t message; /* payload bytes of a full DATA chunk */
	uint32_t receive_buffer;
	uint32_t send_buffer;
	struct socket *near, *listening, *far;
	uint64_t unsent;
	uint64_t delivered;
	bool failed;
} run;

static uint8_t buffer[MOST_BYTES];

void plait_transmit(const struct iovec *parts, int count)
{
	size_t length = 0;
	int i;

	for (i = 0; i < count; i++)
		length += parts[i].iov_len;
	put_head(SENT, length);
	for (i = 0; i < count; i++)
		put(parts[i].iov_base, parts[i].iov_len);
}

static void fail(const char *what)
{
	if (run.failed)
		return;
	run.failed = true;
	put_head(FAILED, strlen(what));
	put(what, strlen(what));
}

static const struct setting {
	const char *name; /* as below net.inet.sctp of FreeBSD */
	int (*set)(uint32_t value);
} settings[] = {
	{ "assoc_rtx_max", usrsctp_sysctl_set_sctp_assoc_rtx_max_default },
	{ "cmt_on_off", usrsctp_sysctl_set_sctp_cmt_on_off },
	{ "cmt_use_dac", usrsctp_sysctl_set_sctp_cmt_use_dac },
	{ "delayed_sack_time", usrsctp_sysctl_set_sctp_delayed_sack_time_default },
	{ "heartbeat_interval", usrsctp_sysctl_set_sctp_heartbeat_interval_default },
	{ "initial_cwnd", usrsctp_sysctl_set_sctp_initial_cwnd },
	{ "maxburst", usrsctp_sysctl_set_sctp_max_burst_default },
	{ "fr_maxburst", usrsctp_sysctl_set_sctp_fr_max_burst_default },
	{ "path_pf_threshold", usrsctp_sysctl_set_sctp_path_pf_threshold },
	{ "path_rtx_max", usrsctp_sysctl_set_sctp_path_rtx_max_default },
	{ "rto_initial", usrsctp_sysctl_set_sctp_rto_initial_default },
	{ "rto_max", usrsctp_sysctl_set_sctp_rto_max_default },
	{ "rto_min", usrsctp_sysctl_set_sctp_rto_min_default },
	{ "sack_freq", usrsctp_sysctl_set_sctp_sack_freq_default },
};

static const struct {
	const char *name;
	uint32_t *value;
} numbers[] = {
	{ "paths", &world.paths },
	{ "mtu", &world.mtu },
	{ "message", &run.message },
	{ "receive_buffer", &run.receive_buffer },
	{ "send_buffer", &run.send_buffer },
	{ "scheduler", &remote_scheduler.there },
	{ "interest", &remote_scheduler.interest },
};

static const struct setting *find_setting(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (strcmp(name, settings[i].name) == 0)
			return &settings[i];
	}
	return NULL;
}

/* Reads the arguments of the world, or those of the stack, which exist only after its start. */
static void configure(char **arguments, bool started)
{
	for (; *arguments != NULL; arguments++) {
		char *value = strchr(*arguments, '='), *end;
		const struct setting *setting;
		char name[64];
		bool known = false;
		uint64_t number;
		size_t i;

		if (value == NULL || (size_t)(value - *arguments) >= sizeof(name))
			goto wrong;
		memcpy(name, *arguments, (size_t)(value - *arguments));
		name[value - *arguments] = '\0';
		number = strtoull(value + 1, &end, 10);
		if (end == value + 1 || *end != '\0')
			goto wrong;
		if (strcmp(name, "seed") == 0) {
			if (!started)
				world.seed = number;
			continue;
		}
		if (number > UINT32_MAX)
			goto wrong;
		for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
			if (strcmp(name, numbers[i].name) == 0) {
				*numbers[i].value = (uint32_t)number;
				known = true;
			}
		}
		setting = find_setting(name);
		if (!known && (setting == NULL || (started && setting->set((uint32_t)number) < 0)))
			goto wrong;
		continue;
wrong:
		fprintf(stderr, "usrsctp: %s: no such setting or value\n", *arguments);
		exit(2);
	}
}

/* Rules of RFC 9260 instead of the stack's own. Each is a bit of patch 0005, or a setting. */
static const struct correction {
	const char *name;
	uint32_t bit;
	int (*set)(uint32_t value); /* another setting that belongs to it, and its value */
	uint32_t value;
} corrections[] = {
	{ "t3-restart", 0x001, NULL, 0 },
	{ "one-reduction", 0x002, NULL, 0 },
	{ "split-reports", 0x004, NULL, 0 },
	{ "payload-window", 0x008, usrsctp_sysctl_set_sctp_peer_chunk_oh, 0 },
	{ "one-exempt", 0x010, NULL, 0 },
	{ "four-packets", 0x020, NULL, 0 },
	{ "reordering", 0x040, NULL, 0 },
	{ "chunk-size", 0x080, NULL, 0 },
	{ "closed-window", 0x100, NULL, 0 },
	{ "old-sacks", 0x200, NULL, 0 },
	{ "halved-first", 0x400, NULL, 0 },
	{ "partial-bytes", 0x800, NULL, 0 },
	{ "pseudo-cumack", 0x1000, NULL, 0 },
	{ "whole-flight", 0x2000, NULL, 0 },
	{ "one-packet-growth", 0, usrsctp_sysctl_set_sctp_L2_abc_variable, 1 },
};

static bool is_in_list(const char *name, const char *list)
{
	size_t length = strlen(name);

	for (; *list != '\0'; list += strcspn(list, ",") + (strchr(list, ',') != NULL)) {
		if (strncmp(list, name, length) == 0 && (list[length] == ',' || list[length] == '\0'))
			return true;
	}
	return false;
}

static void correct(const char *list)
{
	size_t i, named = 1, known = 0;
	uint32_t bits = 0;
	const char *at;

	for (at = list; (at = strchr(at, ',')) != NULL; at++)
		named++;
	for (i = 0; i < sizeof(corrections) / sizeof(corrections[0]); i++) {
		const struct correction *one = &corrections[i];

		if (strcmp(list, "all") != 0 && !is_in_list(one->name, list))
			continue;
		known++;
		bits |= one->bit;
		if (one->set != NULL)
			one->set(one->value);
	}
	if (strcmp(list, "all") != 0 && known != named) {
		fprintf(stderr, "usrsctp: PLAIT_USRSCTP_CORRECT=%s: expected all, or some of:", list);
		for (i = 0; i < sizeof(corrections) / sizeof(corrections[0]); i++)
			fprintf(stderr, " %s", corrections[i].name);
		fprintf(stderr, "\n");
		exit(2);
	}
	usrsctp_sysctl_set_sctp_corrections(bits);
}

static struct socket *open_socket(enum end end, uint16_t port)
{
	struct socket *so = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	int buffers[] = { (int)run.send_buffer, (int)run.receive_buffer };
	struct sockaddr_in sin;
	const int on = 1;
	uint32_t path;

	if (so == NULL || usrsctp_set_non_blocking(so, 1) < 0)
		die("socket");
	/* An accepted socket inherits the buffers of the listening one. */
	if (usrsctp_setsockopt(so, SOL_SOCKET, SO_SNDBUF, &buffers[0], sizeof(int)) < 0 ||
	    usrsctp_setsockopt(so, SOL_SOCKET, SO_RCVBUF, &buffers[1], sizeof(int)) < 0 ||
	    usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof(on)) < 0)
		die("socket options");
	for (path = 0; path < world.paths; path++) {
		sin = world_address(path, end, port);
		if (usrsctp_bindx(so, (struct sockaddr *)&sin, 1, SCTP_BINDX_ADD_ADDR) < 0)
			die("bindx");
	}
	return so;
}

static void open_ends(void)
{
	struct sockaddr_in peer = world_address(0, FAR, FAR_PORT);

	run.listening = open_socket(FAR, FAR_PORT);
	if (usrsctp_listen(run.listening, 1) < 0)
		die("listen");
	run.near = open_socket(NEAR, NEAR_PORT);
	if (usrsctp_connect(run.near, (struct sockaddr *)&peer, sizeof(peer)) < 0 &&
	    errno != EINPROGRESS)
		die("connect");
	if (remote_scheduler.there != 0)
		schedule_start(stack_association(run.near), &remote_scheduler);
}

/* Writes as much as the send buffer takes: each message fills a DATA chunk, but the last. */
static void write_near(void)
{
	while (run.unsent > 0 && !run.failed) {
		size_t length = run.unsent < run.message ? (size_t)run.unsent : run.message;

		if (usrsctp_sendv(run.near, buffer, length, NULL, 0, NULL, 0, SCTP_SENDV_NOINFO,
				  0) < 0) {
			if (errno != EWOULDBLOCK && errno != EAGAIN && errno != ENOTCONN)
				fail(strerror(errno));
			return;
		}
		if (run.unsent != ENDLESS)
			run.unsent -= length;
	}
}

static void read_far(void)
{
	uint64_t before = run.delivered;

	if (run.far == NULL) {
		run.far = usrsctp_accept(run.listening, NULL, NULL);
		if (run.far == NULL)
			return;
		if (usrsctp_set_non_blocking(run.far, 1) < 0)
			die("accept");
	}
	for (;;) {
		static uint8_t read[MOST_BYTES];
		struct sctp_rcvinfo info;
		socklen_t from_length = 0, info_length = sizeof(info);
		unsigned int info_type;
		int flags = 0;
		ssize_t length = usrsctp_recvv(run.far, read, sizeof(read), NULL, &from_length,
					       &info, &info_length, &info_type, &flags);

		if (length <= 0)
			break;
		run.delivered += (uint64_t)length;
	}
	if (run.delivered != before)
		put_number(DELIVERED, run.delivered);
}

static void put_states(void)
{
	uint64_t counts[2] = { stack_timeouts(), stack_window(run.near) };
	struct path_state state;
	uint32_t path;

	put_head(STATES, sizeof(counts) + world.paths * sizeof(state));
	put(counts, sizeof(counts));
	for (path = 0; path < world.paths; path++) {
		if (stack_path(run.near, path, &state) < 0)
			memset(&state, 0, sizeof(state));
		put(&state, sizeof(state));
	}
}

/* Ends an answer. */
static void finish(void)
{
	uint64_t timer = stack_next_timer(), waits = schedule_next_timer();

	put_number(END, waits < timer ? waits : timer);
	put_flush();
}

static void handle(const struct request *request)
{
	static uint8_t body[MOST_BYTES];
	uint64_t bytes;

	if (request->length > sizeof(body) || !get(body, request->length))
		die("standard input");
	if (request->kind == STATE) {
		/* A look changes nothing. */
		put_states();
		finish();
		return;
	}
	world.now = request->time;
	stack_run_timers();
	schedule_run_timer();
	switch ((enum request_kind)request->kind) {
	case WAKE:
	case STATE:
		break;
	case PACKET:
		plait_receive(body, request->length);
		break;
	case WRITE:
		memcpy(&bytes, body, sizeof(bytes));
		run.unsent = bytes == ENDLESS ? ENDLESS : run.unsent + bytes;
		break;
	}
	read_far();
	write_near();
	finish();
}

static void debug(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
}

int main(int count, char **arguments)
{
	struct request request;
	const char *corrected;

	(void)count;
	configure(arguments + 1, false);
	usrsctp_init_nothreads(0, NULL, debug);
	/* Both ends are local, but their packets have checksums. Buffers bound the chunks. */
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	usrsctp_sysctl_set_sctp_max_chunks_on_queue(1 << 20);
	usrsctp_sysctl_set_sctp_ecn_enable(0);
	configure(arguments + 1, true);
	corrected = getenv("PLAIT_USRSCTP_CORRECT");
	if (corrected != NULL && *corrected != '\0')
		correct(corrected);
	if (!get(&request, sizeof(request)))
		return 0;
	/* The first request sets the clock: the association opens at its time. */
	world.now = request.time;
	open_ends();
	do {
		handle(&request);
	} while (get(&request, sizeof(request)));
	return 0;
}
