/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Packet schedulers for multipath transports: which path carries the next segments of a stream.
 * Also congestion controllers and workloads of one's own, for Plait's simulator.
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

// No loss is being repaired.
#define PLAIT_REPAIRING_NOTHING 0

// Losses that later acknowledgements showed are being repaired.
#define PLAIT_REPAIRING_LOSSES 1

// Losses that a timeout showed are being repaired.
#define PLAIT_REPAIRING_TIMEOUT 2

// Later acknowledgements showed a loss; once per window of data. `outstanding`.
#define PLAIT_CONGESTION_LOSS 0

// The receiver reported marked packets; once per window of data. `outstanding`.
#define PLAIT_CONGESTION_MARK 1

// The retransmission timer ran out. `outstanding`, `repairing`.
#define PLAIT_CONGESTION_TIMEOUT 2

// The window is to be `window`, after a timeout or persistent congestion.
#define PLAIT_CONGESTION_COLLAPSE 3

// The last reduction was unnecessary. `window`, `threshold`.
#define PLAIT_CONGESTION_UNDONE 4

// The scheduler halves the window.
#define PLAIT_CONGESTION_PENALTY 5

// No packet left for one retransmission timeout.
#define PLAIT_CONGESTION_IDLE 6

// A packet leaves after no packet was in flight. `idle`, `app_limited`.
#define PLAIT_CONGESTION_RESUMED 7

// All data in flight was acknowledged.
#define PLAIT_CONGESTION_DRAINED 8

// A handshake measured the round trip. `rtt`.
#define PLAIT_CONGESTION_MEASURED 9

// Make no further decision now: ask again after the next event, and at `until` at the latest
// unless that is PLAIT_NEVER.
#define PLAIT_WAIT 0

// Move the next `segments` segments of the data queue to the queue of `path`.
#define PLAIT_ASSIGN 1

// Send a copy of segment number `segment` on `path`.
#define PLAIT_REINJECT 2

// Move all unsent segments in the queue of `path` back to the data queue.
#define PLAIT_RECALL 3

// Limit the data in flight on `path`: new data leaves only while fewer than `segments` segments
// are in flight there; PLAIT_NONE lifts the limit.
#define PLAIT_LIMIT 4

// Halve the congestion window of `path`.
#define PLAIT_PENALIZE 5

// Move the stream of the next segment behind the other streams of the same priority.
#define PLAIT_DEFER 6

// A moment that never comes.
#define PLAIT_NEVER 18446744073709551615ull

// A segment was put on the wire: `segment`, `retransmission`.
#define PLAIT_EVENT_SENT 0

// The receiver acknowledged `segments` segments that the path carried; `rtt`.
#define PLAIT_EVENT_ACKED 1

// `segments` segments were declared lost.
#define PLAIT_EVENT_LOST 2

// The retransmission timer of the path expired.
#define PLAIT_EVENT_TIMEOUT 3

// The path became unusable. The engine has moved the unsent segments of its queue back to the data
// queue.
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

// Bit of `plait_scheduler_needs`: among streams of equal priority, the engine keeps the one whose
// message has the least data left in front.
#define PLAIT_NEEDS_SHORTEST_FIRST 64

// Bit of `plait_scheduler_needs`: `uncarried` of the paths.
#define PLAIT_NEEDS_UNCARRIED 128

// Bit of `plait_scheduler_needs`: each path retransmits its own losses.
#define PLAIT_NEEDS_REPAIR 256

// Bit of `plait_scheduler_interest`: PLAIT_EVENT_SENT.
#define PLAIT_INTEREST_SENT 1

// Bit of `plait_scheduler_interest`: PLAIT_EVENT_ACKED.
#define PLAIT_INTEREST_ACKED 2

// The call succeeded.
#define PLAIT_OK 0

// A pointer is null, a text is not UTF-8, or a number is out of range.
#define PLAIT_ERROR_ARGUMENT 1

// No version of this interface has a struct of this size.
#define PLAIT_ERROR_SIZE 2

// There is no such scheduler or parameter, or a parameter may not have this value.
#define PLAIT_ERROR_SCHEDULER 3

