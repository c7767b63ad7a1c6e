// SPDX-License-Identifier: GPL-2.0-only
/* Finds functions of the core that are not exported. A kprobe tells the address of its symbol. */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/printk.h>

#include "protocol.h"
#include "stock.h"
#include "symbols.h"

#undef mptcp_register_scheduler
#undef mptcp_unregister_scheduler
#undef mptcp_subflow_active
#undef mptcp_subflow_get_send
#undef mptcp_subflow_get_retrans

DEFINE_STATIC_CALL_RET0(plait_mptcp_register_scheduler, mptcp_register_scheduler);
DEFINE_STATIC_CALL_RET0(plait_mptcp_unregister_scheduler, mptcp_unregister_scheduler);
DEFINE_STATIC_CALL_RET0(plait_mptcp_subflow_active, mptcp_subflow_active);
DEFINE_STATIC_CALL_RET0(plait_mptcp_subflow_get_send, mptcp_subflow_get_send);
DEFINE_STATIC_CALL_RET0(plait_mptcp_subflow_get_retrans, mptcp_subflow_get_retrans);
DEFINE_STATIC_CALL_RET0(plait_bpf_get_btf_vmlinux, bpf_get_btf_vmlinux);
DEFINE_STATIC_CALL_RET0(plait_btf_find_by_name_kind, btf_find_by_name_kind);
DEFINE_STATIC_CALL_RET0(plait_btf_name_by_offset, btf_name_by_offset);

void *plait_find_symbol(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	int error = register_kprobe(&probe);
	void *address = probe.addr;

	if (error) {
		pr_err("plait: not loaded: function %s of the kernel cannot be found (error %d)\n",
		       name, error);
		return NULL;
	}
	unregister_kprobe(&probe);
	return address;
}

#define FIND(name) ({							\
	void *found = plait_find_symbol(#name);					\
									\
	if (found)							\
		static_call_update(plait_##name, (typeof(&(name)))found); \
	found;								\
})

static int find_symbols(void)
{
	if (FIND(mptcp_register_scheduler) && FIND(mptcp_unregister_scheduler) &&
	    FIND(mptcp_subflow_active) && FIND(mptcp_subflow_get_send) &&
	    FIND(mptcp_subflow_get_retrans) && FIND(bpf_get_btf_vmlinux) &&
	    FIND(btf_find_by_name_kind) && FIND(btf_name_by_offset))
		return 0;
	return -ENOENT;
}

int plait_core_init(void)
{
	return find_symbols() ?: plait_check_layout();
}

MODULE_VERSION(PLAIT_VERSION);
