/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that marks in every way mark.h knows, alone or as the only rank of a job. Built plain,
 * as C++, and with AddressSanitizer: the library must suit them all.
 */
#include <infprof/mark.h>

#include <stdio.h>

int main(void)
{
	uint64_t request;

	infprof_step_begin(1);
	infprof_range_push("outer");
	infprof_range_push("inner");
	infprof_instant("moment");
	infprof_counter("bytes", 4096);
	infprof_range_pop();
	request = infprof_range_start("request");
	infprof_range_pop();
	infprof_range_end(request);
	infprof_step_end(1);
	printf("%s\n", infprof_active() ? "recorded" : "not recorded");
	return 0;
}
