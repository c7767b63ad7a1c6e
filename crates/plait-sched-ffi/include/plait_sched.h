/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Packet schedulers for multipath transports: which path carries the next segments of a stream.
 * Written by cbindgen from the crate plait-sched-ffi; its README is the introduction.
 */

#ifndef PLAIT_SCHED_H
#define PLAIT_SCHED_H

#include <stdint.h>

// Keeps the text of the file in which it stands, once per library and outside of functions, so that results have the source. GCC and Clang, on ELF.
#define PLAIT_SCHEDULER_SOURCE \
  __asm__(".pushsection .rodata\n.hidden plait_scheduler_text\n.global plait_scheduler_text\nplait_scheduler_text: .incbin \"" __FILE__ "\"\n.byte 0\n.popsection"); \
  extern const char plait_scheduler_text[] __attribute__((visibility("hidden"))); \
  __attribute__((visibility("default"))) const char *plait_scheduler_source(void) { return plait_scheduler_text; } \
  extern const char plait_scheduler_text[]

// Nothing more now: ask again after the next event, and at `until` at the latest unless that is PLAIT_NEVER.
#define PLAIT_WAIT 0

// Move the next `segments` segments of the data queue to the queue of `path`.
#define PLAIT_ASSIGN 1

// Send a copy of segment number `segment` on `path`.
#define PLAIT_REINJECT 2

// Take everything that waits unsent in the queue of `path` back into the data queue.
#define PLAIT_RECALL 3

// From now on new data leaves on `path` only while fewer than `segments` segments are in flight there; PLAIT_NONE lifts that.
#define PLAIT_LIMIT 4

// Halve the congestion window of `path`.
#define PLAIT_PENALIZE 5

// Let the other streams of the same priority go before the one that the next segment is of.
#define PLAIT_DEFER 6

// A moment that never comes.
#define PLAIT_NEVER 18446744073709551615ull

// A segment was put on the wire: `segment`, `retransmission`.
#define PLAIT_EVENT_SENT 0

// The receiver acknowledged `segments` segments that the path carried; `rtt`.
#define PLAIT_EVENT_ACKED 1

// `segments` segments were found lost.
#define PLAIT_EVENT_LOST 2

// The retransmission timer of the path ran out.
#define PLAIT_EVENT_TIMEOUT 3

// The path stopped being usable; the engine has taken back what waited in its queue.
#define PLAIT_EVENT_PATH_DOWN 4

// The path became usable (again).
#define PLAIT_EVENT_PATH_UP 5

// Bit of `plait_scheduler_needs`: assignments may exceed the windows.
#define PLAIT_NEEDS_ASSIGN_AHEAD 1

// Bit of `plait_scheduler_needs`: PLAIT_RECALL.
#define PLAIT_NEEDS_RECALL 2

// Bit of `plait_scheduler_needs`: PLAIT_REINJECT.
#define PLAIT_NEEDS_REINJECT 4

// Bit of `plait_scheduler_needs`: PLAIT_LIMIT.
#define PLAIT_NEEDS_LIMIT 8

// Bit of `plait_scheduler_needs`: PLAIT_PENALIZE.
#define PLAIT_NEEDS_PENALIZE 16

// Bit of `plait_scheduler_needs`: the facts of messages, and PLAIT_DEFER.
#define PLAIT_NEEDS_MESSAGES 32

// Bit of `plait_scheduler_needs`: of streams of equal priority, the engine keeps the one whose message has the least left in front.
#define PLAIT_NEEDS_SHORTEST_FIRST 64

// Bit of `plait_scheduler_needs`: `uncarried` of the paths.
#define PLAIT_NEEDS_UNCARRIED 128

// Bit of `plait_scheduler_needs`: a path retransmits its losses itself.
#define PLAIT_NEEDS_REPAIR 256

// Bit of `plait_scheduler_interest`: PLAIT_EVENT_SENT.
#define PLAIT_INTEREST_SENT 1

// Bit of `plait_scheduler_interest`: PLAIT_EVENT_ACKED.
#define PLAIT_INTEREST_ACKED 2

// It worked.
#define PLAIT_OK 0

// A pointer is null, a text is not UTF-8, or a number is not one that it may be.
#define PLAIT_ERROR_ARGUMENT 1

