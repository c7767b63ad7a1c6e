/* The built-in controller `newreno` in C, as reno.py: that of TCP and QUIC, and that of SCTP. */
#include <plait_sched.h>

#include <stdio.h>
#include <stdlib.h>

struct reno {
	uint64_t credit; /* acknowledged bytes that have not grown the window yet */
	int timed_out; /* nothing was acknowledged since a timeout */
	int after_timeout; /* slow start follows a timeout */
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int32_t create(void *context, const char *parameters, plait_window *path, void **state, char *message, uint32_t capacity)
{
	(void)context;
	(void)path;
	if (*parameters) {
		snprintf(message, capacity, "unknown parameter in \"%s\": it takes none", parameters);
		return PLAIT_ERROR_CALLBACK;
	}
	*state = calloc(1, sizeof(struct reno));
	return *state ? PLAIT_OK : PLAIT_ERROR_CALLBACK;
}

/* Slow start. Returns the bytes that are left to congestion avoidance. */
static uint64_t slow_start(struct reno *self, const plait_acknowledgement *ack, plait_window *path)
{
	uint64_t step, grown;

	if (path->window >= path->threshold) {
		self->after_timeout = 0;
		return ack->bytes;
	}
	if (ack->in_flight < path->window / 2 && !ack->limited)
		return 0;
	step = least(ack->bytes, (self->after_timeout ? 1 : 2) * path->segment);
	grown = least(step, path->threshold - path->window);
	path->window += grown;
	return step - grown;
}

static int32_t on_ack(void *state, const plait_acknowledgement *ack, plait_window *path)
{
	struct reno *self = state;
	uint64_t rest;

	if (!ack->may_grow)
		return PLAIT_OK;
	self->timed_out = 0;
	rest = slow_start(self, ack, path);
	if (rest && (ack->limited || ack->in_flight + path->segment > path->window)) {
		self->credit += least(rest, path->window);
		if (self->credit >= path->window) {
			self->credit -= path->window;
			path->window += path->segment;
		}
	}
	return PLAIT_OK;
}

/* Half of the used window, two segments at least. */
static uint64_t half(const plait_congestion_event *event, const plait_window *path)
{
	return most(least(event->outstanding, path->window) / 2, 2 * path->segment);
}

static int32_t on_event(void *state, const plait_congestion_event *event, plait_window *path)
{
	struct reno *self = state;

	switch (event->kind) {
	case PLAIT_CONGESTION_LOSS:
	case PLAIT_CONGESTION_MARK:
		path->threshold = path->window = half(event, path);
		self->timed_out = self->after_timeout = 0;
		self->credit = 0;
		break;
	case PLAIT_CONGESTION_TIMEOUT:
		if (!self->timed_out)
			path->threshold = half(event, path);
		path->window = path->segment;
		self->timed_out = self->after_timeout = 1;
		self->credit = 0;
		break;
	case PLAIT_CONGESTION_COLLAPSE:
		path->window = most(event->window, path->segment);
		break;
	case PLAIT_CONGESTION_UNDONE:
		path->window = most(path->window, event->window);
		path->threshold = most(path->threshold, event->threshold);
		break;
	case PLAIT_CONGESTION_PENALTY:
		if (path->window >= path->threshold)
			path->threshold = most(path->threshold / 2, 2 * path->segment);
		path->window = most(path->window / 2, path->segment);
		self->credit = 0;
		break;
	case PLAIT_CONGESTION_IDLE:
		path->window = least(path->window, path->initial);
		break;
	default: /* the rule takes no notice */
		break;
	}
	return PLAIT_OK;
}

/* SCTP's: `credit` is its partial_bytes_acked (RFC 9260, section 7.2). */
static int32_t sctp_on_ack(void *state, const plait_acknowledgement *ack, plait_window *path)
{
	struct reno *self = state;
	int full = ack->in_flight >= path->window;

	if (!ack->may_grow)
		return PLAIT_OK;
	if (path->window <= path->threshold) {
		path->window += full ? least(ack->bytes, path->segment) : 0;
		return PLAIT_OK;
	}
	self->credit += ack->bytes;
	if (self->credit < path->window)
		return PLAIT_OK;
	if (full) {
		self->credit -= path->window;
		path->window += path->segment;
	} else {
		self->credit = path->window;
	}
	return PLAIT_OK;
}

static int32_t sctp_on_event(void *state, const plait_congestion_event *event, plait_window *path)
{
	struct reno *self = state;
	uint64_t half = most(path->window / 2, 4 * path->segment);

	switch (event->kind) {
	case PLAIT_CONGESTION_LOSS:
	case PLAIT_CONGESTION_MARK:
	case PLAIT_CONGESTION_TIMEOUT:
		path->threshold = half;
		path->window = event->kind == PLAIT_CONGESTION_TIMEOUT ? path->segment : half;
		self->credit = 0;
		break;
	case PLAIT_CONGESTION_PENALTY:
		if (path->window > path->threshold)
			path->threshold = half;
		path->window = most(path->window / 2, path->segment);
		break;
	case PLAIT_CONGESTION_IDLE:
		path->window = least(path->window, half);
		break;
	case PLAIT_CONGESTION_DRAINED:
		self->credit = 0;
		break;
	default:
		break;
	}
	return PLAIT_OK;
}

static const plait_controller_class classes[] = {
	{
		.size = sizeof(plait_controller_class),
		.name = "Reno",
		.summary = "Slow start, congestion avoidance, fast recovery, as TCP and QUIC do it.",
		.create = create,
		.destroy = free,
		.on_ack = on_ack,
		.on_event = on_event,
	},
	{
		.size = sizeof(plait_controller_class),
		.name = "SctpReno",
		.summary = "The same as SCTP does it.",
		.create = create,
		.destroy = free,
		.on_ack = sctp_on_ack,
		.on_event = sctp_on_event,
	},
};

const plait_controller_class *plait_controller_class_at(uint32_t index)
{
	return index < sizeof classes / sizeof *classes ? &classes[index] : NULL;
}

PLAIT_SCHEDULER_SOURCE;
