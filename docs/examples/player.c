/* A client that asks for `segments` segments of 1 MB, one after the other, each within 2 s. */
#include <plait_sched.h>

#include <stdio.h>
#include <stdlib.h>

struct player {
	unsigned left;
};

static int32_t create(void *context, const char *parameters, void **state, char *message, uint32_t capacity)
{
	struct player *self = malloc(sizeof *self);
	char end;

	(void)context;
	if (!self)
		return PLAIT_ERROR_CALLBACK;
	self->left = 10;
	if (*parameters && sscanf(parameters, "segments=%u%c", &self->left, &end) != 1) {
		snprintf(message, capacity, "unknown parameter in \"%s\": choose segments, a number", parameters);
		free(self);
		return PLAIT_ERROR_CALLBACK;
	}
	*state = self;
	return PLAIT_OK;
}

static int32_t begin(void *state, plait_steps *steps)
{
	struct player *self = state;
	plait_step step = { .size = sizeof step, .kind = PLAIT_STEP_END };

	if (self->left) {
		self->left--;
		step.kind = PLAIT_STEP_WRITE;
		step.bytes = 1000000;
		step.deadline = 2000000000; /* nanoseconds */
	}
	return steps->add(steps, &step);
}

static int32_t on_delivered(void *state, uint64_t now, const plait_delivery *delivery, plait_steps *steps)
{
	(void)now;
	(void)delivery;
	return begin(state, steps);
}

static const plait_workload_class classes[] = { {
	.size = sizeof(plait_workload_class),
	.requests = 1, /* the client asks, the sender answers */
	.name = "Player",
	.summary = "Segments of a video, one after the other.",
	.create = create,
	.destroy = free,
	.begin = begin,
	.on_delivered = on_delivered,
} };

const plait_workload_class *plait_workload_class_at(uint32_t index)
{
	return index < sizeof classes / sizeof *classes ? &classes[index] : NULL;
}

PLAIT_SCHEDULER_SOURCE;