// A struct's size is none that a version of this interface has.
#define PLAIT_ERROR_SIZE 2

// There is no such scheduler or parameter, or a parameter may not have this value.
#define PLAIT_ERROR_SCHEDULER 3

// A panic was caught. If it happened in a scheduler, that one is of no use any more and must be freed.
#define PLAIT_ERROR_PANIC 4

// The scheduler broke a rule of the conformance suite.
#define PLAIT_ERROR_CONFORMANCE 5

// A scheduler's own callback said that it failed.
#define PLAIT_ERROR_CALLBACK 6

// Paths of a connection at most.
#define PLAIT_MAX_PATHS 32

// A path carries new data.
#define PLAIT_PATH_ACTIVE 0

// A path works, but is to be used only while no active one is usable.
#define PLAIT_PATH_BACKUP 1

// A path had a timeout and is being probed.
#define PLAIT_PATH_POTENTIALLY_FAILED 2

// A path is not there: not established, or given up.
#define PLAIT_PATH_FAILED 3

// Of thresholds and limits: there is none.
#define PLAIT_NONE 4294967295

// The version of this interface. A version only adds; what it adds is in structs' sizes and in new functions.
#define PLAIT_SCHED_VERSION 1

// A scheduler.
typedef struct plait_scheduler plait_scheduler;

// What a scheduler declares when it is made.
typedef struct plait_traits {
  // The size of this struct as the library knows it, in bytes.
  uint32_t size;
  // Bits PLAIT_NEEDS_…; 0 as it comes.
  uint32_t needs;
  // Bits PLAIT_INTEREST_…; both as it comes.
  uint32_t interest;
  // Not 0 if it waits, and nothing changes in it, whenever no path has room; 0 as it comes.
  uint32_t waits_without_room;
} plait_traits;

// Makes an instance: puts it into `*state` and what it declares into `*traits`, which comes with what most declare. `parameters` is a text
// `parameter=value:parameter=value`, empty for none; what is not given has its default, and what is not known is an error. Returns PLAIT_OK; anything
// else is an error, with one line of UTF-8 and a zero in `message`, which has `capacity` bytes.
typedef int32_t (*plait_create)(void *context,
                                const char *parameters,
                                struct plait_traits *traits,
                                void **state,
                                char *message,
                                uint32_t capacity);

// Frees an instance.
typedef void (*plait_destroy)(void *state);

// The facts of the connection; amounts are segments. `plait_connection_init` makes one without data.
typedef struct plait_connection {
  // The size of this struct as the caller knows it, in bytes.
  uint32_t size;
  // Not 0 if the application has written its last byte.
  uint8_t finished;
  // Not 0 if the three `oldest_…` say something.
  uint8_t has_oldest;
  // Not 0 while the application has more to write than there is room for, and so waits.
  uint8_t writer_waits;
  // Zero.
  uint8_t reserved;
  // Written by the application and assigned to no path.
  uint64_t unassigned;
  // The number of the next segment that an assignment would hand out.
  uint64_t next_segment;
  // What the receiver's window still admits, less what already waits in path queues.
  uint64_t window_left;
  // What the application could still write before the send buffer is full.
  uint64_t send_buffer_left;
  // The oldest unacknowledged segment in flight: its number.
  uint64_t oldest_segment;
  // The path that carries it, the newest one if several do.
  uint32_t oldest_path;
  // Every path that carries it: the bit of value 1 is path 0.
  uint32_t oldest_carried;
  // What the receiver's window admits from the oldest unacknowledged segment of the stream on, whatever of it was sent. `window_left` is
  // the rest. UINT64_MAX, as it comes, if it is not known or has no end.
  uint64_t window;
  // The message that the next segment is of: its number, counted from 0. This and what follows is for schedulers with
  // PLAIT_NEEDS_MESSAGES; zeros and PLAIT_NEVER, as they come, are right for the others.
  uint64_t message_number;
  // Segments of it in the data queue; UINT64_MAX for one that never ends.
  uint64_t message_left;
  // The moment at which all of it should have arrived; PLAIT_NEVER if the application does not care.
  uint64_t message_deadline;
  // The stream that it is part of.
  uint32_t message_stream;
  // Its priority, up to 255: higher goes first, between streams.
  uint32_t message_priority;
  // Not 0 if the five `message_…` say something.
  uint32_t has_message;
  // Streams that have something in the data queue which no path has had yet: PLAIT_DEFER chooses between them.
  uint32_t streams;
  // The earliest deadline of the messages that are not wholly acknowledged; PLAIT_NEVER without one.
  uint64_t due;
  // Bytes from the next segment to the end of the fragment in which Linux' MPTCP keeps them; UINT64_MAX, as it comes, without fragments.
  uint64_t fragment_left;
} plait_connection;

