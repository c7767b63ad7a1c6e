/* The interface from C, under AddressSanitizer: errors, versions of structs, a scheduler of
 * callbacks in the conformance suite.
 */
#include "plait_sched.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(held) \
	do { \
		if (!(held)) { \
			fprintf(stderr, "%s:%d: %s; last message: %s\n", __FILE__, __LINE__, #held, plait_error_message()); \
			exit(1); \
		} \
	} while (0)

static int says(const char *part)
{
	return strstr(plait_error_message(), part) != NULL;
}

static plait_connection data(uint64_t segments)
{
	plait_connection connection;

	CHECK(plait_connection_init(&connection, sizeof connection) == PLAIT_OK);
	connection.unassigned = connection.window_left = segments;
	return connection;
}

static plait_path path(uint64_t srtt_ms, uint32_t cwnd)
{
	plait_path path;

	CHECK(plait_path_init(&path, sizeof path, 1448) == PLAIT_OK);
	path.srtt = srtt_ms * 1000000;
	path.cwnd = cwnd;
	return path;
}

/* The bits that the header names. An engine in C could not identify any other need. */
#define EVERY_NEED                                                                                                                       \
	(PLAIT_NEEDS_ASSIGN_AHEAD | PLAIT_NEEDS_RECALL | PLAIT_NEEDS_REINJECT | PLAIT_NEEDS_LIMIT | PLAIT_NEEDS_PENALIZE |                  \
	 PLAIT_NEEDS_MESSAGES | PLAIT_NEEDS_SHORTEST_FIRST | PLAIT_NEEDS_UNCARRIED | PLAIT_NEEDS_REPAIR)
#define EVERY_INTEREST (PLAIT_INTEREST_SENT | PLAIT_INTEREST_ACKED)

static void every_scheduler_is_made_asked_told_and_freed(void)
{
	plait_path paths[] = { path(50, 10), path(20, 4) };
	plait_connection connection = data(8);
	uint32_t count = 0;

	for (; plait_scheduler_name(count) != NULL; count++) {
		plait_scheduler *scheduler;
		plait_decision decision = { .size = sizeof decision, .kind = 99 };
		plait_event event = { .size = sizeof event, .kind = PLAIT_EVENT_TIMEOUT, .path = 1 };

		CHECK(plait_scheduler_new(plait_scheduler_name(count), &scheduler) == PLAIT_OK);
		CHECK(plait_scheduler_on_event(scheduler, &event, &connection, paths, 2) == PLAIT_OK);
		CHECK(plait_scheduler_decide(scheduler, 1, &connection, paths, 2, &decision) == PLAIT_OK);
		CHECK(decision.kind <= PLAIT_DEFER && decision.size == sizeof decision);
		CHECK((plait_scheduler_needs(scheduler) & ~EVERY_NEED) == 0 && (plait_scheduler_interest(scheduler) & ~EVERY_INTEREST) == 0);
		plait_scheduler_free(scheduler);
	}
	CHECK(count >= 8);
}

static void parameters_are_typed_and_errors_name_the_choices(void)
{
	plait_scheduler *scheduler;
	plait_path paths[] = { path(50, 10), path(20, 10) };
	plait_connection connection = data(8);
	plait_decision decision = { .size = sizeof decision };

	CHECK(plait_scheduler_new("round-robin+rp:segments=3:cwnd_limited=false", &scheduler) == PLAIT_OK);
	CHECK(plait_scheduler_needs(scheduler) == (PLAIT_NEEDS_REINJECT | PLAIT_NEEDS_PENALIZE));
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, paths, 2, &decision) == PLAIT_OK);
	CHECK(decision.kind == PLAIT_ASSIGN && decision.segments == 3);
	plait_scheduler_free(scheduler);

	CHECK(plait_scheduler_new("lowest-rrt", &scheduler) == PLAIT_ERROR_SCHEDULER && scheduler == NULL);
	CHECK(says("unknown scheduler \"lowest-rrt\": choose round-robin"));
	CHECK(plait_scheduler_new("round-robin:segments=many", &scheduler) == PLAIT_ERROR_SCHEDULER);
	CHECK(says("a whole number from"));
	CHECK(plait_scheduler_new("round-robin:segments", &scheduler) == PLAIT_ERROR_SCHEDULER);
	CHECK(says("expected NAME:parameter=value"));
	CHECK(plait_scheduler_new("\xff", &scheduler) == PLAIT_ERROR_ARGUMENT && says("UTF-8"));
	CHECK(plait_scheduler_new(NULL, &scheduler) == PLAIT_ERROR_ARGUMENT);
	CHECK(plait_scheduler_new("daps", NULL) == PLAIT_ERROR_ARGUMENT);
	plait_scheduler_free(NULL);
}

