// SPDX-License-Identifier: GPL-2.0-only
/* Plait's rule 2, trains: estimates of a path's bottleneck, as in algorithms/plait/bottleneck.rs of
 * crates/plait-sched, which explains them.
 */
#include "earliest_arrival.h"

/* Segments of a train, at most and at least. */
#define TRAIN		16U
#define SHORTEST	3U
/* Acknowledgments of a whole train that come at fewer moments were delayed together. */
#define MOMENTS		3U
/* A minimum covers between one and two of these periods, in nanoseconds. */
#define PERIOD		5000000000ULL
/* Segments that an overflow of the queue loses at once, at least. */
#define OVERFLOW	2U
/* Segments of the smallest backlog that can overflow a queue. */
#define SMALLEST	6U
/* Errors of the predicted queueing delay, in segments, that do not show that a path is busy. */
#define NOISE		4U

static void minimum_note(struct minimum *minimum, u64 now, u64 value)
{
	if (less(now, minimum->begun) > PERIOD)
		*minimum = (struct minimum){ U64_MAX, minimum->newer, now };
	minimum->newer = min(minimum->newer, value);
}

static void maximum_note(struct maximum *maximum, u64 now, u64 period, u64 value)
{
	u64 age = less(now, maximum->begun);

	if (age > period)
		*maximum = (struct maximum){ 0, age > 2 * period ? 0 : maximum->newer, now };
	maximum->newer = max(maximum->newer, value);
}

static u64 maximum_get(const struct maximum *maximum)
{
	return max(maximum->newer, maximum->older);
}

void plait_bottleneck_init(struct bottleneck *bottleneck)
{
	*bottleneck = (struct bottleneck){
		.spacing = { U64_MAX, U64_MAX, 0 },
		.round_trip = { U64_MAX, U64_MAX, 0 },
		.capacity = { U64_MAX, U64_MAX, 0 },
	};
}

u64 plait_spacing(const struct bottleneck *bottleneck, const struct plait_path *path)
{
	u64 bits = (u64)path->mss * 8 * 1000000000;
	u64 pacing = path->pacing_rate ? div64_u64(bits, path->pacing_rate) : 0;

	if (has_train(bottleneck))
		return max(minimum_get(&bottleneck->spacing), pacing);
	return path->pacing_rate ? pacing : div_u64(path->srtt, max(path->cwnd, 1U));
}

u64 plait_capacity(const struct bottleneck *bottleneck, const struct plait_path *path)
{
	u64 least = minimum_get(&bottleneck->capacity);

	return least == U64_MAX ? U64_MAX :
				  div64_u64(least, max_t(u64, plait_spacing(bottleneck, path), 1));
}

u32 plait_in_flight(const struct bottleneck *bottleneck, const struct plait_path *path)
{
	return path->pacing_rate ? min(path->in_flight, bottleneck->in_flight) : path->in_flight;
}

/* The time that all segments in flight occupy the bottleneck. */
static u64 most(const struct bottleneck *bottleneck, const struct plait_path *path)
{
	return mul_capped(plait_spacing(bottleneck, path), plait_in_flight(bottleneck, path));
}

u64 plait_corrected_free(const struct bottleneck *bottleneck, u64 now,
			 const struct plait_path *path)
{
	u64 latest = add_capped(now, most(bottleneck, path));

	return max(min(add_capped(bottleneck->free, bottleneck->error), latest), bottleneck->free);
}

bool plait_is_idle(const struct bottleneck *bottleneck, u64 now, const struct plait_path *path)
{
	u64 each = plait_spacing(bottleneck, path);
	bool noise = bottleneck->error <= mul_capped(each, NOISE);
	u64 free = noise ? bottleneck->free : plait_corrected_free(bottleneck, now, path);

	return free <= add_capped(now, mul_capped(each, 2));
}

s64 plait_path_delay(const struct earliest *earliest, const struct plait_path *path)
{
	u64 least = least_round_trip(&earliest->bottlenecks[path->id], path);
	s64 delay;

	if (!path->srtt)
		return PLAIT_UNKNOWN;
	if (earliest->one_way) {
		if (path->forward_delay == PLAIT_UNKNOWN)
			return PLAIT_UNKNOWN;
		/* Queues lengthen the forward delay and the round trip alike. */
		delay = earlier(path->forward_delay, less(path->srtt, least));
	} else {
		delay = (least + less(path->own_rtt, path->srtt)) / 2;
	}
	return later(delay, path->rttvar / 4);
}

/* Puts the newest packets into the train. */
static void extend(struct bottleneck *bottleneck, u64 now, u32 sent, const struct plait_path *path)
{
	struct train *train = &bottleneck->train;
	u64 own;

	bottleneck->last_sent = now;
	if (!train->begun) {
		own = mul_capped(plait_spacing(bottleneck, path), sent);
		*train = (struct train){
			.begun = true,
			.first_sent = now,
			.last_sent = now,
			.wait = less(less(bottleneck->free, now), own),
			.sent = sent - 1,
			.ahead = max_t(u32, less(path->in_flight, sent - 1), 1),
		};
	} else if (!train->acknowledged && train->sent + sent < TRAIN) {
		train->last_sent = now;
		train->sent += sent;
	}
}