// A panic was caught. If it happened in a scheduler, that scheduler is unusable and must be freed.
#define PLAIT_ERROR_PANIC 4

// The scheduler broke a rule of the conformance suite.
#define PLAIT_ERROR_CONFORMANCE 5

// A scheduler's own callback reported a failure.
#define PLAIT_ERROR_CALLBACK 6

// Largest number of paths of a connection.
#define PLAIT_MAX_PATHS 32

// A path carries new data.
#define PLAIT_PATH_ACTIVE 0

// A path works, but may be used only while no active one is usable.
#define PLAIT_PATH_BACKUP 1

// A path had a timeout and is being probed.
#define PLAIT_PATH_POTENTIALLY_FAILED 2

// A path does not exist: not established, or given up.
#define PLAIT_PATH_FAILED 3

// No threshold, or no limit.
#define PLAIT_NONE 4294967295

// The version of this interface. A new version only adds: struct sizes and new functions show the
// additions.
#define PLAIT_SCHED_VERSION 1

// Write a message: a block, or with `requests` a request, which the sender answers.
#define PLAIT_STEP_WRITE 0

// Call `on_time` at the time `at`.
#define PLAIT_STEP_WAIT 1

// Write no further message. The run ends when all messages have arrived.
#define PLAIT_STEP_END 2

// A scheduler.
typedef struct plait_scheduler plait_scheduler;

// The declarations of a scheduler when it is created.
typedef struct plait_traits {
  // The size of this struct as the library knows it, in bytes.
  uint32_t size;
  // Bits PLAIT_NEEDS_…; initially 0.
  uint32_t needs;
  // Bits PLAIT_INTEREST_…; initially both.
  uint32_t interest;
  // Not 0 if the scheduler waits and keeps its state whenever no path has room; initially 0.
  uint32_t waits_without_room;
} plait_traits;

// Creates an instance and stores it in `*state`. Writes its declarations to `*traits`, which
// initially holds those of most schedulers.
//
// `parameters` is a text `parameter=value:parameter=value`, empty for none. Parameters that are
// not given have their defaults; an unknown parameter is an error. Returns PLAIT_OK. Any other
// value is an error; `message`, which has `capacity` bytes, then holds one line of UTF-8 and a
// zero.
typedef int32_t (*plait_create)(void *context,
                                const char *parameters,
                                struct plait_traits *traits,
                                void **state,
                                char *message,
                                uint32_t capacity);

// Frees an instance.
typedef void (*plait_destroy)(void *state);

// The facts of the connection; amounts are in segments. `plait_connection_init` fills in a
// connection without data.
typedef struct plait_connection {
  // The size of this struct as the caller knows it, in bytes.
  uint32_t size;
  // Not 0 if the application has written its last byte.
  uint8_t finished;
  // Not 0 if the three `oldest_…` fields are valid.
  uint8_t has_oldest;
  // Not 0 while the application waits because it has more to write than there is room for.
  uint8_t writer_waits;
  // Zero.
  uint8_t reserved;
  // Segments written by the application and assigned to no path.
  uint64_t unassigned;
  // The number of the next segment that an assignment would hand out.
  uint64_t next_segment;
  // Segments that the receiver's window still admits, less those in path queues.
  uint64_t window_left;
  // Segments that the application could still write before the send buffer is full.
  uint64_t send_buffer_left;
  // The number of the oldest unacknowledged segment in flight.
  uint64_t oldest_segment;
  // The path that carries it, the latest one if several do.
  uint32_t oldest_path;
  // Every path that carries it: the bit of value 1 is path 0.
  uint32_t oldest_carried;
  // The whole receiver's window: segments admitted from the oldest unacknowledged one on, sent
  // or not. `window_left` is the rest of it. UINT64_MAX, the initial value, if it is unknown or
  // infinite.
  uint64_t window;
  // The number of the message of the next segment, counted from 0. The `message_…` fields,
  // `streams` and `due` are for schedulers with PLAIT_NEEDS_MESSAGES. For other schedulers the
  // initial values are right: zeros and PLAIT_NEVER.
  uint64_t message_number;
  // Segments of the message in the data queue; UINT64_MAX for a message that never ends.
  uint64_t message_left;
  // The time by which the whole message should have arrived; PLAIT_NEVER without a deadline.
  uint64_t message_deadline;
  // The stream of the message.
  uint32_t message_stream;
  // The priority of the message between streams, up to 255: the higher one goes first.
  uint32_t message_priority;
  // Not 0 if the five `message_…` fields are valid.
  uint32_t has_message;
  // Streams with data in the data queue that no path has had yet: PLAIT_DEFER chooses between
  // them.
  uint32_t streams;
  // The earliest deadline of the messages that are not fully acknowledged; PLAIT_NEVER without
  // one.
  uint64_t due;
  // Bytes from the next segment to the end of its fragment, the unit in which Linux' MPTCP keeps
  // data. UINT64_MAX, the initial value, without fragments.
  uint64_t fragment_left;
} plait_connection;

