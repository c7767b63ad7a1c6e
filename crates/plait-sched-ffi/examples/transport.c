/* A small transport in C around a scheduler: windows in bytes, two streams over one connection, a
 * path whose index is used again.
 *
 *     cargo build -p plait-sched-ffi
 *     cc -Icrates/plait-sched-ffi/include -o transport crates/plait-sched-ffi/examples/transport.c target/debug/libplait_sched_ffi.a -lpthread -ldl -lm
 *     ./transport lowest-rtt
 *
 * It gives the same results as examples/transport.rs of plait-sched, to the nanosecond; that file
 * explains the reasons. Memory is fixed.
 */
#include "plait_sched.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATHS 2
#define STREAMS 2
#define MSS 1200u
#define FIRST_WINDOW 12000u
#define LAST_WINDOW 48000u
#define RECEIVE_WINDOW 64u
#define MS UINT64_C(1000000)
/* The largest number of segments. */
#define MOST 1024u

struct segment {
	uint64_t number;
	unsigned stream;
	uint32_t bytes;
	uint64_t sent, acked;
};

/* A queue in a ring. */
struct queue {
	struct segment items[MOST];
	unsigned first, len;
};

struct way {
	uint64_t nanos_per_byte, delay, link_free, sent;
	uint32_t window, bytes_in_flight;
	struct queue queue, flight;
	plait_path facts;
};

static struct way ways[PATHS];
static plait_path facts[PATHS];
static plait_scheduler *scheduler;
static uint32_t interest;
static uint64_t unsent[STREAMS], missing[STREAMS], finished[STREAMS], next_number, sent_again;
static unsigned turn;
static struct queue returned;

static struct segment *at(struct queue *queue, unsigned index)
{
	return &queue->items[(queue->first + index) % MOST];
}

static void push(struct queue *queue, struct segment segment)
{
	*at(queue, queue->len++) = segment;
}

static struct segment pop(struct queue *queue)
{
	struct segment segment = *at(queue, 0);

	queue->first = (queue->first + 1) % MOST;
	queue->len--;
	return segment;
}

/* Returned segments stay in the order of their numbers. */
static void give_back(struct segment segment)
{
	unsigned index = returned.len++;

	for (; index > 0 && at(&returned, index - 1)->number > segment.number; index--)
		*at(&returned, index) = *at(&returned, index - 1);
	*at(&returned, index) = segment;
}

static void must(int32_t code)
{
	if (code == PLAIT_OK)
		return;
	fprintf(stderr, "transport: %s\n", plait_error_message());
	exit(1);
}

static void open_way(struct way *way, uint64_t mbit, uint64_t delay_ms, uint64_t now)
{
	uint64_t sent = way->sent;

	memset(way, 0, sizeof *way);
	way->sent = sent;
	way->nanos_per_byte = 8000 / mbit;
	way->delay = delay_ms * MS;
	way->link_free = now;
	way->window = FIRST_WINDOW;
	must(plait_path_init(&way->facts, sizeof way->facts, MSS));
}

/* Converts bytes to segments: cwnd less in_flight has to be the number that may leave. */
static void refresh(void)
{
	for (unsigned i = 0; i < PATHS; i++) {
		struct way *way = &ways[i];
		uint32_t taken = way->bytes_in_flight;
		uint32_t room = (way->window > taken ? way->window - taken : 0) / MSS;

		way->facts.cwnd = way->window / MSS;
		way->facts.in_flight = way->facts.cwnd > room ? way->facts.cwnd - room : 0;
		way->facts.queued = way->queue.len;
		facts[i] = way->facts;
	}
}

static plait_connection connection(void)
{
	plait_connection view;
	uint64_t ahead = 0, next = returned.len ? at(&returned, 0)->number : next_number, base = next;

	must(plait_connection_init(&view, sizeof view));
	view.unassigned = returned.len;
	for (unsigned i = 0; i < STREAMS; i++)
		view.unassigned += (unsent[i] + MSS - 1) / MSS;
	for (unsigned i = 0; i < PATHS; i++) {
		struct way *way = &ways[i];

		ahead += way->queue.len;
		if (way->queue.len && at(&way->queue, 0)->number < base)
			base = at(&way->queue, 0)->number;
		/* With retransmissions, the segments in flight are not in ascending order. */
		for (unsigned k = 0; k < way->flight.len; k++) {
			uint64_t number = at(&way->flight, k)->number;

			if (view.has_oldest && view.oldest_segment < number)
				continue;
			view.has_oldest = 1;
			view.oldest_segment = number;
			view.oldest_path = i;
			view.oldest_carried = 1u << i;
		}
	}
	if (view.has_oldest && view.oldest_segment < base)
		base = view.oldest_segment;
	view.next_segment = next;
	view.window_left = base + RECEIVE_WINDOW > next ? base + RECEIVE_WINDOW - next : 0;
	view.window_left = view.window_left > ahead ? view.window_left - ahead : 0;
	view.window = RECEIVE_WINDOW;
	view.send_buffer_left = UINT64_MAX;
	view.finished = 1;
	return view;
}

static void tell(plait_event event)
{
	plait_connection view;

	refresh();
	if ((event.kind == PLAIT_EVENT_SENT && !(interest & PLAIT_INTEREST_SENT)) ||
	    (event.kind == PLAIT_EVENT_ACKED && !(interest & PLAIT_INTEREST_ACKED)))
		return;
	view = connection();
	must(plait_scheduler_on_event(scheduler, &event, &view, facts, PATHS));
}