// The facts of one path; its number is its place in the array. Times are nanoseconds, amounts segments, unless said otherwise.
// `plait_path_init` makes one of which nothing is known.
typedef struct plait_path {
  // The size of this struct as the caller knows it, in bytes; the same for all paths of an array.
  uint32_t size;
  // PLAIT_PATH_ACTIVE, _BACKUP, _POTENTIALLY_FAILED or _FAILED.
  uint32_t state;
  // Not 0 while the path recovers from a loss and should take no new data.
  uint8_t in_recovery;
  // Not 0 while losses are being repaired, in which way ever.
  uint8_t repairing;
  // Not 0 if `forward_delay` is known.
  uint8_t has_forward_delay;
  // Zero.
  uint8_t reserved;
  // Largest segment, in payload bytes; more than 0.
  uint32_t mss;
  // Congestion window. `cwnd` less `in_flight` has to be what may leave: engines that count bytes round so.
  uint32_t cwnd;
  // Slow-start threshold; PLAIT_NONE while unset.
  uint32_t ssthresh;
  // Sent and neither acknowledged nor considered lost.
  uint32_t in_flight;
  // Considered lost, and waiting to be sent again on this path.
  uint32_t lost;
  // Assigned to this path and not sent yet, and copies that wait to be sent on it.
  uint32_t queued;
  // What a decision limited `in_flight` to; PLAIT_NONE while none did.
  uint32_t limit;
  // Lost share of what was sent, in parts per million.
  uint32_t loss_ppm;
  // What using the path costs, in units of the user's choice.
  uint32_t cost;
  // Smoothed round-trip time; 0 until the first sample, as the next ones.
  uint64_t srtt;
  // Round-trip time variation (RFC 6298).
  uint64_t rttvar;
  // The newest sample.
  uint64_t latest_rtt;
  // Smoothed round-trip time of packets that were acknowledged on this path, too.
  uint64_t own_rtt;
  // The smallest of these samples.
  uint64_t min_rtt;
  // Estimated one-way delay towards the receiver; it may contain a clock offset that all paths share.
  int64_t forward_delay;
  // Retransmission timeout, back-off included.
  uint64_t rto;
  // Recent delivery rate in payload bits per second; 0 until measured.
  uint64_t delivery_rate;
  // The path's share of what is sent, against the weights of the others; 1 unless somebody says so.
  uint32_t weight;
  // Not 0 if `uncarried` says something.
  uint32_t has_uncarried;
  // The oldest segment in flight on other paths that this one does not carry, nor is about to.
  uint64_t uncarried;
  // Memory of the packets in flight, lost and queued, in bytes, as Linux counts it for a socket; UINT64_MAX, as it
  // comes, if it is not counted.
  uint64_t memory;
  // Packets that were sent and are not acknowledged without a gap; UINT64_MAX, as it comes, if they are not counted.
  uint64_t outstanding;
} plait_path;

// One decision.
typedef struct plait_decision {
  // The size of this struct as the caller knows it, in bytes.
  uint32_t size;
  // PLAIT_WAIT, PLAIT_ASSIGN, PLAIT_REINJECT, PLAIT_RECALL, PLAIT_LIMIT, PLAIT_PENALIZE or PLAIT_DEFER.
  uint32_t kind;
  // The path, except of PLAIT_WAIT and PLAIT_DEFER.
  uint32_t path;
  // Of PLAIT_ASSIGN: how many. Of PLAIT_LIMIT: how many in flight.
  uint32_t segments;
  // Of PLAIT_REINJECT: the segment's number.
  uint64_t segment;
  // Of PLAIT_WAIT: a moment in nanoseconds, or PLAIT_NEVER.
  uint64_t until;
} plait_decision;

