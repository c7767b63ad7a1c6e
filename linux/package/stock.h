/* SPDX-License-Identifier: GPL-2.0-only */
/* The files of the module for unmodified kernels. */
#ifndef PLAIT_STOCK_H
#define PLAIT_STOCK_H

#include "engine.h"

/* symbols.c: finds the functions of the core. Returns 0, or an error. */
int plait_find_symbols(void);

/* layout.c: compares the structures of the running kernel with those of the build. Returns 0, or an
 * error.
 */
int plait_check_layout(void);

/* connections.c: the states of connections, and debugfs' plait/connections and
 * plait/schedulers.
 */
int plait_connections_init(void);
void plait_connections_exit(void);
/* Returns the state of a connection, a new one if needed; NULL without memory. The msk socket lock is
 * held.
 */
struct plait_socket *plait_connection(const struct mptcp_sock *msk);
/* Forgets a socket. */
void plait_disconnect(const struct mptcp_sock *msk);

#endif