/* Takes the next segment: returned segments first, then the streams in turn. */
static int take(struct segment *segment)
{
	unsigned stream = unsent[turn] ? turn : 1 - turn;

	if (returned.len) {
		*segment = pop(&returned);
		return 1;
	}
	if (!unsent[stream])
		return 0;
	turn = 1 - stream;
	*segment = (struct segment){ .number = next_number++, .stream = stream };
	segment->bytes = unsent[stream] < MSS ? (uint32_t)unsent[stream] : MSS;
	unsent[stream] -= segment->bytes;
	return 1;
}

static void send(uint64_t now)
{
	for (unsigned i = 0; i < PATHS; i++) {
		struct way *way = &ways[i];

		while (way->queue.len && way->bytes_in_flight + at(&way->queue, 0)->bytes <= way->window) {
			struct segment segment = pop(&way->queue);

			way->link_free = (now > way->link_free ? now : way->link_free) + way->nanos_per_byte * segment.bytes;
			segment.sent = now;
			segment.acked = way->link_free + 2 * way->delay;
			push(&way->flight, segment);
			way->bytes_in_flight += segment.bytes;
			way->sent++;
			tell((plait_event){ .size = sizeof(plait_event), .kind = PLAIT_EVENT_SENT, .path = i, .segment = segment.number });
		}
	}
	refresh();
}

/* Asks until the scheduler waits. Assigned segments leave as the windows admit. */
static void run_scheduler(uint64_t now)
{
	plait_decision decision = { .size = sizeof decision };
	int recalls = (plait_scheduler_needs(scheduler) & PLAIT_NEEDS_RECALL) != 0;

	send(now);
	for (;;) {
		plait_connection view = connection();
		struct segment segment;

		if (view.unassigned == 0 && !recalls)
			return;
		must(plait_scheduler_decide(scheduler, now, &view, facts, PATHS, &decision));
		switch (decision.kind) {
		case PLAIT_ASSIGN:
			for (uint32_t k = 0; k < decision.segments && take(&segment); k++)
				push(&ways[decision.path].queue, segment);
			send(now);
			break;
		case PLAIT_RECALL:
			while (ways[decision.path].queue.len)
				give_back(pop(&ways[decision.path].queue));
			refresh();
			break;
		default:
			return;
		}
	}
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t acknowledge(unsigned index)
{
	struct way *way = &ways[index];
	struct segment segment = pop(&way->flight);
	uint64_t rtt = segment.acked - segment.sent;
	plait_path *path = &way->facts;
	int first = path->srtt == 0;

	path->rttvar = first ? rtt / 2 : (path->rttvar * 3 + apart(path->srtt, rtt)) / 4;
	path->srtt = first ? rtt : (path->srtt * 7 + rtt) / 8;
	path->min_rtt = first || rtt < path->min_rtt ? rtt : path->min_rtt;
	path->latest_rtt = rtt;
	path->own_rtt = path->srtt;
	way->bytes_in_flight -= segment.bytes;
	way->window = way->window + segment.bytes < LAST_WINDOW ? way->window + segment.bytes : LAST_WINDOW;
	missing[segment.stream] -= segment.bytes;
	if (missing[segment.stream] == 0)
		finished[segment.stream] = segment.acked;
	tell((plait_event){ .size = sizeof(plait_event), .kind = PLAIT_EVENT_ACKED, .path = index, .segments = 1, .rtt = rtt });
	return segment.acked;
}

static void path_down(unsigned index)
{
	struct way *way = &ways[index];

	way->facts.state = PLAIT_PATH_FAILED;
	way->bytes_in_flight = 0;
	sent_again += way->flight.len;
	while (way->flight.len)
		give_back(pop(&way->flight));
	while (way->queue.len)
		give_back(pop(&way->queue));
	tell((plait_event){ .size = sizeof(plait_event), .kind = PLAIT_EVENT_PATH_DOWN, .path = index });
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "lowest-rtt";
	unsigned changes = 0;

	must(plait_scheduler_new(name, &scheduler));
	interest = plait_scheduler_interest(scheduler);
	if (plait_scheduler_needs(scheduler) & ~(uint32_t)(PLAIT_NEEDS_ASSIGN_AHEAD | PLAIT_NEEDS_RECALL)) {
		fprintf(stderr, "transport: the scheduler needs more than this transport can do\n");
		plait_scheduler_free(scheduler);
		return 1;
	}
	open_way(&ways[0], 8, 10, 0);
	open_way(&ways[1], 16, 30, 0);
	unsent[0] = missing[0] = 600000;
	unsent[1] = missing[1] = 100000;
	refresh();
	run_scheduler(0);
	for (;;) {
		uint64_t now, change = changes == 0 ? 150 * MS : changes == 1 ? 300 * MS : PLAIT_NEVER;
		unsigned next = PATHS;

		for (unsigned i = 0; i < PATHS; i++) {
			if (ways[i].flight.len && (next == PATHS || at(&ways[i].flight, 0)->acked < at(&ways[next].flight, 0)->acked))
				next = i;
		}
		if (next == PATHS)
			break;
		if (change <= at(&ways[next].flight, 0)->acked) {
			now = change;
			if (changes++ == 0) {
				path_down(1);
			} else {
				/* Another network under the same index: its facts begin anew. */
				open_way(&ways[1], 4, 5, now);
				tell((plait_event){ .size = sizeof(plait_event), .kind = PLAIT_EVENT_PATH_UP, .path = 1 });
			}
		} else {
			now = acknowledge(next);
		}
		run_scheduler(now);
	}
	printf("%s: streams complete after %" PRIu64 " and %" PRIu64 " ns\n", name, finished[0], finished[1]);
	printf("%s: %" PRIu64 " and %" PRIu64 " segments sent, %" PRIu64 " of them again\n", name, ways[0].sent, ways[1].sent,
	       sent_again);
	plait_scheduler_free(scheduler);
	return 0;
}
