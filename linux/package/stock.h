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

#endif
