// SPDX-License-Identifier: GPL-2.0-only
/* The load of a path in its facts, at each event and after it: the linker puts these functions
 * before those of the same names (--wrap).
 */
#include "executor.h"
#include "../schedulers/options.h"

/* The last reported transmission, until another event or look. */
static const struct plait_path *last_sent;
static u32 last_in_flight;
unsigned int transmissions_seen;

void __real_plait_settle(struct mptcp_sock *msk, struct plait_socket *plait);
void __real_plait_on_event(const struct plait_algorithm *algorithm, void *state,
			   const struct plait_event *event,
			   const struct plait_connection *connection,
			   const struct plait_path *paths, unsigned int count);

/* Every look at the sockets begins here. */
void __wrap_plait_settle(struct mptcp_sock *msk, struct plait_socket *plait)
{
	last_sent = NULL;
	__real_plait_settle(msk, plait);
}

/* Of several reported transmissions, each has one more segment in flight than the one before. */
void __wrap_plait_on_event(const struct plait_algorithm *algorithm, void *state,
			   const struct plait_event *event,
			   const struct plait_connection *connection,
			   const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *path = &paths[event->path];

	if (event->kind == PLAIT_SENT) {
		check(path->in_flight > 0);
		check(last_sent != path || path->in_flight == last_in_flight + 1);
		transmissions_seen += last_sent == path;
	}
	last_sent = event->kind == PLAIT_SENT ? path : NULL;
	last_in_flight = path->in_flight;
	__real_plait_on_event(algorithm, state, event, connection, paths, count);
}

/* Data that a subflow took is in flight as far as its window admits. The rest is queued. */
void check_load(const struct model *model)
{
	struct plait_socket *plait = plait_of(&model->msk);

	if (!plait || !plait->begun)
		return;
	plait_look((struct mptcp_sock *)&model->msk, plait);
	for (unsigned int i = 0; i < plait->facts.count; i++) {
		const struct plait_path *path = &plait->facts.paths[i];
		const struct tcp_sock *tp = tcp_sk(plait->facts.ssks[i]);
		u64 queued = plait->queues.paths[i].bytes;
		u32 taken;

		if (!plait->facts.ssks[i])
			continue;
		taken = tp->write_seq - tp->snd_nxt;
		if (tp->packets_out < tp->snd_cwnd && taken)
			check(path->in_flight > tp->packets_out);
		check(path->in_flight <= max(tp->packets_out, tp->snd_cwnd));
		check((path->in_flight - tp->packets_out + path->queued) * (u64)path->mss >=
		      queued + taken);
		check(path->queued * (u64)path->mss < queued + taken + path->mss);
	}
}
