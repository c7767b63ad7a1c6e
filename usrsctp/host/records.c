// SPDX-License-Identifier: MIT OR Apache-2.0
#include "records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const char *what)
{
	fprintf(stderr, "usrsctp: %s: %s\n", what, strerror(errno));
	exit(1);
}

void put(const void *bytes, size_t length)
{
	if (length > 0 && fwrite(bytes, length, 1, stdout) != 1)
		die("standard output");
}

void put_head(enum record_kind kind, size_t length)
{
	uint32_t head[2] = { kind, (uint32_t)length };

	put(head, sizeof(head));
}

void put_number(enum record_kind kind, uint64_t value)
{
	put_head(kind, sizeof(value));
	put(&value, sizeof(value));
}

void put_flush(void)
{
	if (fflush(stdout) != 0)
		die("standard output");
}

bool get(void *to, size_t length)
{
	return length == 0 || fread(to, length, 1, stdin) == 1;
}
