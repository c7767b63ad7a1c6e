// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The functions of plait_sched.h, carried out by the caller's scheduler. libplait itself is not
 * linked: its schedulers are those of the caller, and never older ones.
 */
#include "remote.h"
#include "records.h"

struct plait_scheduler remote_scheduler;

uint32_t plait_scheduler_interest(struct plait_scheduler *scheduler)
{
	return scheduler->interest;
}

static size_t size_of(const plait_path *paths, uint32_t count)
{
	return count == 0 ? 0 : count * (size_t)paths->size;
}

int32_t plait_scheduler_decide(struct plait_scheduler *scheduler, uint64_t now,
			       const plait_connection *connection, const plait_path *paths,
			       uint32_t count, plait_decision *decision)
{
	(void)scheduler;
	(void)now; /* the caller has the clock */
	put_head(DECIDE, connection->size + size_of(paths, count));
	put(connection, connection->size);
	put(paths, size_of(paths, count));
	put_flush();
	if (!get(decision, sizeof(*decision)))
		die("standard input");
	return PLAIT_OK;
}

int32_t plait_scheduler_on_event(struct plait_scheduler *scheduler, const plait_event *event,
				 const plait_connection *connection, const plait_path *paths,
				 uint32_t count)
{
	(void)scheduler;
	put_head(EVENT, event->size + connection->size + size_of(paths, count));
	put(event, event->size);
	put(connection, connection->size);
	put(paths, size_of(paths, count));
	return PLAIT_OK;
}
