// SPDX-License-Identifier: GPL-2.0-only
/* Opens BPF objects with libbpf, and checks their parts: `open OBJECT...`. */
#include <stdio.h>
#include <string.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

/* The function that the branch `export` cannot do without, and the one that sends again. */
static const char *const functions[] = { "get_send", "get_retrans" };

enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static unsigned int maps_of(struct bpf_object *object, enum bpf_map_type type)
{
	unsigned int count = 0;
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
		count += bpf_map__type(map) == type;
	return count;
}

/* The first fault of an object; NULL if there is none. */
static const char *fault(struct bpf_object *object)
{
	const struct btf *btf = bpf_object__btf(object);

	if (!btf || btf__find_by_name_kind(btf, "mptcp_sched_ops", BTF_KIND_STRUCT) < 0)
		return "has no BTF of mptcp_sched_ops";
	if (maps_of(object, BPF_MAP_TYPE_STRUCT_OPS) != 1)
		return "has not one struct_ops map";
	if (maps_of(object, BPF_MAP_TYPE_SK_STORAGE) != 1)
		return "has no storage for connections";
	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		struct bpf_program *program = bpf_object__find_program_by_name(object, functions[i]);

		if (!program || bpf_program__type(program) != BPF_PROG_TYPE_STRUCT_OPS)
			return "lacks get_send or get_retrans as struct_ops";
		if (!bpf_program__insn_cnt(program))
			return "has an empty function";
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int faults = argc < 2;

	for (int i = 1; i < argc; i++) {
		struct bpf_object *object = bpf_object__open_file(argv[i], NULL);
		const char *what = object ? fault(object) : "cannot be opened";
		struct bpf_program *send;

		if (what) {
			fprintf(stderr, "%s: %s\n", argv[i], what);
			faults++;
		} else {
			send = bpf_object__find_program_by_name(object, functions[0]);
			printf("%s: %zu instructions to choose a subflow\n", bpf_object__name(object),
			       bpf_program__insn_cnt(send));
		}
		bpf_object__close(object);
	}
	return faults > 0;
}
