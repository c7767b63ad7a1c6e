/* Controllers and workloads that break rules. */
#include <plait_sched.h>

#include <stdio.h>
#include <stdlib.h>

static int alive;

/* A number says which rule an instance breaks. */
static int32_t create(const char *parameters, void **state, char *message, uint32_t capacity)
{
	int *fault = malloc(sizeof *fault);

	*fault = 0;
	if (*parameters && sscanf(parameters, "fault=%d", fault) != 1) {
		snprintf(message, capacity, "expected fault, got %s", parameters);
		free(fault);
		return PLAIT_ERROR_CALLBACK;
	}
	alive++;
	*state = fault;
	return PLAIT_OK;
}

static void destroy(void *state)
{
	alive--;
	free(state);
}

/* At the end of the process every instance has been freed. */
__attribute__((destructor)) static void count(void)
{
	if (alive) {
		fprintf(stderr, "%d instances are left\n", alive);
		abort();
	}
}

static int32_t control(void *context, const char *parameters, plait_window *path, void **state, char *message,
		       uint32_t capacity)
{
	int32_t error = create(parameters, state, message, capacity);

	(void)context;
	if (!error && **(int **)state == 1)
		path->window = 0;
	if (!error && **(int **)state == 5)
		path->pacing_rate = 100000;
	return error;
}

static int32_t on_ack(void *state, const plait_acknowledgement *ack, plait_window *path)
{
	switch (*(int *)state) {
	case 2:
		path->window = 0;
		return PLAIT_OK;
	case 3:
		path->window -= 2 * path->window;
		return PLAIT_OK;
	case 4:
		return 77;
	case 5:
		path->window = 1000000000;
		return ack->rate && ack->path_count == 2 && ack->paths[ack->path].srtt == ack->srtt ? PLAIT_OK : 78;
	case 6:
		path->window = 1;
		return PLAIT_OK;
	default:
		path->window += ack->bytes;
		return ack->rate ? 79 : PLAIT_OK;
	}
}

static int32_t on_event(void *state, const plait_congestion_event *event, plait_window *path)
{
	(void)path;
	return *(int *)state == 7 && event->kind == PLAIT_CONGESTION_LOSS ? 80 : PLAIT_OK;
}

static const plait_controller_class controllers[] = {
	{
		.size = sizeof(plait_controller_class),
		.name = "Faulty",
		.create = control,
		.destroy = destroy,
		.on_ack = on_ack,
		.on_event = on_event,
	},
};

const plait_controller_class *plait_controller_class_at(uint32_t index)
{
	return index < 1 ? &controllers[index] : NULL;
}

static int32_t write_create(void *context, const char *parameters, void **state, char *message, uint32_t capacity)
{
	(void)context;
	return create(parameters, state, message, capacity);
}

static int32_t begin(void *state, plait_steps *steps)
{
	plait_step step = { .size = sizeof step, .kind = PLAIT_STEP_WRITE, .bytes = 1000 };

	switch (*(int *)state) {
	case 1:
		step.bytes = 0;
		break;
	case 2:
		step.kind = 9;
		break;
	case 3:
		step.size = 8;
		break;
	case 4:
		step.stream = 1000;
		break;
	case 5:
		step.kind = PLAIT_STEP_WAIT;
		break;
	case 6:
		return 77;
	case 7:
		return steps->add(steps, NULL);
	case 10:
		step.bytes = 1ull << 49;
		steps->add(steps, &step);
		break;
	}
	return steps->add(steps, &step);
}

static int32_t on_delivered(void *state, uint64_t now, const plait_delivery *delivery, plait_steps *steps)
{
	plait_step step = { .size = sizeof step, .kind = *(int *)state == 8 ? PLAIT_STEP_WAIT : PLAIT_STEP_END, .at = now };

	if (delivery->bytes != 1000 || delivery->number > 1)
		return 78;
	steps->add(steps, &step);
	step.kind = PLAIT_STEP_WRITE;
	step.bytes = 1;
	return *(int *)state == 9 ? steps->add(steps, &step) : PLAIT_OK;
}

static const plait_workload_class workloads[] = {
	{
		.size = sizeof(plait_workload_class),
		.name = "Faulty",
		.create = write_create,
		.destroy = destroy,
		.begin = begin,
		.on_delivered = on_delivered,
	},
};

const plait_workload_class *plait_workload_class_at(uint32_t index)
{
	return index < 1 ? &workloads[index] : NULL;
}