// The facts of one path; its number is its place in the array. Times are in nanoseconds and
// amounts in segments, unless said otherwise. `plait_path_init` fills in a path without
// measurements.
typedef struct plait_path {
  // The size of this struct as the caller knows it, in bytes; the same for all paths of an
  // array.
  uint32_t size;
  // PLAIT_PATH_ACTIVE, _BACKUP, _POTENTIALLY_FAILED or _FAILED.
  uint32_t state;
  // Not 0 while the path recovers from a loss and should take no new data.
  uint8_t in_recovery;
  // Not 0 during loss recovery of any kind.
  uint8_t repairing;
  // Not 0 if `forward_delay` is known.
  uint8_t has_forward_delay;
  // Zero.
  uint8_t reserved;
  // Largest segment, in payload bytes; more than 0.
  uint32_t mss;
  // Congestion window. `cwnd` less `in_flight` has to be the number of segments that may leave:
  // engines that count bytes round accordingly.
  uint32_t cwnd;
  // Slow-start threshold; PLAIT_NONE while unset.
  uint32_t ssthresh;
  // Segments sent and neither acknowledged nor considered lost.
  uint32_t in_flight;
  // Segments considered lost that wait for retransmission on this path.
  uint32_t lost;
  // Segments assigned to this path and not sent yet, and copies queued on it.
  uint32_t queued;
  // Limit of `in_flight` set by a decision; PLAIT_NONE without one.
  uint32_t limit;
  // Share of the sent segments that were lost, in parts per million.
  uint32_t loss_ppm;
  // Cost of using the path, in units of the user's choice.
  uint32_t cost;
  // Smoothed round-trip time; 0 until the first sample, like the next four fields.
  uint64_t srtt;
  // Round-trip time variation (RFC 6298).
  uint64_t rttvar;
  // The latest sample.
  uint64_t latest_rtt;
  // Smoothed round-trip time of packets that were acknowledged on this path too.
  uint64_t own_rtt;
  // The smallest sample of `own_rtt`.
  uint64_t min_rtt;
  // Estimated one-way delay towards the receiver. It may contain a clock offset that is common
  // to all paths.
  int64_t forward_delay;
  // Retransmission timeout, back-off included.
  uint64_t rto;
  // Recent delivery rate in payload bits per second; 0 until measured.
  uint64_t delivery_rate;
  // Weight of the path: its share of the sent data relative to the weights of the others; 1
  // unless set.
  uint32_t weight;
  // Not 0 if `uncarried` is valid.
  uint32_t has_uncarried;
  // The oldest segment in flight on other paths that this path neither carries nor is about to
  // carry.
  uint64_t uncarried;
  // Memory of the packets in flight, lost and queued, in bytes, as Linux counts it for a socket.
  // UINT64_MAX, the initial value, if it is not counted.
  uint64_t memory;
  // Packets sent and not cumulatively acknowledged. UINT64_MAX, the initial value, if they are
  // not counted.
  uint64_t outstanding;
  // Rate at which congestion control lets packets leave, in bits per second. 0, the initial
  // value, if packets leave as soon as the window admits them.
  uint64_t pacing_rate;
} plait_path;

