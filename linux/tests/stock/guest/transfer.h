/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that several files of the program use. */
#ifndef TRANSFER_H
#define TRANSFER_H

#include <netinet/in.h>

#define LIMIT 120	/* seconds for a connection; one that stands still is a failure */

_Noreturn void die(const char *what);
int open_socket(int protocol);
struct sockaddr_in address(const char *host, const char *port);
double now(void);
void write_whole(int fd, const char *data, size_t size);

int send_files(char **v, int arguments);
int compare(const char *name);
int send_blocks(char **v);
int receive_blocks(char **v);

#endif
