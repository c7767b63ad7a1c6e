/* Additive increase, multiplicative decrease: a loss keeps the share `keep` of the window. */
#include <plait_sched.h>

#include <stdio.h>
#include <stdlib.h>

struct aimd {
	double keep;
};

static int32_t create(void *context, const char *parameters, plait_window *path, void **state, char *message, uint32_t capacity)
{
	struct aimd *self = malloc(sizeof *self);
	char end;

	(void)context;
	(void)path; /* it begins with the scenario's window */
	if (!self)
		return PLAIT_ERROR_CALLBACK;
	self->keep = 0.5;
	if (*parameters && sscanf(parameters, "keep=%lf%c", &self->keep, &end) != 1) {
		snprintf(message, capacity, "unknown parameter in \"%s\": choose keep, a number", parameters);
		free(self);
		return PLAIT_ERROR_CALLBACK;
	}
	*state = self;
	return PLAIT_OK;
}

static int32_t on_ack(void *state, const plait_acknowledgement *ack, plait_window *path)
{
	(void)state;
	if (!ack->may_grow || !ack->limited)
		return PLAIT_OK;
	if (path->window < path->threshold)
		path->window += ack->bytes;
	else
		path->window += path->segment * ack->bytes / path->window;
	return PLAIT_OK;
}

static int32_t on_event(void *state, const plait_congestion_event *event, plait_window *path)
{
	const struct aimd *self = state;

	if (event->kind > PLAIT_CONGESTION_TIMEOUT)
		return PLAIT_OK; /* no loss, no mark and no timeout */
	path->threshold = (uint64_t)(self->keep * (double)path->window);
	if (path->threshold < 2 * path->segment)
		path->threshold = 2 * path->segment;
	path->window = event->kind == PLAIT_CONGESTION_TIMEOUT ? path->segment : path->threshold;
	return PLAIT_OK;
}

static const plait_controller_class classes[] = { {
	.size = sizeof(plait_controller_class),
	.name = "Aimd",
	.summary = "Additive increase, multiplicative decrease.",
	.create = create,
	.destroy = free,
	.on_ack = on_ack,
	.on_event = on_event,
} };

const plait_controller_class *plait_controller_class_at(uint32_t index)
{
	return index < sizeof classes / sizeof *classes ? &classes[index] : NULL;
}

PLAIT_SCHEDULER_SOURCE;
