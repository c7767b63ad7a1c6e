/* The built-in workloads `file`, `cbr` and `request-response` in C. Sizes are in bytes, times in seconds. */
#include <plait_sched.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kind {
	double size, start; /* File */
	double rate, block, count; /* Blocks: bit/s, bytes, blocks so far */
	double response, think, parallel, left; /* Clients */
	double deadline;
};

static uint64_t nanoseconds(double seconds)
{
	return (uint64_t)(seconds * 1e9 + 0.5);
}

/* Reads `name=value:name=value`. */
static int32_t create(void *context, const char *parameters, void **state, char *message, uint32_t capacity)
{
	struct kind *self = calloc(1, sizeof *self);
	int length;

	(void)context;
	if (!self)
		return PLAIT_ERROR_CALLBACK;
	self->deadline = 0.1;
	self->parallel = 1;
	self->left = 1000;
	while (*parameters) {
		struct {
			const char *name;
			double *value;
		} known[] = {
			{ "size=", &self->size },	  { "start=", &self->start },	    { "rate=", &self->rate },
			{ "block=", &self->block },	  { "response=", &self->response }, { "think=", &self->think },
			{ "parallel=", &self->parallel }, { "count=", &self->left },	    { "deadline=", &self->deadline },
		};
		size_t i = 0, all = sizeof known / sizeof *known;

		while (i < all && strncmp(parameters, known[i].name, strlen(known[i].name)))
			i++;
		length = 0;
		if (i == all || sscanf(parameters + strlen(known[i].name), "%lf%n:%n", known[i].value, &length, &length) != 1) {
			snprintf(message, capacity, "wrong parameter \"%s\"", parameters);
			free(self);
			return PLAIT_ERROR_CALLBACK;
		}
		parameters += strlen(known[i].name) + (size_t)length;
	}
	*state = self;
	return PLAIT_OK;
}

static int32_t end(plait_steps *steps)
{
	plait_step step = { .size = sizeof step, .kind = PLAIT_STEP_END };

	return steps->add(steps, &step);
}

static int32_t file_begin(void *state, plait_steps *steps)
{
	const struct kind *self = state;
	plait_step step = {
		.size = sizeof step,
		.kind = PLAIT_STEP_WRITE,
		.at = nanoseconds(self->start),
		.bytes = (uint64_t)self->size,
	};
	int32_t error = steps->add(steps, &step);

	return error ? error : end(steps);
}

static int32_t blocks_begin(void *state, plait_steps *steps)
{
	plait_step step = { .size = sizeof step, .kind = PLAIT_STEP_WAIT };

	(void)state;
	return steps->add(steps, &step);
}

static int32_t blocks_on_time(void *state, uint64_t now, plait_steps *steps)
{
	struct kind *self = state;
	plait_step write = {
		.size = sizeof write,
		.kind = PLAIT_STEP_WRITE,
		.bytes = (uint64_t)self->block,
		.deadline = nanoseconds(self->deadline),
	};
	plait_step wait = { .size = sizeof wait, .kind = PLAIT_STEP_WAIT };
	int32_t error = steps->add(steps, &write);

	(void)now;
	self->count++;
	wait.at = (uint64_t)(self->count * self->block * 8e9 / self->rate);
	return error ? error : steps->add(steps, &wait);
}

static int32_t ask(struct kind *self, uint32_t client, uint64_t at, plait_steps *steps)
{
	plait_step step = {
		.size = sizeof step,
		.kind = PLAIT_STEP_WRITE,
		.at = at,
		.bytes = (uint64_t)self->response,
		.stream = client,
		.deadline = nanoseconds(self->deadline),
	};
	int32_t error;

	if (self->left < 1)
		return PLAIT_OK;
	error = steps->add(steps, &step);
	return !error && --self->left < 1 ? end(steps) : error;
}

static int32_t clients_begin(void *state, plait_steps *steps)
{
	struct kind *self = state;
	int32_t error = PLAIT_OK;

	for (uint32_t client = 0; client < self->parallel && !error; client++)
		error = ask(self, client, 0, steps);
	return error;
}

static int32_t clients_on_delivered(void *state, uint64_t now, const plait_delivery *delivery, plait_steps *steps)
{
	struct kind *self = state;

	return ask(self, delivery->stream, now + nanoseconds(self->think), steps);
}

static const plait_workload_class classes[] = {
	{
		.size = sizeof(plait_workload_class),
		.name = "File",
		.create = create,
		.destroy = free,
		.begin = file_begin,
	},
	{
		.size = sizeof(plait_workload_class),
		.name = "Blocks",
		.create = create,
		.destroy = free,
		.begin = blocks_begin,
		.on_time = blocks_on_time,
	},
	{
		.size = sizeof(plait_workload_class),
		.requests = 1,
		.name = "Clients",
		.create = create,
		.destroy = free,
		.begin = clients_begin,
		.on_delivered = clients_on_delivered,
	},
};

const plait_workload_class *plait_workload_class_at(uint32_t index)
{
	return index < sizeof classes / sizeof *classes ? &classes[index] : NULL;
}

PLAIT_SCHEDULER_SOURCE;