// One decision.
typedef struct plait_decision {
  // The size of this struct as the caller knows it, in bytes.
  uint32_t size;
  // PLAIT_WAIT, PLAIT_ASSIGN, PLAIT_REINJECT, PLAIT_RECALL, PLAIT_LIMIT, PLAIT_PENALIZE or
  // PLAIT_DEFER.
  uint32_t kind;
  // The path; unused by PLAIT_WAIT and PLAIT_DEFER.
  uint32_t path;
  // PLAIT_ASSIGN: number of segments. PLAIT_LIMIT: limit of the segments in flight.
  uint32_t segments;
  // PLAIT_REINJECT: the segment's number.
  uint64_t segment;
  // PLAIT_WAIT: a moment in nanoseconds, or PLAIT_NEVER.
  uint64_t until;
} plait_decision;

// Decides, as plait_scheduler_decide() does. `*decision` is initially PLAIT_WAIT. Any return value
// but PLAIT_OK ends the run.
typedef int32_t (*plait_decide)(void *state,
                                uint64_t now,
                                const struct plait_connection *connection,
                                const struct plait_path *paths,
                                uint32_t count,
                                struct plait_decision *decision);

// An event on a path. Later versions may add kinds; a scheduler ignores kinds that it does not
// know.
typedef struct plait_event {
  // The size of this struct as the caller knows it, in bytes.
  uint32_t size;
  // One of PLAIT_EVENT_…
  uint32_t kind;
  // The path.
  uint32_t path;
  // PLAIT_EVENT_ACKED and PLAIT_EVENT_LOST: number of segments.
  uint32_t segments;
  // PLAIT_EVENT_SENT: the segment's number.
  uint64_t segment;
  // PLAIT_EVENT_ACKED: the round-trip sample of the acknowledgement in nanoseconds; 0 if none
  // was taken.
  uint64_t rtt;
  // PLAIT_EVENT_SENT: not 0 if the segment had been sent before.
  uint32_t retransmission;
  // Zero.
  uint32_t reserved;
} plait_event;

// Receives an event, as plait_scheduler_on_event() does. May be NULL.
typedef void (*plait_on_event)(void *state,
                               const struct plait_event *event,
                               const struct plait_connection *connection,
                               const struct plait_path *paths,
                               uint32_t count);

// Decides as `decide` does, and writes the reason to `reason`, which has `capacity` bytes: one line
// of UTF-8 and a zero. A path is written as `{0}`: its number in braces. An engine that records
// decisions with their reasons calls this function instead of `decide`. May be NULL.
typedef int32_t (*plait_decide_with_reason)(void *state,
                                            uint64_t now,
                                            const struct plait_connection *connection,
                                            const struct plait_path *paths,
                                            uint32_t count,
                                            struct plait_decision *decision,
                                            char *reason,
                                            uint32_t capacity);

// A scheduler of one's own. The rules are those of the built-in schedulers: no clock, no memory
// beyond its own state, the same answers to the same calls.
//
// A shared library provides its classes through a function `const plait_scheduler_class
// *plait_scheduler_class_at(uint32_t index)`, which returns NULL for all indices after the last
// class. To keep the source in the results, it provides it through `const char
// *plait_scheduler_source(void)` (PLAIT_SCHEDULER_SOURCE).
//
// Each instance is used on one thread; several instances may be in use at the same time.
typedef struct plait_scheduler_class {
  // The size of this struct as its author knows it, in bytes.
  uint32_t size;
  // Zero.
  uint32_t reserved;
  // The name: letters, digits and hyphens.
  const char *name;
  // The rule in a sentence; may be NULL.
  const char *summary;
  // Passed to `create` unchanged.
  void *context;
  // Creates an instance.
  plait_create create;
  // Frees an instance; may be NULL.
  plait_destroy destroy;
  // Decides.
  plait_decide decide;
  // Receives events; may be NULL.
  plait_on_event on_event;
  // Decides and gives the reason; may be NULL.
  plait_decide_with_reason decide_with_reason;
} plait_scheduler_class;