/* Two paths, the cheap one full: mp-dash knows its rate, and uses the other path only if the
 * deadline requires it.
 */
static void messages_get_across(void)
{
	plait_path paths[] = { path(20, 10), path(50, 10) };
	plait_connection connection = data(8);
	plait_decision decision = { .size = sizeof decision };
	plait_event acked = { .size = sizeof acked, .kind = PLAIT_EVENT_ACKED, .segments = 10 };
	plait_scheduler *scheduler;

	paths[0].in_flight = 10;
	paths[1].cost = 1;
	connection.has_message = 1;
	connection.message_left = 8;
	connection.streams = 1;
	CHECK(plait_scheduler_new("mp-dash", &scheduler) == PLAIT_OK);
	CHECK(plait_scheduler_needs(scheduler) & PLAIT_NEEDS_MESSAGES);
	connection.message_deadline = connection.due = 3600ull * 1000000000;
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, paths, 2, &decision) == PLAIT_OK);
	CHECK(plait_scheduler_on_event(scheduler, &acked, &connection, paths, 2) == PLAIT_OK);
	CHECK(plait_scheduler_decide(scheduler, 30000000, &connection, paths, 2, &decision) == PLAIT_OK);
	CHECK(decision.kind == PLAIT_WAIT);
	connection.message_number = 1;
	connection.message_deadline = connection.due = 30000001;
	CHECK(plait_scheduler_decide(scheduler, 30000000, &connection, paths, 2, &decision) == PLAIT_OK);
	CHECK(decision.kind == PLAIT_ASSIGN && decision.path == 1);
	connection.message_priority = 256;
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, paths, 2, &decision) == PLAIT_ERROR_ARGUMENT);
	CHECK(says("message_priority"));
	plait_scheduler_free(scheduler);

	CHECK(plait_scheduler_new("srpt", &scheduler) == PLAIT_OK);
	CHECK(plait_scheduler_needs(scheduler) & PLAIT_NEEDS_SHORTEST_FIRST);
	plait_scheduler_free(scheduler);
}

