// SPDX-License-Identifier: GPL-2.0-only
/* Replays recorded calls of the schedulers in user space: `replay FILE`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../schedulers/plait_replay.h"

int main(int argc, char **argv)
{
	static struct replay replay;
	unsigned long number = 0;
	size_t capacity = 0;
	char *line = NULL;
	ssize_t length;
	FILE *file;

	file = argc == 2 ? fopen(argv[1], "r") : NULL;
	if (!file) {
		fprintf(stderr, "usage: %s FILE\n", argv[0]);
		return 2;
	}
	while ((length = getline(&line, &capacity, file)) > 0) {
		number++;
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (!replay_line(&replay, line)) {
			fprintf(stderr, "%s:%lu: %s", argv[1], number, replay.message);
			return 1;
		}
	}
	free(line);
	fclose(file);
	if (!replay.decisions) {
		fprintf(stderr, "%s: there are no decisions in it\n", argv[1]);
		return 1;
	}
	printf("%lu connections: %lu decisions and %lu events, all answers equal\n",
	       replay.connections, replay.decisions, replay.events);
	return 0;
}