// The extent of a check; 0 selects the default amounts.
typedef struct plait_conformance_options {
  // The size of this struct as the caller knows it, in bytes.
  uint32_t size;
  // Number of random cases; 0 for 200.
  uint32_t cases;
  // The seed of the first case, the next ones count up; 0 for 1.
  uint64_t seed;
  // Segments of a case at most; 0 for 200. With more, windows grow too.
  uint64_t segments;
} plait_conformance_options;

// Statistics of a check.
typedef struct plait_conformance_report {
  // The size of this struct as the caller knows it, in bytes.
  uint32_t size;
  // Number of random cases.
  uint32_t cases;
  // Number of moments with an event.
  uint64_t steps;
  // Number of decisions, waits included.
  uint64_t decisions;
  // Number of delivered segments.
  uint64_t segments;
} plait_conformance_report;

// The window of a path, which its controller sets. Amounts are in bytes as the protocol's windows
// count them.
typedef struct plait_window {
  // The size of this struct as Plait knows it, in bytes.
  uint32_t size;
  // Zero.
  uint32_t reserved;
  // A full segment; constant.
  uint64_t segment;
  // The scenario's `initial_window`; constant.
  uint64_t initial;
  // Congestion window, from 1 to 10^15; less than a segment counts as a segment. Initially
  // `initial`.
  uint64_t window;
  // Slow-start threshold, for schedulers and metrics; UINT64_MAX for none. Initially the
  // scenario's `initial_ssthresh`.
  uint64_t threshold;
  // Rate in bytes per second at which packets leave. 0, the initial value, if they leave as soon
  // as the window admits them. A controller that paces sets it in `create`.
  uint64_t pacing_rate;
} plait_window;

// Creates an instance for one path and stores it in `*state`. `window` has the values at the start;
// the function may change them. The rest as plait_create.
typedef int32_t (*plait_create_controller)(void *context,
                                           const char *parameters,
                                           struct plait_window *window,
                                           void **state,
                                           char *message,
                                           uint32_t capacity);

// A path of the connection, for controllers that couple paths.
typedef struct plait_path_window {
  // The size of this struct as Plait knows it, in bytes; the same for all paths of an array.
  uint32_t size;
  // 0 for a path that is not established, or that has failed.
  uint32_t usable;
  // Congestion window in bytes.
  uint64_t window;
  // Smoothed round-trip time in nanoseconds; 0 before the first sample.
  uint64_t srtt;
} plait_path_window;

// A sample of the delivery rate: `delivered` bytes in `interval`.
typedef struct plait_rate_sample {
  // The size of this struct as Plait knows it, in bytes.
  uint32_t size;
  // Not 0 if the application, the scheduler or the receiver limited the sender when the newest
  // acknowledged packet left.
  uint32_t app_limited;
  // Bytes that the path delivered in the interval.
  uint64_t delivered;
  // The interval in nanoseconds; 0 if the acknowledgement gives no sample.
  uint64_t interval;
  // Bytes that the path had delivered when the newest acknowledged packet left.
  uint64_t prior;
  // Bytes that the path has delivered in all.
  uint64_t total;
  // Bytes that the acknowledgement shows to be lost.
  uint64_t lost;
  // Bytes in flight after the acknowledgement.
  uint64_t in_flight;
} plait_rate_sample;

// Newly acknowledged data of one path, from one acknowledgement. Times are in nanoseconds.
typedef struct plait_acknowledgement {
  // The size of this struct as Plait knows it, in bytes.
  uint32_t size;
  // The number of the path in `paths`.
  uint32_t path;
  // The time from the start.
  uint64_t now;
  // Bytes newly acknowledged, as windows count them.
  uint64_t bytes;
  // Packets newly acknowledged.
  uint32_t packets;
  // Not 0 if the window may grow: no losses are being repaired.
  uint32_t may_grow;
  // PLAIT_REPAIRING_NOTHING, _LOSSES or _TIMEOUT.
  uint32_t repairing;
  // Not 0 if data waited for room in the window while the oldest acknowledged packet was in
  // flight.
  uint32_t limited;
  // Bytes of the window that were in use before the acknowledgement.
  uint64_t in_flight;
  // Smoothed round-trip time.
  uint64_t srtt;
  // The round trip of the oldest acknowledged packet; 0 without a sample.
  uint64_t rtt;
  // The round trip of the newest acknowledged packet; 0 without a sample.
  uint64_t newest_rtt;
  // All paths of the connection, in the scenario's order.
  const struct plait_path_window *paths;
  // Number of these paths.
  uint32_t path_count;
  // Zero.
  uint32_t reserved;
  // A sample of the delivery rate; NULL unless `create` set a pacing rate.
  const struct plait_rate_sample *rate;
} plait_acknowledgement;