static void bad_facts_are_refused_and_the_scheduler_lives_on(void)
{
	plait_path paths[] = { path(50, 10), path(20, 10) };
	plait_connection connection = data(8), oldest = data(8);
	plait_decision decision = { .size = sizeof decision, .kind = 99 };
	plait_event event = { .size = sizeof event, .kind = PLAIT_EVENT_TIMEOUT, .path = 2 };
	plait_scheduler *scheduler;

	CHECK(plait_scheduler_new("lowest-rtt", &scheduler) == PLAIT_OK);
	CHECK(plait_scheduler_decide(NULL, 1, &connection, paths, 2, &decision) == PLAIT_ERROR_ARGUMENT);
	CHECK(plait_scheduler_decide(scheduler, 1, NULL, paths, 2, &decision) == PLAIT_ERROR_ARGUMENT);
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, NULL, 2, &decision) == PLAIT_ERROR_ARGUMENT);
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, paths, 33, &decision) == PLAIT_ERROR_ARGUMENT);
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, paths, 2, NULL) == PLAIT_ERROR_ARGUMENT);
	CHECK(plait_scheduler_on_event(scheduler, &event, &connection, paths, 2) == PLAIT_ERROR_ARGUMENT);
	oldest.has_oldest = 1;
	oldest.oldest_path = 32;
	CHECK(plait_scheduler_decide(scheduler, 1, &oldest, paths, 2, &decision) == PLAIT_ERROR_ARGUMENT);
	paths[1].state = 4;
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, paths, 2, &decision) == PLAIT_ERROR_ARGUMENT);
	paths[1].state = PLAIT_PATH_ACTIVE;
	paths[1].mss = 0;
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, paths, 2, &decision) == PLAIT_ERROR_ARGUMENT && says("mss"));
	paths[1].mss = 1448;
	paths[1].size += 8;
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, paths, 2, &decision) == PLAIT_ERROR_SIZE);
	paths[1].size = paths[0].size;
	decision.size = 8;
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, paths, 2, &decision) == PLAIT_ERROR_SIZE);
	CHECK(decision.kind == 99);
	decision.size = sizeof decision;
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, paths, 0, &decision) == PLAIT_OK && decision.kind == PLAIT_WAIT);
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, paths, 2, &decision) == PLAIT_OK);
	CHECK(decision.kind == PLAIT_ASSIGN && decision.path == 1 && decision.segments == 8);
	plait_scheduler_free(scheduler);
}

/* A struct as a later version of the header might define it. */
struct longer_path {
	plait_path known;
	uint64_t more[3];
};

static void structs_of_an_earlier_version_are_understood(void)
{
	plait_path paths[] = { path(50, 10), path(20, 10) };
	plait_connection connection = data(8);
	plait_decision decision = { .size = sizeof decision };
	plait_scheduler *scheduler;

	/* The first version ended before the whole window: bytes behind its end are not read. */
	connection.size = offsetof(plait_connection, window);
	connection.window = 0;
	CHECK(plait_scheduler_new("blest", &scheduler) == PLAIT_OK);
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, paths, 2, &decision) == PLAIT_OK && decision.path == 1);
	plait_scheduler_free(scheduler);
	CHECK(plait_connection_init(&connection, offsetof(plait_connection, window)) == PLAIT_OK);
	CHECK(connection.window == 0);
}

static void structs_of_a_later_version_are_understood(void)
{
	struct longer_path *paths = calloc(2, sizeof *paths);
	struct {
		plait_decision known;
		uint64_t more;
	} decision = { .known.size = sizeof decision, .more = 7 };
	plait_connection connection = data(8);
	plait_scheduler *scheduler;

	CHECK(paths != NULL);
	for (unsigned i = 0; i < 2; i++) {
		paths[i].more[2] = 1;
		CHECK(plait_path_init(&paths[i].known, sizeof paths[i], 1448) == PLAIT_OK);
		CHECK(paths[i].more[2] == 0 && paths[i].known.ssthresh == PLAIT_NONE);
		paths[i].known.srtt = 50 - i;
		paths[i].known.cwnd = 3;
	}
	CHECK(plait_scheduler_new("lowest-rtt", &scheduler) == PLAIT_OK);
	CHECK(plait_scheduler_decide(scheduler, 1, &connection, &paths[0].known, 2, &decision.known) == PLAIT_OK);
	CHECK(decision.known.path == 1 && decision.known.segments == 3 && decision.more == 7);
	CHECK(plait_connection_init(&connection, 8) == PLAIT_ERROR_SIZE);
	plait_scheduler_free(scheduler);
	free(paths);
}

/* A scheduler in C: the open path with the shortest round trip takes one segment. Its only
 * parameter makes it break rules.
 */
struct shortest {
	int fault;
};

