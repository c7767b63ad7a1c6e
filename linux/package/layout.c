// SPDX-License-Identifier: GPL-2.0-only
/* Compares the members that the module uses with the running kernel's BTF. Kernels of one release may
 * differ: the version that a module carries does not cover MPTCP's private structures.
 */
#include <linux/err.h>
#include <linux/printk.h>
#include <net/tcp.h>

#include "protocol.h"
#include "compat.h"
#include "stock.h"
#include "symbols.h"

struct place {
	const char *structure;
	const char *member;
	u32	first;			/* bit */
	u32	bits;			/* of a bit field, otherwise 0 */
	u32	size;			/* bytes of the structure */
};

#define PRIVATE(_structure, _member, _first, _bits, _size)		\
	{ _structure, _member, _first, _bits, _size },
#define PUBLIC(_structure, _member)					\
	{ #_structure, #_member, 8 * offsetof(struct _structure, _member), 0, \
	  sizeof(struct _structure) }

static const struct place places[] = {
	PLAIT_LAYOUT(PRIVATE)
#ifdef PLAIT_SPLIT_OPS
	PUBLIC(mptcp_sched_ops, get_send),
	PUBLIC(mptcp_sched_ops, get_retrans),
#else
	PUBLIC(mptcp_sched_ops, get_subflow),
#endif
	PUBLIC(mptcp_sched_ops, name),
	PUBLIC(mptcp_sched_ops, owner),
	PUBLIC(mptcp_sched_ops, release),
	PUBLIC(inet_connection_sock, icsk_ulp_data),
	PUBLIC(inet_connection_sock, icsk_rto),
	PUBLIC(tcp_sock, snd_cwnd),
	PUBLIC(tcp_sock, srtt_us),
	PUBLIC(tcp_sock, write_seq),
	PUBLIC(tcp_sock, rx_opt),
};

/* Looks into anonymous structures and unions too: struct_group() makes them. */
static bool is_in(const struct btf *btf, const struct btf_type *type, u32 base,
		  const struct place *place)
{
	const struct btf_member *member;
	u32 i;

	for_each_member(i, type, member) {
		const char *name = static_call(plait_btf_name_by_offset)(btf, member->name_off);
		u32 first = base + __btf_member_bit_offset(type, member);
		const struct btf_type *inner;

		if (!name)
			return false;
		if (!strcmp(name, place->member))
			return first == place->first &&
			       __btf_member_bitfield_size(type, member) == place->bits;
		inner = *name ? NULL : btf_type_by_id(btf, member->type);
		if (inner && btf_type_is_struct(inner) && is_in(btf, inner, first, place))
			return true;
	}
	return false;
}

static bool is_there(const struct btf *btf, const struct place *place)
{
	s32 id = static_call(plait_btf_find_by_name_kind)(btf, place->structure, BTF_KIND_STRUCT);
	const struct btf_type *type = id < 0 ? NULL : btf_type_by_id(btf, id);

	return type && type->size == place->size && is_in(btf, type, 0, place);
}

int plait_check_layout(void)
{
	const struct btf *btf = static_call(plait_bpf_get_btf_vmlinux)();
	unsigned int i;

	if (IS_ERR_OR_NULL(btf)) {
		pr_err("plait: not loaded: the kernel has no BTF\n");
		return -ENOEXEC;
	}
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		if (is_there(btf, &places[i]))
			continue;
		pr_err("plait: not loaded: %s.%s is elsewhere than in %s, for which this was built\n",
		       places[i].structure, places[i].member, PLAIT_RELEASE);
		return -ENOEXEC;
	}
	return 0;
}