// Handles newly acknowledged data. Any return value but PLAIT_OK ends the run.
typedef int32_t (*plait_on_ack)(void *state, const struct plait_acknowledgement *ack, struct plait_window *window);

// An event on the path of a controller. Fields that its kind does not have are 0.
typedef struct plait_congestion_event {
  // The size of this struct as Plait knows it, in bytes.
  uint32_t size;
  // PLAIT_CONGESTION_…
  uint32_t kind;
  // The time from the start, in nanoseconds.
  uint64_t now;
  // Bytes sent and not cumulatively acknowledged.
  uint64_t outstanding;
  // PLAIT_CONGESTION_COLLAPSE: the new window in bytes. PLAIT_CONGESTION_UNDONE: the window
  // before the reduction.
  uint64_t window;
  // The threshold before the reduction, in bytes; UINT64_MAX if there was none.
  uint64_t threshold;
  // Nanoseconds since the packet before it left.
  uint64_t idle;
  // The round trip in nanoseconds.
  uint64_t rtt;
  // Not 0 if the losses of the last reduction were still being repaired.
  uint32_t repairing;
  // Not 0 if the path had no data, and not only no room.
  uint32_t app_limited;
} plait_congestion_event;

// Handles an event. Any return value but PLAIT_OK ends the run.
typedef int32_t (*plait_on_congestion_event)(void *state,
                                             const struct plait_congestion_event *event,
                                             struct plait_window *window);

// A congestion controller of one's own. A shared library provides its classes through a function
// `const plait_controller_class *plait_controller_class_at(uint32_t index)`, which returns NULL for
// all indices after the last class.
//
// Each path of each end has an instance. An instance is used on one thread; several instances may
// be in use at the same time. The rules are those of schedulers: no clock, no memory beyond its own
// state, the same windows after the same calls.
typedef struct plait_controller_class {
  // The size of this struct as its author knows it, in bytes.
  uint32_t size;
  // Zero.
  uint32_t reserved;
  // The name: letters, digits and hyphens.
  const char *name;
  // The rule in a sentence; may be NULL.
  const char *summary;
  // Passed to `create` unchanged.
  void *context;
  // Creates an instance.
  plait_create_controller create;
  // Frees an instance; may be NULL.
  plait_destroy destroy;
  // Handles acknowledged data.
  plait_on_ack on_ack;
  // Handles events; may be NULL.
  plait_on_congestion_event on_event;
} plait_controller_class;

// Creates an instance for one run and stores it in `*state`. The rest as plait_create.
typedef int32_t (*plait_create_workload)(void *context,
                                         const char *parameters,
                                         void **state,
                                         char *message,
                                         uint32_t capacity);

// A step of a workload. Fields that are 0 have their default. Times are in nanoseconds.
typedef struct plait_step {
  // The size of this struct as the workload knows it, in bytes.
  uint32_t size;
  // PLAIT_STEP_WRITE, PLAIT_STEP_WAIT or PLAIT_STEP_END.
  uint32_t kind;
  // The time of the step from the start; a time of writing that has passed is now.
  uint64_t at;
  // The size of the block or of the response, in payload bytes; at least 1.
  uint64_t bytes;
  // The size of the request, in payload bytes; 0 for 200.
  uint64_t request;
  // The time for the delivery from `at` on; 0 for no deadline.
  uint64_t deadline;
  // The stream of the block or of the response, up to 999.
  uint32_t stream;
  // The priority between streams, up to 255: the higher one goes first.
  uint32_t priority;
} plait_step;

