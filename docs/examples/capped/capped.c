/* The open path with the shortest round trip, with at most `share` of its congestion window in flight. */
#include <plait_sched.h>

#include <stdio.h>
#include <stdlib.h>

struct capped {
	double share;
};

/* Paths are as far apart as the writer of the array says: a later version of Plait knows more of each. */
static const plait_path *path_at(const plait_path *paths, uint32_t index)
{
	return (const plait_path *)((const char *)paths + (size_t)index * paths->size);
}

/* Whether new data may use the path: active ones, or backup ones if none is active. */
static int usable(const plait_path *path, int any_active)
{
	return path->state == PLAIT_PATH_ACTIVE || (path->state == PLAIT_PATH_BACKUP && !any_active);
}

/* Whether a segment would leave at once, as far as path and `share` have a say. */
static int below(const struct capped *self, const plait_path *path)
{
	double occupied = (double)path->in_flight + path->queued, most = self->share * path->cwnd;

	if (most < 1)
		most = 1;
	return !path->in_recovery && occupied + path->lost < path->cwnd && occupied < most;
}

static int32_t create(void *context, const char *parameters, plait_traits *traits, void **state, char *message, uint32_t capacity)
{
	struct capped *self = malloc(sizeof *self);
	char end;

	(void)context;
	if (!self)
		return PLAIT_ERROR_CALLBACK;
	self->share = 1;
	if (*parameters && sscanf(parameters, "share=%lf%c", &self->share, &end) != 1) {
		snprintf(message, capacity, "unknown parameter in \"%s\": choose share, a number", parameters);
		free(self);
		return PLAIT_ERROR_CALLBACK;
	}
	if (!(self->share > 0)) {
		snprintf(message, capacity, "share is %g: more than 0", self->share);
		free(self);
		return PLAIT_ERROR_CALLBACK;
	}
	traits->interest = 0; /* nothing but decisions matters to it */
	*state = self;
	return PLAIT_OK;
}

static int32_t decide(void *state, uint64_t now, const plait_connection *connection, const plait_path *paths, uint32_t count, plait_decision *decision)
{
	const plait_path *best = NULL;
	int any_active = 0;

	(void)now;
	for (uint32_t i = 0; i < count; i++)
		any_active |= path_at(paths, i)->state == PLAIT_PATH_ACTIVE;
	for (uint32_t i = 0; i < count; i++) {
		const plait_path *path = path_at(paths, i);

		if (usable(path, any_active) && below(state, path) && (!best || path->srtt < best->srtt)) {
			best = path;
			decision->path = i;
		}
	}
	if (best && connection->unassigned && connection->window_left) {
		decision->kind = PLAIT_ASSIGN;
		decision->segments = 1;
	}
	return PLAIT_OK; /* `decision` comes as PLAIT_WAIT */
}

static const plait_scheduler_class classes[] = { {
	.size = sizeof(plait_scheduler_class),
	.name = "Capped",
	.summary = "The shortest open path, with a share of its window in flight.",
	.create = create,
	.destroy = free,
	.decide = decide,
} };

const plait_scheduler_class *plait_scheduler_class_at(uint32_t index)
{
	return index < sizeof classes / sizeof *classes ? &classes[index] : NULL;
}

PLAIT_SCHEDULER_SOURCE;