// Decides, as plait_scheduler_decide() does. `*decision` comes as PLAIT_WAIT. What it returns but PLAIT_OK ends the run.
typedef int32_t (*plait_decide)(void *state,
                                uint64_t now,
                                const struct plait_connection *connection,
                                const struct plait_path *paths,
                                uint32_t count,
                                struct plait_decision *decision);

// What happened on a path. Later versions may have more kinds; a scheduler ignores those that it does not know.
typedef struct plait_event {
  // The size of this struct as the caller knows it, in bytes.
  uint32_t size;
  // One of PLAIT_EVENT_…
  uint32_t kind;
  // The path.
  uint32_t path;
  // Of PLAIT_EVENT_ACKED and PLAIT_EVENT_LOST: how many segments.
  uint32_t segments;
  // Of PLAIT_EVENT_SENT: the segment's number.
  uint64_t segment;
  // Of PLAIT_EVENT_ACKED: the round-trip sample that came with it, in nanoseconds; 0 if none was taken.
  uint64_t rtt;
  // Of PLAIT_EVENT_SENT: not 0 if the segment had been sent before.
  uint32_t retransmission;
  // Zero.
  uint32_t reserved;
} plait_event;

// Is told of an event, as plait_scheduler_on_event() is. May be NULL.
typedef void (*plait_on_event)(void *state,
                               const struct plait_event *event,
                               const struct plait_connection *connection,
                               const struct plait_path *paths,
                               uint32_t count);

// A scheduler of one's own. The rules are those of the built-in ones: no clock, no memory beyond its own state, the same calls give the same
// answers. A shared library hands them out through a function
// `const plait_scheduler_class *plait_scheduler_class_at(uint32_t index)`, which returns NULL from some number on; and, if its results are to keep
// the source, that through `const char *plait_scheduler_source(void)` (PLAIT_SCHEDULER_SOURCE). Instances are used on one thread each, several at the same time.
typedef struct plait_scheduler_class {
  // The size of this struct as its author knows it, in bytes.
  uint32_t size;
  // Zero.
  uint32_t reserved;
  // The name: letters, digits and hyphens.
  const char *name;
  // The rule in a sentence; may be NULL.
  const char *summary;
  // Handed to `create` as it is.
  void *context;
  // Makes an instance.
  plait_create create;
  // Frees it; may be NULL.
  plait_destroy destroy;
  // Decides.
  plait_decide decide;
  // Is told of events; may be NULL.
  plait_on_event on_event;
} plait_scheduler_class;

// How much to check; 0 is the usual amount.
typedef struct plait_conformance_options {
  // The size of this struct as the caller knows it, in bytes.
  uint32_t size;
  // How many random cases; 0 for 200.
  uint32_t cases;
  // The seed of the first case, the next ones count up; 0 for 1.
  uint64_t seed;
  // The segments of a case at most; 0 for 200. With more, windows grow too.
  uint64_t segments;
} plait_conformance_options;

// What was checked.
typedef struct plait_conformance_report {
  // The size of this struct as the caller knows it, in bytes.
  uint32_t size;
  // Random cases.
  uint32_t cases;
  // Moments at which something happened.
  uint64_t steps;
  // Decisions, waits included.
  uint64_t decisions;
  // Segments delivered.
  uint64_t segments;
} plait_conformance_report;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Drives two instances of a class at a time through random situations in a model of an engine: paths that fail and return, timeouts, losses, tiny windows,
// data that trickles in. What is checked is listed in the documentation of the Rust crate, `plait_sched::conformance::Rule`, but that nothing is
// allocated, which only the class's author can count.
//
// `parameters` may be NULL for none, `options` for the usual amount, `report` if nobody wants it. Returns PLAIT_OK and the report;
// PLAIT_ERROR_CONFORMANCE, with a message that names the rule, the seed and the facts; PLAIT_ERROR_CALLBACK if a callback failed; PLAIT_ERROR_ARGUMENT or _SIZE.
//
// What is handed over:
// `scheduler_class` is null or as its documentation says; texts end in zeros; the structs begin with their true sizes.
int32_t plait_conformance_check(const struct plait_scheduler_class *scheduler_class,
                                const char *parameters,
                                const struct plait_conformance_options *options,
                                struct plait_conformance_report *report);

