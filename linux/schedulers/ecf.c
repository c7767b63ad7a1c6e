// SPDX-License-Identifier: GPL-2.0-only
/* ECF, earliest completion first: a slower path stays unused while the fastest one, though full,
 * would complete earlier.
 *
 * Lim, Nahum, Towsley, Gibbens, ECF: An MPTCP Path Scheduler to Manage Heterogeneous Paths (ACM
 * CoNEXT 2017), Algorithm 1. Let f be the path with the lowest round-trip time, which is full, s
 * the path that lowest RTT would use, k the number of unassigned segments, and d the larger
 * variation. The scheduler waits if
 *   (1 + k/w_f) r_f < (1 + waiting beta) (r_s + d)  and  (k/w_s) r_s >= 2 r_f + d.
 * "clamped", as in the authors' code, takes a window at least for k. d uses the variation of RFC
 * 6298; the code uses Linux' rttvar / 2, which is 100 ms at least, and cuts its products to 32
 * bits.
 */
#include "helpers.h"

#define ONE	1000U

PLAIT_INTEGER(ecf_beta_milli, 250, 0, 100000,
	      "extra time that the scheduler continues to wait, compared with beginning to wait, in thousandths");
PLAIT_CHOICE(ecf_rounds,
	     "the remaining data takes a round trip at least (clamped), or less than a window takes a fraction of one (fraction)",
	     "clamped", "fraction");

static struct plait_parameter *const parameters[] = { &ecf_beta_milli, &ecf_rounds, NULL };

struct ecf {
	u32 beta;			/* in thousandths */
	u32 suspects;
	bool fraction;
	bool waiting;			/* the last answer was to wait */
};

static u32 needs(void)
{
	return 0;
}

static void init(void *state)
{
	struct ecf *ecf = state;

	ecf->beta = plait_value(&ecf_beta_milli);
	ecf->fraction = plait_value(&ecf_rounds);
}

/* Whether slow stays unused with this many unassigned segments. Both inequalities are multiplied by
 * their denominators.
 */
static bool waits(struct ecf *ecf, const struct plait_path *fast, const struct plait_path *slow,
		  u64 left)
{
	u32 fast_window = max(fast->cwnd, 1U), slow_window = max(slow->cwnd, 1U);
	u64 by_fast = ecf->fraction ? left : max_t(u64, left, fast_window);
	u64 by_slow = ecf->fraction ? left : max_t(u64, left, slow_window);
	u64 margin = max(fast->rttvar, slow->rttvar);
	u32 patience = ONE + (ecf->waiting ? ecf->beta : 0);
	u64 done, arrives;

	by_fast = by_fast > U64_MAX - fast_window ? U64_MAX : by_fast + fast_window;
	done = mul_capped(mul_capped(fast->srtt, by_fast), ONE);
	arrives = mul_capped(mul_capped(slow->srtt + margin, fast_window), patience);
	if (done >= arrives) {
		ecf->waiting = false;
		return false;
	}
	if (mul_capped(slow->srtt, by_slow) < mul_capped(2 * fast->srtt + margin, slow_window))
		return false;
	ecf->waiting = true;
	return true;
}

static struct plait_decision decide(void *state, u64 now, const struct plait_connection *connection,
				    const struct plait_path *paths, unsigned int count)
{
	const struct plait_path *fast, *slow = fastest(open_paths(paths, count), paths, count);
	u64 most = sendable(connection);
	struct ecf *ecf = state;

	if (!slow || !most)
		return plait_wait();
	fast = fastest(trusted(ecf->suspects, usable(paths, count)), paths, count);
	if (!fast || !fast->srtt || fast->srtt >= slow->srtt)
		return plait_assign(slow->id, clip(room(slow), most));
	if (waits(ecf, fast, slow, connection->unassigned))
		return plait_wait();
	return plait_assign(slow->id, 1);
}

static void on_event(void *state, const struct plait_event *event,
		     const struct plait_connection *connection, const struct plait_path *paths,
		     unsigned int count)
{
	struct ecf *ecf = state;

	suspects_on_event(&ecf->suspects, event);
}

const struct plait_algorithm plait_ecf = {
	.name = "ecf",
	.kernel_name = "ecf",
	.state_size = sizeof(struct ecf),
	.parameters = parameters,
	.needs = needs,
	.init = init,
	.decide = decide,
	.on_event = on_event,
};