static int32_t create(void *context, const char *parameters, plait_traits *traits, void **state, char *message, uint32_t capacity)
{
	struct shortest *shortest = malloc(sizeof *shortest);

	(void)context;
	if (shortest == NULL)
		return PLAIT_ERROR_ARGUMENT;
	shortest->fault = 0;
	if (*parameters != '\0' && sscanf(parameters, "fault=%d", &shortest->fault) != 1) {
		snprintf(message, capacity, "unknown parameters \"%s\": choose fault", parameters);
		free(shortest);
		return PLAIT_ERROR_SCHEDULER;
	}
	traits->interest = 0;
	*state = shortest;
	return PLAIT_OK;
}

static int32_t decide(void *state, uint64_t now, const plait_connection *connection, const plait_path *paths, uint32_t count,
		      plait_decision *decision)
{
	const struct shortest *shortest = state;
	int active = 0;

	(void)now;
	if (shortest->fault == 3)
		return 77;
	if (shortest->fault == 2 || connection->unassigned == 0 || connection->window_left == 0)
		return PLAIT_OK;
	for (uint32_t i = 0; i < count; i++)
		active |= paths[i].state == PLAIT_PATH_ACTIVE;
	for (uint32_t i = 0; i < count; i++) {
		const plait_path *path = &paths[i];
		uint64_t taken = (uint64_t)path->in_flight + path->lost + path->queued;

		if (path->state != (active ? PLAIT_PATH_ACTIVE : PLAIT_PATH_BACKUP))
			continue;
		if (path->in_recovery || taken >= path->cwnd)
			continue;
		if (decision->kind == PLAIT_ASSIGN && path->srtt >= paths[decision->path].srtt)
			continue;
		decision->kind = shortest->fault == 4 ? 42 : PLAIT_ASSIGN;
		decision->path = i;
		decision->segments = shortest->fault == 1 ? UINT32_MAX : 1;
	}
	return PLAIT_OK;
}

static void schedulers_in_c_are_held_against_the_rules(void)
{
	plait_scheduler_class class = {
		.size = sizeof class, .name = "shortest", .create = create, .destroy = free, .decide = decide
	};
	plait_conformance_options options = { .size = sizeof options, .cases = 50 };
	plait_conformance_report report = { .size = sizeof report };

	CHECK(plait_conformance_check(&class, NULL, &options, &report) == PLAIT_OK);
	CHECK(report.cases == 50 && report.decisions > report.segments && report.segments > 1000);
	CHECK(plait_conformance_check(&class, "fault=1", &options, NULL) == PLAIT_ERROR_CONFORMANCE);
	CHECK(says("it must not assign more than the data queue holds"));
	CHECK(plait_conformance_check(&class, "fault=2", &options, NULL) == PLAIT_ERROR_CONFORMANCE);
	CHECK(says("it must assign something"));
	CHECK(plait_conformance_check(&class, "fault=3", &options, NULL) == PLAIT_ERROR_CALLBACK && says("error 77"));
	CHECK(plait_conformance_check(&class, "fault=4", &options, NULL) == PLAIT_ERROR_CALLBACK && says("42"));
	CHECK(plait_conformance_check(&class, "faults", &options, NULL) == PLAIT_ERROR_CALLBACK && says("choose fault"));
	class.decide = NULL;
	CHECK(plait_conformance_check(&class, NULL, &options, NULL) == PLAIT_ERROR_ARGUMENT);
	CHECK(plait_conformance_check(NULL, NULL, &options, NULL) == PLAIT_ERROR_ARGUMENT);
}

int main(void)
{
	CHECK(plait_sched_version() >= PLAIT_SCHED_VERSION);
	every_scheduler_is_made_asked_told_and_freed();
	parameters_are_typed_and_errors_name_the_choices();
	messages_get_across();
	bad_facts_are_refused_and_the_scheduler_lives_on();
	structs_of_an_earlier_version_are_understood();
	structs_of_a_later_version_are_understood();
	schedulers_in_c_are_held_against_the_rules();
	puts("the C interface keeps what its header says");
	return 0;
}
