// SPDX-License-Identifier: GPL-2.0
/*
 * Run a trace: replay OPTIONS [TOPOLOGY [SEED]] < trace
 *
 * Prints a violation and dies of it. Lines that are empty or begin with # do
 * nothing.
 */
#include <stdio.h>

#include "world.h"

int main(int argc, char **argv)
{
	const char *error;
	struct world *w;
	char line[4096];
	u64 n = 0;
	int rc;

	if (argc < 2) {
		fprintf(stderr, "Usage: %s OPTIONS [TOPOLOGY [SEED]] < trace\n",
			argv[0]);
		return 2;
	}
	w = world_new(argv[1], argc > 2 ? argv[2] : "",
		      argc > 3 ? strtoull(argv[3], NULL, 0) : 1, &error);
	if (error) {
		fprintf(stderr, "%s\n", error);
		return 2;
	}
	world_walk(w);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!line[0] || line[0] == '#')
			continue;
		rc = world_do(w, line);
		if (rc == WORLD_MALFORMED) {
			fprintf(stderr, "operation %llu is malformed: %s\n",
				(unsigned long long)n, line);
			return 2;
		}
		if (rc == WORLD_BROKEN) {
			fprintf(stderr, "violation in operation %llu, %s: %s\n",
				(unsigned long long)n, line,
				world_violation(w));
			return 1;
		}
		n++;
	}
	printf("%llu operations\n", (unsigned long long)n);
	return !!world_free(w);
}
