/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/tensor_args.h"

#include "core/cleanup.h"
#include "trace/event.h"

#include <stdint.h>

/* profiler/communication.py, analyze_communication_nodes() */
static const char *const known_types[] = {"\"long int\"", "\"float\"", "\"int\"", "\"c10::Half\"",
	"\"c10::BFloat16\"", "\"unsigned char\""};

static bool is_known(struct ifp_str type)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(known_types); i++)
		if (ifp_str_is(type, known_types[i]))
			return true;
	return false;
}

/* Counts the strings of ["float","int"]; -1 when one of them is no known type. */
static int64_t count_types(struct ifp_str list)
{
	const char *p = list.ptr + 1;
	const char *end = list.ptr + list.len_bytes - 1;
	int64_t count = 0;

	while (p < end) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		const char *stop = comma ? comma : end;

		if (!is_known((struct ifp_str){p, (uint32_t)(stop - p)}))
			return -1;
		count++;
		p = stop + 1;
	}
	return count;
}

/* Counts the lists of [[2,3],[]]; -1 when anything but numbers is in them. */
static int64_t count_dims(struct ifp_str list)
{
	int64_t count = 0;
	unsigned int depth = 0;

	for (uint32_t i = 0; i < list.len_bytes; i++) {
		char c = list.ptr[i];

		if (c == '[') {
			depth++;
			count += depth == 2;
		} else if (c == ']') {
			depth--;
		} else if (c != ',' && (c < '0' || c > '9' || depth < 2)) {
			return -1;
		}
		if (depth > 2)
			return -1;
	}
	return count;
}

bool ifp_tensor_args_countable(struct ifp_str args)
{
	struct ifp_str dims, types;
	bool has_dims = args.len_bytes && ifp_args_find(args, "Input Dims", &dims);
	bool has_types = args.len_bytes && ifp_args_find(args, "Input type", &types);

	if (!has_dims)
		return true;
	if (!has_types || dims.ptr[0] != '[' || types.ptr[0] != '[')
		return false;
	return count_types(types) >= 0 && count_dims(dims) == count_types(types);
}
