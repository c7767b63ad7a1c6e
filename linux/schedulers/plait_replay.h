/* SPDX-License-Identifier: GPL-2.0-only */
/* Replays recorded calls of the schedulers in crates/plait-sched, and compares the answers.
 * The tests in the kernel and in user space include this file. The calls are lines of words:
 *
 * scheduler NAME		the following lines are about this one
 * default PARAMETER VALUE	the value of the parameter before it is set
 * refuse PARAMETER VALUE	the parameter cannot be set to this
 * set PARAMETER VALUE
 * begin COUNT NEEDS		a new connection with this many paths, all facts 0
 * connection FACT=VALUE ...	these facts of the connection changed
 * path ID FACT=VALUE ...	these facts of a path changed
 * event KIND PATH AMOUNT RTT RETRANSMISSION
 * decide NOW KIND PATH AMOUNT	the answer is the decision
 *
 * "none" stands for PLAIT_NONE and PLAIT_UNKNOWN.
 */
#ifndef PLAIT_REPLAY_H
#define PLAIT_REPLAY_H

#include "options.h"
#include "parameters.h"
#include "plait.h"

struct replay {
	const struct plait_algorithm *algorithm;
	struct plait_connection connection;
	struct plait_path paths[PLAIT_PATHS_MAX];
	unsigned int count;
	unsigned long connections;
	unsigned long events;
	unsigned long decisions;
	unsigned long call;		/* of this connection */
	char message[4096];		/* describes the differences, empty without */
	u64 state[PLAIT_STATE_SIZE / sizeof(u64)];
};

struct replay_fact {
	const char *name;
	u16 offset;
	u8 size;
};

#define REPLAY_FACT(_struct, _name) {				\
	.name = #_name,						\
	.offset = offsetof(struct _struct, _name),		\
	.size = sizeof_field(struct _struct, _name)		\
}

static const struct replay_fact replay_connection_facts[] = {
	REPLAY_FACT(plait_connection, unassigned),
	REPLAY_FACT(plait_connection, next_segment),
	REPLAY_FACT(plait_connection, window_left),
	REPLAY_FACT(plait_connection, window),
	REPLAY_FACT(plait_connection, send_buffer_left),
	REPLAY_FACT(plait_connection, oldest_unacked),
	REPLAY_FACT(plait_connection, oldest_carried),
	REPLAY_FACT(plait_connection, oldest_path),
	REPLAY_FACT(plait_connection, has_oldest),
	REPLAY_FACT(plait_connection, finished),
	{}
};

static const struct replay_fact replay_path_facts[] = {
	REPLAY_FACT(plait_path, in_flight),
	REPLAY_FACT(plait_path, queued),
	REPLAY_FACT(plait_path, cwnd),
	REPLAY_FACT(plait_path, ssthresh),
	REPLAY_FACT(plait_path, limit),
	REPLAY_FACT(plait_path, srtt),
	REPLAY_FACT(plait_path, rttvar),
	REPLAY_FACT(plait_path, latest_rtt),
	REPLAY_FACT(plait_path, own_rtt),
	REPLAY_FACT(plait_path, min_rtt),
	REPLAY_FACT(plait_path, delivery_rate),
	REPLAY_FACT(plait_path, pacing_rate),
	REPLAY_FACT(plait_path, forward_delay),
	REPLAY_FACT(plait_path, rto),
	REPLAY_FACT(plait_path, loss_ppm),
	REPLAY_FACT(plait_path, state),
	REPLAY_FACT(plait_path, in_recovery),
	REPLAY_FACT(plait_path, repairing),
	REPLAY_FACT(plait_path, mss),
	REPLAY_FACT(plait_path, cost),
	REPLAY_FACT(plait_path, weight),
	REPLAY_FACT(plait_path, uncarried),
	{}
};

/* In the order of enum plait_decision_kind and enum plait_event_kind. */
static const char *const replay_decisions[] = {
	"wait", "assign", "reinject", "recall", "limit", "penalize", NULL
};

static const char *const replay_events[] = {
	"sent", "acked", "lost", "timeout", "down", "up", NULL
};

/* Steps over a word and its separator, if the line continues with this word. */
static bool replay_word(const char **line, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*line, word, length))
		return false;
	switch ((*line)[length]) {
	case ' ':
	case '=':
		length++;
		break;
	case '\0':
		break;
	default:
		return false;
	}
	*line += length;
	return true;
}