// Adds a step to a plait_steps. Returns PLAIT_OK, or an error that the caller returns in turn.
typedef int32_t (*plait_add)(void *steps, const struct plait_step *step);

// The next steps of a workload, in their order.
typedef struct plait_steps {
  // The size of this struct as Plait knows it, in bytes.
  uint32_t size;
  // Zero.
  uint32_t reserved;
  // Adds a step: `steps->add(steps, &step)`.
  plait_add add;
} plait_steps;

// Adds the first steps. Any return value but PLAIT_OK ends the run.
typedef int32_t (*plait_begin)(void *state, struct plait_steps *steps);

// Adds the next steps at the time of a PLAIT_STEP_WAIT. Any return value but PLAIT_OK ends the run.
typedef int32_t (*plait_on_time)(void *state, uint64_t now, struct plait_steps *steps);

// A block or a response that was delivered wholly.
typedef struct plait_delivery {
  // The size of this struct as Plait knows it, in bytes.
  uint32_t size;
  // Its stream.
  uint32_t stream;
  // Its number in the order of writing, from 0.
  uint64_t number;
  // Its size, in payload bytes.
  uint64_t bytes;
  // The time at which the block or the request was written, in nanoseconds from the start.
  uint64_t written;
} plait_delivery;

// Adds the next steps when a message was delivered wholly. Any return value but PLAIT_OK ends the
// run.
typedef int32_t (*plait_on_delivered)(void *state,
                                      uint64_t now,
                                      const struct plait_delivery *delivery,
                                      struct plait_steps *steps);

// A workload of one's own. A shared library provides its classes through a function `const
// plait_workload_class *plait_workload_class_at(uint32_t index)`, which returns NULL for all indices
// after the last class.
//
// Each run has an instance, which is used on one thread; several instances may be in use at the
// same time. The rules are those of schedulers: no clock, no memory beyond its own state, the same
// steps after the same calls.
typedef struct plait_workload_class {
  // The size of this struct as its author knows it, in bytes.
  uint32_t size;
  // Not 0 if the messages are requests of a client, which the sender answers at once.
  uint32_t requests;
  // The name: letters, digits and hyphens.
  const char *name;
  // The traffic in a sentence; may be NULL.
  const char *summary;
  // Passed to `create` unchanged.
  void *context;
  // Creates an instance.
  plait_create_workload create;
  // Frees an instance; may be NULL.
  plait_destroy destroy;
  // Adds the first steps.
  plait_begin begin;
  // Adds steps at a time; may be NULL if the workload never waits.
  plait_on_time on_time;
  // Adds steps after a delivery; may be NULL.
  plait_on_delivered on_delivered;
} plait_workload_class;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Drives two instances of a class at a time through random situations in a model of an engine:
// paths that fail and return, timeouts, losses, tiny windows, data that trickles in. The
// documentation of the Rust crate lists the rules, `plait_sched::conformance::Rule`. The rule
// against allocations is not checked, because only the class's author can count them.
//
// `parameters` may be NULL for none, `options` for the default amounts, `report` if it is not
// wanted. Returns PLAIT_OK and the report; PLAIT_ERROR_CONFORMANCE, with a message that names the
// rule, the seed and the facts; PLAIT_ERROR_CALLBACK if a callback failed; PLAIT_ERROR_ARGUMENT or
// _SIZE.
//
// The caller ensures:
// `scheduler_class` is null or as its documentation says; texts end in zeros; the structs begin
// with their true sizes.
int32_t plait_conformance_check(const struct plait_scheduler_class *scheduler_class,
                                const char *parameters,
                                const struct plait_conformance_options *options,
                                struct plait_conformance_report *report);

// Fills in `connection` without data and without window. `size` is `sizeof(plait_connection)`.
//
// Returns PLAIT_OK. On an error it returns PLAIT_ERROR_ARGUMENT or _SIZE and does not change
// `connection`.
//
// The caller ensures:
// `connection` is null or points to `size` writable bytes.
int32_t plait_connection_init(struct plait_connection *connection, uint32_t size);

// The message of this thread's last error: usually one line, in UTF-8. Empty before the first
// error. Valid until the thread's next error; must not be freed.
const char *plait_error_message(void);

