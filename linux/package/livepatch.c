// SPDX-License-Identifier: GPL-2.0-only
/* Stage two: hooks in an unmodified core, by the kernel's own livepatching. They are those of
 * linux/patches: a scheduler pushes the data of a subflow itself, is asked while it may send copies,
 * and hears of acknowledgments. No function of the core is copied. Each replaced one calls its
 * original behind the call that livepatching redirects.
 */
#include <linux/kallsyms.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/utsname.h>
#include <net/tcp.h>

#include "protocol.h"
#include "stock.h"

#ifndef CONFIG_X86_64
#error "stage two is for x86-64: the length of the redirected call is that of x86-64"
#endif

/* Bits of mptcp_sock.flags and cb_flags: net/mptcp/protocol.h, equal from 6.12 to 7.3. */
#define MPTCP_FALLBACK_DONE	2
#define MPTCP_PUSH_PENDING	1

static int push_pending(struct sock *sk, struct sock *ssk, struct mptcp_sendmsg_info *info);
static void push_all(struct sock *sk, unsigned int flags);
static void push_subflow(struct sock *sk, struct sock *ssk, bool first);
static bool incoming_options(struct sock *ssk, struct sk_buff *skb);

DEFINE_STATIC_CALL_RET0(original_push_pending, push_pending);
DEFINE_STATIC_CALL_NULL(original_push_all, push_all);
DEFINE_STATIC_CALL_NULL(original_push_subflow, push_subflow);
DEFINE_STATIC_CALL_RET0(original_incoming_options, incoming_options);

DEFINE_STATIC_CALL_RET0(plait_mptcp_sendmsg_frag, mptcp_sendmsg_frag);
DEFINE_STATIC_CALL_NULL(plait_mptcp_check_push, __mptcp_check_push);
DEFINE_STATIC_CALL_RET0(plait_mptcp_schedule_work, mptcp_schedule_work);
DEFINE_STATIC_CALL_NULL(plait_tcp_push, tcp_push);

/* All tasks run the replaced functions. */
static bool active;

static bool is_ours(const struct sock *sk)
{
	const struct mptcp_sock *msk = mptcp_sk(sk);
	const struct mptcp_sched_ops *sched = READ_ONCE(msk->sched);

	return READ_ONCE(active) && sched && sched->owner == THIS_MODULE &&
	       !test_bit(MPTCP_FALLBACK_DONE, &msk->flags);
}

/* True if no data waits, but the scheduler may send copies. */
static bool repeats(const struct sock *sk)
{
	const struct mptcp_sock *msk = mptcp_sk(sk);

	return is_ours(sk) && !msk->first_pending && plait_repeats(msk);
}

/* __subflow_push_pending() */
static int push_pending(struct sock *sk, struct sock *ssk, struct mptcp_sendmsg_info *info)
{
	int ret = is_ours(sk) ? plait_push(sk, ssk, info) : -EOPNOTSUPP;

	if (ret != -EOPNOTSUPP)
		return ret;
	return static_call(original_push_pending)(sk, ssk, info);
}

static bool is_scheduled(const struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;

	mptcp_for_each_subflow(msk, subflow)
		if (READ_ONCE(subflow->scheduled))
			return true;
	return false;
}

/* Like mptcp_sched_get_send(). */
static bool ask(struct mptcp_sock *msk)
{
	return is_scheduled(msk) || !plait_get_send(msk, plait_of(msk));
}

/* Pushes to a subflow whose lock is held. Returns the number of bytes, or an error. */
static int push_scheduled(struct sock *sk, struct sock *ssk, struct mptcp_sendmsg_info *info)
{
	int ret;

	mptcp_subflow_set_scheduled(mptcp_subflow_ctx(ssk), false);
	ret = push_pending(sk, ssk, info);
	if (info->mss_now)
		static_call(plait_tcp_push)(ssk, 0, info->mss_now, tcp_sk(ssk)->nonagle, info->size_goal);
	return ret;
}

/* __mptcp_push_pending(), which pushes only while data waits. The msk socket lock is held. */
static void push_all(struct sock *sk, unsigned int flags)
{
	struct mptcp_sock *msk = mptcp_sk(sk);
	struct mptcp_subflow_context *subflow;
	bool again = true;

	static_call(original_push_all)(sk, flags);
	while (again && repeats(sk) && ask(msk)) {
		again = false;
		mptcp_for_each_subflow(msk, subflow) {
			struct mptcp_sendmsg_info info = { .flags = flags };
			struct sock *ssk = mptcp_subflow_tcp_sock(subflow);

			if (!READ_ONCE(subflow->scheduled))
				continue;
			lock_sock(ssk);
			again |= push_scheduled(sk, ssk, &info) > 0;
			release_sock(ssk);
		}
	}
}

/* __mptcp_subflow_push_pending(), at an acknowledgment. The lock of this subflow is held, and that of
 * the msk data. Copies for other subflows are left to a task, since mptcp_subflow_delegate() needs
 * variables of the core.
 */
static void push_subflow(struct sock *sk, struct sock *ssk, bool first)
{
	struct mptcp_sock *msk = mptcp_sk(sk);

	static_call(original_push_subflow)(sk, ssk, first);
	while (repeats(sk) && ask(msk)) {
		struct mptcp_sendmsg_info info = { .data_lock_held = true };

		if (READ_ONCE(mptcp_subflow_ctx(ssk)->scheduled) &&
		    push_scheduled(sk, ssk, &info) <= 0)
			break;
		if (is_scheduled(msk)) {
			__set_bit(MPTCP_PUSH_PENDING, &msk->cb_flags);
			static_call(plait_mptcp_schedule_work)(sk);
			break;
		}
	}
}