/* Reads a number, or 0 where there is none, and steps over it and one space. */
static s64 replay_number(const char **line)
{
	bool negative = **line == '-';
	u64 number = 0;

	*line += negative;
	while (**line >= '0' && **line <= '9')
		number = 10 * number + *(*line)++ - '0';
	if (**line == ' ')
		(*line)++;
	return negative ? -number : number;
}

/* Steps over the word with which the line continues, and returns its index; -1 if it is none of
 * them.
 */
static int replay_choice(const char **line, const char *const *words)
{
	int i;

	for (i = 0; words[i]; i++)
		if (replay_word(line, words[i]))
			return i;
	return -1;
}

/* Reads a fact and steps over it; false if it is none of these. */
static bool replay_fact(const char **line, const struct replay_fact *facts, void *facts_of)
{
	const struct replay_fact *fact;
	void *at;
	s64 value;

	for (fact = facts; fact->name; fact++)
		if (replay_word(line, fact->name))
			break;
	if (!fact->name)
		return false;
	at = facts_of + fact->offset;
	if (replay_word(line, "none"))
		value = fact->size == sizeof(u32) ? PLAIT_NONE : PLAIT_UNKNOWN;
	else
		value = replay_number(line);
	if (fact->size == sizeof(u8))
		*(u8 *)at = value;
	else if (fact->size == sizeof(u32))
		*(u32 *)at = value;
	else
		*(u64 *)at = value;
	return true;
}

static struct plait_parameter *replay_parameter(const struct replay *replay, const char **line)
{
	struct plait_parameter *const *parameter;

	if (replay->algorithm->parameters)
		for (parameter = replay->algorithm->parameters; *parameter; parameter++)
			if (replay_word(line, (*parameter)->name))
				return *parameter;
	for (parameter = plait_option_parameters; *parameter; parameter++)
		if (replay_word(line, (*parameter)->name))
			return *parameter;
	return NULL;
}

/* Appends to the message as printf does. */
#define replay_say(_replay, ...) do {							\
	struct replay *_said = (_replay);						\
	size_t _length = strlen(_said->message);					\
											\
	scnprintf(_said->message + _length, sizeof(_said->message) - _length, __VA_ARGS__);	\
} while (0)

static void replay_facts(struct replay *replay, const char *line, const struct replay_fact *facts,
			 void *facts_of)
{
	while (*line) {
		if (!replay_fact(&line, facts, facts_of)) {
			replay_say(replay, "unknown fact: %s\n", line);
			return;
		}
	}
}

static void replay_say_parameters(struct replay *replay, struct plait_parameter *const *parameter)
{
	for (; parameter && *parameter; parameter++) {
		replay_say(replay, " %s=", (*parameter)->name);
		if ((*parameter)->words)
			replay_say(replay, "%s", (*parameter)->words[(*parameter)->value]);
		else
			replay_say(replay, "%u", (*parameter)->value);
	}
}

static void replay_say_facts(struct replay *replay, const struct replay_fact *facts,
			     const void *facts_of)
{
	const struct replay_fact *fact;
	const void *at;

	for (fact = facts; fact->name; fact++) {
		at = facts_of + fact->offset;
		if (fact->size == sizeof(u8))
			replay_say(replay, " %s=%u", fact->name, *(const u8 *)at);
		else if (fact->size == sizeof(u32))
			replay_say(replay, " %s=%u", fact->name, *(const u32 *)at);
		else
			replay_say(replay, " %s=%lld", fact->name, (long long)*(const u64 *)at);
	}
	replay_say(replay, "\n");
}

static void replay_say_decision(struct replay *replay, const char *whose,
				struct plait_decision decision)
{
	bool known = decision.kind <= PLAIT_PENALIZE;

	replay_say(replay, "%s: %s %u %llu\n", whose,
		   known ? replay_decisions[decision.kind] : "unknown", decision.path,
		   (unsigned long long)decision.amount);
}

static void replay_decide(struct replay *replay, const char *line)
{
	struct plait_decision expected = {}, decision;
	u64 now = replay_number(&line);
	unsigned int i;

	expected.kind = replay_choice(&line, replay_decisions);
	expected.path = replay_number(&line);
	expected.amount = replay_number(&line);
	decision = plait_decide(replay->algorithm, replay->state, now, &replay->connection,
				replay->paths, replay->count);
	replay->decisions++;
	replay->call++;
	if (decision.kind == expected.kind && decision.path == expected.path &&
	    decision.amount == expected.amount)
		return;
	replay_say(replay, "%s:", replay->algorithm->name);
	replay_say_parameters(replay, replay->algorithm->parameters);
	replay_say_parameters(replay, plait_option_parameters);
	replay_say(replay, "\nconnection %lu, call %lu, now %llu\n", replay->connections,
		   replay->call, (unsigned long long)now);
	replay_say_decision(replay, "expected", expected);
	replay_say_decision(replay, "decided ", decision);
	replay_say(replay, "connection:");
	replay_say_facts(replay, replay_connection_facts, &replay->connection);
	for (i = 0; i < replay->count; i++) {
		replay_say(replay, "path %u:", i);
		replay_say_facts(replay, replay_path_facts, &replay->paths[i]);
	}
}