// Fills in `path` without measurements: active, a window of one segment.
//
// `size` is `sizeof(plait_path)`, `mss` the largest segment in payload bytes. Returns PLAIT_OK. On
// an error it returns PLAIT_ERROR_ARGUMENT or _SIZE and does not change `path`.
//
// The caller ensures:
// `path` is null or points to `size` writable bytes.
int32_t plait_path_init(struct plait_path *path, uint32_t size, uint32_t mss);

// The version of the interface that the library has. It is at least that of the header, unless
// header and library do not match.
uint32_t plait_sched_version(void);

// The name of a built-in scheduler; NULL for all indices after the last one. Must not be freed.
const char *plait_scheduler_name(uint32_t index);

// Creates a scheduler from a text: a name, options, parameters, as in "round-robin",
// "lowest-rtt+rp", "round-robin:cwnd_limited=false".
//
// Returns PLAIT_OK and stores the scheduler in `*scheduler`; free it with plait_scheduler_free().
// On an error it returns PLAIT_ERROR_ARGUMENT or PLAIT_ERROR_SCHEDULER, and stores NULL.
//
// The caller ensures:
// `text` is null or ends in a zero; `scheduler` is null or writable.
int32_t plait_scheduler_new(const char *text, struct plait_scheduler **scheduler);

// Frees a scheduler. NULL has no effect.
//
// The caller ensures:
// `scheduler` is null or came from plait_scheduler_new() and was not freed.
void plait_scheduler_free(struct plait_scheduler *scheduler);

// The capabilities beyond assignments within the window that the scheduler needs from its engine:
// bits PLAIT_NEEDS_… An engine that lacks or does not know one of them refuses the scheduler. 0 if
// the handle is NULL.
//
// The caller ensures:
// `scheduler` is null or a handle that nothing else uses meanwhile.
uint32_t plait_scheduler_needs(struct plait_scheduler *scheduler);

// The frequent events, caused by every packet, that the scheduler wants to receive: bits
// PLAIT_INTEREST_… It always receives the other events. 0 if the handle is NULL.
//
// The caller ensures:
// `scheduler` is null or a handle that nothing else uses meanwhile.
uint32_t plait_scheduler_interest(struct plait_scheduler *scheduler);

// 1 if the scheduler waits and keeps its state whenever no path has room: it need not be asked
// then. Otherwise, and if the handle is NULL, 0.
//
// The caller ensures:
// `scheduler` is null or a handle that nothing else uses meanwhile.
uint32_t plait_scheduler_waits_without_room(struct plait_scheduler *scheduler);

// Asks for one decision at the time `now` (nanoseconds from an origin of the engine's choice;
// never earlier than before). Call it after each event, repeatedly with facts that contain the
// previous decision, until the decision is PLAIT_WAIT.
//
// The caller sets `decision->size`. Returns PLAIT_OK. On an error it returns PLAIT_ERROR_ARGUMENT,
// _SIZE or _PANIC, and does not change the decision.
//
// The caller ensures:
// `scheduler` is null or a handle that nothing else uses meanwhile. `connection`, `paths` and
// `decision` are null or point to structs that begin with their true size, `paths` to `count` of
// them.
int32_t plait_scheduler_decide(struct plait_scheduler *scheduler,
                               uint64_t now,
                               const struct plait_connection *connection,
                               const struct plait_path *paths,
                               uint32_t count,
                               struct plait_decision *decision);

// Reports an event, after the facts contain it. Returns PLAIT_OK, or PLAIT_ERROR_ARGUMENT, _SIZE
// or _PANIC.
//
// The caller ensures:
// `scheduler` is null or a handle that nothing else uses meanwhile. `event`, `connection` and
// `paths` are null or point to structs that begin with their true size, `paths` to `count` of
// them.
int32_t plait_scheduler_on_event(struct plait_scheduler *scheduler,
                                 const struct plait_event *event,
                                 const struct plait_connection *connection,
                                 const struct plait_path *paths,
                                 uint32_t count);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PLAIT_SCHED_H */