void plait_bottleneck_on_sent(struct bottleneck *bottleneck, u64 now, bool exact,
			      const struct plait_path *path)
{
	bottleneck->free = add_capped(max(bottleneck->free, now), plait_spacing(bottleneck, path));
	maximum_note(&bottleneck->backlog, now, least_round_trip(bottleneck, path),
		     bottleneck->free - now);
	bottleneck->in_flight++;
	if (exact)
		extend(bottleneck, now, 1, path);
	else
		bottleneck->sent++;
}

void plait_bottleneck_on_acked(struct bottleneck *bottleneck, const struct plait_event *event)
{
	bottleneck->acked += event->amount;
	bottleneck->in_flight = less(bottleneck->in_flight, event->amount);
	if (event->rtt) {
		bottleneck->sample = event->rtt;
		bottleneck->sampled = true;
	}
}

void plait_bottleneck_end_train(struct bottleneck *bottleneck)
{
	bottleneck->sent = 0;
	bottleneck->train.begun = false;
}

void plait_bottleneck_on_lost(struct bottleneck *bottleneck, u64 now, u32 segments,
			      const struct plait_path *path)
{
	u64 smallest = mul_capped(plait_spacing(bottleneck, path), SMALLEST);
	u64 queued = less(path->latest_rtt, least_round_trip(bottleneck, path));
	u64 backlog = max(maximum_get(&bottleneck->backlog), queued);

	bottleneck->in_flight = less(bottleneck->in_flight, segments);
	if (segments >= OVERFLOW && backlog >= smallest)
		minimum_note(&bottleneck->capacity, now, backlog);
	plait_bottleneck_end_train(bottleneck);
}

/* The spacing that the train shows, if the newest acknowledgment ends it; otherwise 0. */
static u64 measure(struct bottleneck *bottleneck, u64 now, u32 acked, const struct plait_path *path)
{
	u64 waited = less(path->latest_rtt, least_round_trip(bottleneck, path));
	struct train *train = &bottleneck->train;
	u64 sent, back, each;
	bool queued, smaller;

	/* A retransmission fills a gap, and many segments are acknowledged at once. */
	if (path->repairing)
		train->begun = false;
	if (!train->begun)
		return 0;
	if (train->acknowledged) {
		train->acked += acked;
		train->moments++;
	} else if (acked < train->ahead) {
		train->ahead -= acked;
		return 0;
	} else {
		/* The acknowledgment may cover more of the train: the train begins at its end. */
		train->acknowledged = true;
		train->first_acked = now;
		bottleneck->free = less(bottleneck->free, less(train->wait, waited));
		bottleneck->error = less(waited, train->wait);
		train->sent = less(train->sent, acked - train->ahead);
	}
	if (train->sent >= SHORTEST && train->acked < train->sent && path->in_flight)
		return 0;
	train->begun = false;
	if (train->acked < SHORTEST || train->moments < MOMENTS)
		return 0;
	sent = train->last_sent - train->first_sent;
	back = now - train->first_acked;
	each = div_u64(max(back, sent), train->acked);
	queued = back > sent / 8 * 9 ||
		 path->latest_rtt > least_round_trip(bottleneck, path) / 8 * 9;
	/* The sender may have spaced the train: its spacing is an upper bound. */
	smaller = has_train(bottleneck) && each < minimum_get(&bottleneck->spacing);
	return queued || smaller ? each : 0;
}

void plait_bottleneck_refresh(struct bottleneck *bottleneck, u64 now, const struct plait_path *path,
			      bool trains)
{
	u32 sent = bottleneck->sent, acked = bottleneck->acked;
	u64 measured, each, latest, earliest = 0;

	bottleneck->sent = 0;
	bottleneck->acked = 0;
	if (path->in_flight < path->cwnd)
		bottleneck->in_flight = path->in_flight;
	if (sent) {
		each = plait_spacing(bottleneck, path);
		bottleneck->free = max(bottleneck->free, add_capped(now, mul_capped(each, sent)));
		extend(bottleneck, now, sent, path);
	}
	if (bottleneck->sampled)
		minimum_note(&bottleneck->round_trip, now, bottleneck->sample);
	bottleneck->sampled = false;
	if (!acked)
		return;
	measured = measure(bottleneck, now, acked, path);
	if (measured && trains)
		minimum_note(&bottleneck->spacing, now, measured);
	each = plait_spacing(bottleneck, path);
	latest = add_capped(now, most(bottleneck, path));
	if (plait_in_flight(bottleneck, path))
		earliest = max(add_capped(bottleneck->last_sent, each),
			       less(latest, least_round_trip(bottleneck, path)));
	bottleneck->free = max(min(bottleneck->free, latest), earliest);
}