static void replay_event(struct replay *replay, const char *line)
{
	struct plait_event event = {};

	event.kind = replay_choice(&line, replay_events);
	event.path = replay_number(&line);
	event.amount = replay_number(&line);
	event.rtt = replay_number(&line);
	event.retransmission = replay_number(&line);
	plait_on_event(replay->algorithm, replay->state, &event, &replay->connection,
		       replay->paths, replay->count);
	replay->events++;
	replay->call++;
}

static void replay_begin(struct replay *replay, const char *line)
{
	unsigned int i;
	u32 needs;

	replay->count = replay_number(&line);
	needs = replay_number(&line);
	memset(&replay->connection, 0, sizeof(replay->connection));
	memset(replay->paths, 0, sizeof(replay->paths));
	for (i = 0; i < replay->count; i++)
		replay->paths[i].id = i;
	if (plait_needs(replay->algorithm) != needs)
		replay_say(replay, "%s needs %#x, not %#x\n", replay->algorithm->name, needs,
			   plait_needs(replay->algorithm));
	plait_init(replay->algorithm, replay->state);
	replay->connections++;
	replay->call = 0;
}

static void replay_scheduler(struct replay *replay, const char *line)
{
	const struct plait_algorithm *const *algorithm;

	for (algorithm = plait_algorithms; *algorithm; algorithm++)
		if (!strcmp((*algorithm)->name, line))
			break;
	replay->algorithm = *algorithm;
	if (!replay->algorithm)
		replay_say(replay, "there is no scheduler %s\n", line);
	else if (plait_state_size(replay->algorithm) > PLAIT_STATE_SIZE)
		replay_say(replay, "the state of %s is too large\n", line);
	else if (strlen(replay->algorithm->kernel_name) > 15)
		replay_say(replay, "the kernel's name of %s is too long\n", line);
}

/* The action on a parameter. */
enum replay_setting { REPLAY_DEFAULT, REPLAY_REFUSE, REPLAY_SET };

static void replay_set(struct replay *replay, const char *line, enum replay_setting setting)
{
	struct plait_parameter *parameter = replay_parameter(replay, &line);
	unsigned int before;
	int error;

	if (!parameter) {
		replay_say(replay, "%s has no parameter %s\n", replay->algorithm->name, line);
		return;
	}
	before = parameter->value;
	error = plait_parameter_set(parameter, line);
	if (!error && setting == REPLAY_REFUSE)
		replay_say(replay, "%s can be %s\n", parameter->name, line);
	if (error && setting != REPLAY_REFUSE)
		replay_say(replay, "%s cannot be %s\n", parameter->name, line);
	if (setting != REPLAY_SET && parameter->value != before)
		replay_say(replay, "%s is not %s at first\n", parameter->name, line);
}

/* True if the line is as expected; otherwise the message describes the difference. */
static bool replay_line(struct replay *replay, const char *line)
{
	unsigned int path;

	if (replay_word(&line, "scheduler")) {
		replay_scheduler(replay, line);
	} else if (!replay->algorithm) {
		replay_say(replay, "no scheduler yet: %s\n", line);
	} else if (replay_word(&line, "default")) {
		replay_set(replay, line, REPLAY_DEFAULT);
	} else if (replay_word(&line, "refuse")) {
		replay_set(replay, line, REPLAY_REFUSE);
	} else if (replay_word(&line, "set")) {
		replay_set(replay, line, REPLAY_SET);
	} else if (replay_word(&line, "begin")) {
		replay_begin(replay, line);
	} else if (replay_word(&line, "connection")) {
		replay_facts(replay, line, replay_connection_facts, &replay->connection);
	} else if (replay_word(&line, "path")) {
		path = replay_number(&line) % PLAIT_PATHS_MAX;
		replay_facts(replay, line, replay_path_facts, &replay->paths[path]);
	} else if (replay_word(&line, "event")) {
		replay_event(replay, line);
	} else if (replay_word(&line, "decide")) {
		replay_decide(replay, line);
	} else {
		replay_say(replay, "unknown line: %s\n", line);
	}
	return !replay->message[0];
}

#endif
