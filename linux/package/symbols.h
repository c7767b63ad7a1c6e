/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that layout.c calls as private.h describes it. */
#ifndef PLAIT_SYMBOLS_H
#define PLAIT_SYMBOLS_H

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/static_call.h>

DECLARE_STATIC_CALL(plait_bpf_get_btf_vmlinux, bpf_get_btf_vmlinux);
DECLARE_STATIC_CALL(plait_btf_find_by_name_kind, btf_find_by_name_kind);
DECLARE_STATIC_CALL(plait_btf_name_by_offset, btf_name_by_offset);

#endif
