/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that only records ranges, and ends as it is told to:
 *
 *	marker COUNT [kill-self|kill-agent|exit-3|abort|stop-agent RANK]
 *
 * It records COUNT ranges named "work N" of about a millisecond each. On the given rank, it ends
 * after half of them as told; the other ranks go on, up to a minute, until the launcher ends them.
 * stop-agent ends nothing: the agent of that rank stands still during the second half.
 */
#include <infprof/mark.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void work(unsigned long number)
{
	const struct timespec millisecond = {.tv_nsec = 1000000};
	char name[32];

	snprintf(name, sizeof(name), "work %lu", number);
	infprof_range_push(name);
	nanosleep(&millisecond, NULL);
	infprof_range_pop();
}

static void end_as_told(const char *how)
{
	if (strcmp(how, "kill-self") == 0)
		raise(SIGKILL);
	if (strcmp(how, "kill-agent") == 0) {
		kill(getppid(), SIGKILL);
		pause(); /* the agent's death takes this process along */
	}
	if (strcmp(how, "stop-agent") == 0)
		kill(getppid(), SIGSTOP);
	if (strcmp(how, "exit-3") == 0)
		exit(3);
	if (strcmp(how, "abort") == 0)
		abort();
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	const char *how = argc > 3 ? argv[2] : "";
	const char *victim = argc > 3 ? argv[3] : "";
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");
	bool stops = strcmp(how, "stop-agent") == 0;
	unsigned long last = argc > 3 && !stops ? 60000 : count;

	rank = rank ? rank : "0";
	for (unsigned long i = 0; i < last; i++) {
		if (i == count / 2 && strcmp(rank, victim) == 0)
			end_as_told(how);
		work(i);
	}
	if (stops && strcmp(rank, victim) == 0)
		kill(getppid(), SIGCONT);
	printf("rank %s done\n", rank);
	return 0;
}
