/* SPDX-License-Identifier: GPL-2.0-only */
/* The files of the module for unmodified kernels. */
#ifndef PLAIT_STOCK_H
#define PLAIT_STOCK_H

#include "engine.h"

/* symbols.c: the address of a function of the kernel, behind its ENDBR; NULL, with a message. */
void *plait_find_symbol(const char *name);

/* layout.c: compares the structures of the running kernel with those of the build. Returns 0, or an
 * error.
 */
int plait_check_layout(void);

/* True if the peer has confirmed MPTCP. Before, a connection may fall back to TCP. Then data that waits
 * is lost if the program has ended the stream, since mptcp_try_fallback() shuts the subflow down. The
 * core's own scheduler lets little data wait, so it decides until then.
 */
#define plait_is_confirmed(msk)		READ_ONCE((msk)->fully_established)

#endif