/* mptcp_incoming_options(), behind tcp_ack(). The original asks if the window is open. */
static bool incoming_options(struct sock *ssk, struct sk_buff *skb)
{
	struct sock *sk = mptcp_subflow_ctx(ssk)->conn;
	struct mptcp_sock *msk = mptcp_sk(sk);
	bool asks = false, accepted;

	if (is_ours(sk)) {
		spin_lock_bh(&sk->sk_lock.slock);
		asks = plait_asks(msk, ssk) && !after64(READ_ONCE(msk->wnd_end), msk->snd_nxt);
		spin_unlock_bh(&sk->sk_lock.slock);
	}
	accepted = static_call(original_incoming_options)(ssk, skb);
	if (asks) {
		spin_lock_bh(&sk->sk_lock.slock);
		if (is_ours(sk))
			static_call(plait_mptcp_check_push)(sk, ssk);
		spin_unlock_bh(&sk->sk_lock.slock);
	}
	return accepted;
}

/* Before the first function is replaced, and after the last one, the core decides and pushes. */
bool plait_core_ready(struct mptcp_sock *msk)
{
	if (READ_ONCE(active))
		return plait_is_confirmed(msk);
	if (plait_of(msk)) {
		plait_start_over(msk);
		plait_disconnect(msk);
	}
	return false;
}

static void post_patch(struct klp_object *object)
{
	WRITE_ONCE(active, true);
}

static void pre_unpatch(struct klp_object *object)
{
	WRITE_ONCE(active, false);
}

static struct klp_func functions[] = {
	{ .old_name = "__subflow_push_pending", .new_func = push_pending },
	{ .old_name = "__mptcp_push_pending", .new_func = push_all },
	{ .old_name = "__mptcp_subflow_push_pending", .new_func = push_subflow },
	{ .old_name = "mptcp_incoming_options", .new_func = incoming_options },
	{ }
};

static struct klp_object objects[] = {
	{
		.funcs = functions,
		.callbacks = { .post_patch = post_patch, .pre_unpatch = pre_unpatch },
	},
	{ }
};

static struct klp_patch patch = { .mod = THIS_MODULE, .objs = objects };

enum { FUNCTIONS = ARRAY_SIZE(functions) - 1 };

/* Kernels with which the livepatch was tested. Functions of other sizes may have been inlined
 * somewhere, or have changed.
 */
static const struct {
	const char *release;		/* its begin: the rest is Debian's flavour */
	u32	bytes[FUNCTIONS];
} tested[] = {
	{ "6.12.95+deb12-", { 512, 528, 880, 2656 } },
	{ "6.12.118+deb13-", { 512, 496, 848, 2592 } },
	{ "7.3.4+deb13-", { 512, 496, 848, 2640 } },
};

static bool untested;
module_param(untested, bool, 0444);
MODULE_PARM_DESC(untested, "load with a kernel that is not in the list of tested ones");

/* Bytes of a function, as far as the kernel's list of symbols knows; 0 if it does not. */
static u32 bytes_of(const char *name)
{
	char text[KSYM_SYMBOL_LEN];
	void *address = plait_find_symbol(name);
	u32 bytes = 0;
	char *at;

	if (!address)
		return 0;
	sprint_symbol(text, (unsigned long)address);
	at = strrchr(text, '/');
	if (at && kstrtou32(at + 1, 16, &bytes))
		bytes = 0;
	return bytes;
}

static bool is_tested(void)
{
	u32 bytes[FUNCTIONS];
	unsigned int i;

	for (i = 0; i < FUNCTIONS; i++)
		bytes[i] = bytes_of(functions[i].old_name);
	for (i = 0; i < ARRAY_SIZE(tested); i++)
		if (str_has_prefix(init_utsname()->release, tested[i].release) &&
		    !memcmp(tested[i].bytes, bytes, sizeof(bytes)))
			return true;
	pr_err("plait: %s: kernel %s, functions of %u, %u, %u, %u bytes: not in the list of tested kernels; the module plait needs no list\n",
	       untested ? "loaded" : "not loaded", init_utsname()->release, bytes[0], bytes[1],
	       bytes[2], bytes[3]);
	return untested;
}

/* The address behind the call of __fentry__(), with which the function begins; NULL if it does not. */
static void *behind_entry(const char *name)
{
	static const u8 nop[MCOUNT_INSN_SIZE] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	u8 *entry = plait_find_symbol(name);

	if (!entry)
		return NULL;
	if (!memcmp(entry, nop, sizeof(nop)) || *entry == 0xe8)
		return entry + MCOUNT_INSN_SIZE;
	pr_err("plait: not loaded: function %s of the kernel is not prepared for livepatching\n", name);
	return NULL;
}

#define FIND(call, address) ({						\
	void *found = address;						\
									\
	if (found)							\
		static_call_update(call, found);			\
	found;								\
})

int plait_core_start(void)
{
	if (!is_tested())
		return -ENOEXEC;
	if (FIND(original_push_pending, behind_entry("__subflow_push_pending")) &&
	    FIND(original_push_all, behind_entry("__mptcp_push_pending")) &&
	    FIND(original_push_subflow, behind_entry("__mptcp_subflow_push_pending")) &&
	    FIND(original_incoming_options, behind_entry("mptcp_incoming_options")) &&
	    FIND(plait_mptcp_sendmsg_frag, plait_find_symbol("mptcp_sendmsg_frag")) &&
	    FIND(plait_mptcp_check_push, plait_find_symbol("__mptcp_check_push")) &&
	    FIND(plait_mptcp_schedule_work, plait_find_symbol("mptcp_schedule_work")) &&
	    FIND(plait_tcp_push, plait_find_symbol("tcp_push")))
		return klp_enable_patch(&patch);
	return -ENOENT;
}

MODULE_INFO(livepatch, "Y");