// What the last call of this thread that returned an error had to say: one line, mostly, in UTF-8. Empty before the first error.
// Valid until the thread's next error; not to be freed.
const char *plait_error_message(void);

// Makes `path` one of which nothing is known: active, a window of one segment, no measurements.
//
// `size` is `sizeof(plait_path)`, `mss` the largest segment in payload bytes. Returns PLAIT_OK, or PLAIT_ERROR_ARGUMENT or _SIZE and leaves it alone.
//
// What is handed over:
// `path` is null or points to `size` writable bytes.
int32_t plait_path_init(struct plait_path *path,
                        uint32_t size,
                        uint32_t mss);

// Makes `connection` one without data and without window. `size` is `sizeof(plait_connection)`.
//
// Returns PLAIT_OK, or PLAIT_ERROR_ARGUMENT or _SIZE and leaves it alone.
//
// What is handed over:
// `connection` is null or points to `size` writable bytes.
int32_t plait_connection_init(struct plait_connection *connection, uint32_t size);

// The version of the interface that the library has: at least that of the header, or something is amiss.
uint32_t plait_sched_version(void);

// The name of a built-in scheduler; NULL from the number on of which there is none. Not to be freed.
const char *plait_scheduler_name(uint32_t index);

// Makes a scheduler from a text: a name, options, parameters, as in "round-robin", "lowest-rtt+rp", "round-robin:cwnd_limited=false".
//
// Returns PLAIT_OK and the scheduler in `*scheduler`, which is to be freed with plait_scheduler_free(); else PLAIT_ERROR_ARGUMENT or
// PLAIT_ERROR_SCHEDULER, and NULL there.
//
// What is handed over:
// `text` is null or ends in a zero; `scheduler` is null or writable.
int32_t plait_scheduler_new(const char *text,
                            struct plait_scheduler **scheduler);

// Frees a scheduler. NULL is left alone.
//
// What is handed over:
// `scheduler` is null or came from plait_scheduler_new() and was not freed.
void plait_scheduler_free(struct plait_scheduler *scheduler);

// What the scheduler needs from its engine beyond assigning within the window: bits PLAIT_NEEDS_… An engine that lacks one of them, or
// knows one of them not, refuses the scheduler. 0 if the handle is NULL.
//
// What is handed over:
// `scheduler` is null or a handle that nobody else uses meanwhile.
uint32_t plait_scheduler_needs(struct plait_scheduler *scheduler);

// Which of the events that every packet causes it wants to hear of: bits PLAIT_INTEREST_… Of the others it is always told. 0 if the handle is NULL.
//
// What is handed over:
// `scheduler` is null or a handle that nobody else uses meanwhile.
uint32_t plait_scheduler_interest(struct plait_scheduler *scheduler);

// 1 if it waits, and nothing changes in it, whenever no path has room: it need not be asked then. Else, and if the handle is NULL, 0.
//
// What is handed over:
// `scheduler` is null or a handle that nobody else uses meanwhile.
uint32_t plait_scheduler_waits_without_room(struct plait_scheduler *scheduler);

// Asks for one decision at the moment `now` (nanoseconds from an origin of the engine's choice; never earlier than before). To be called
// after each event, again and again with facts that contain the decision before, until it is PLAIT_WAIT.
//
// `decision->size` is to be set. Returns PLAIT_OK, or PLAIT_ERROR_ARGUMENT, _SIZE or _PANIC, with the decision as it was.
//
// What is handed over:
// `scheduler` is null or a handle that nobody else uses meanwhile; `connection`, `paths` and `decision` are null or point to structs that begin with
// their true size, `paths` to `count` of them.
int32_t plait_scheduler_decide(struct plait_scheduler *scheduler,
                               uint64_t now,
                               const struct plait_connection *connection,
                               const struct plait_path *paths,
                               uint32_t count,
                               struct plait_decision *decision);

// Tells of an event, after the facts contain it. Returns PLAIT_OK, or PLAIT_ERROR_ARGUMENT, _SIZE or _PANIC.
//
// What is handed over:
// As of plait_scheduler_decide().
int32_t plait_scheduler_on_event(struct plait_scheduler *scheduler,
                                 const struct plait_event *event,
                                 const struct plait_connection *connection,
                                 const struct plait_path *paths,
                                 uint32_t count);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PLAIT_SCHED_H */
