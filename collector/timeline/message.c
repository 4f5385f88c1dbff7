/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/message.h"

#include "core/cleanup.h"
#include "trace/event.h"

#include <cjson/cJSON.h>
#include <string.h>

/* As c10 calls them (ScalarType), and as C++ does, which "Input type" has. */
static const struct {
	const char *name;
	int64_t bytes;
} types[] = {
	{"Float", 4},
	{"float", 4},
	{"BFloat16", 2},
	{"c10::BFloat16", 2},
	{"Half", 2},
	{"c10::Half", 2},
	{"Double", 8},
	{"double", 8},
	{"Byte", 1},
	{"unsigned char", 1},
	{"Char", 1},
	{"signed char", 1},
	{"Short", 2},
	{"short", 2},
	{"short int", 2},
	{"Int", 4},
	{"int", 4},
	{"Long", 8},
	{"long", 8},
	{"long int", 8},
	{"Bool", 1},
	{"bool", 1},
	{"ComplexHalf", 4},
	{"c10::complex<c10::Half>", 4},
	{"ComplexFloat", 8},
	{"c10::complex<float>", 8},
	{"ComplexDouble", 16},
	{"c10::complex<double>", 16},
	{"UInt16", 2},
	{"unsigned short", 2},
	{"UInt32", 4},
	{"unsigned int", 4},
	{"UInt64", 8},
	{"unsigned long", 8},
	{"Float8_e5m2", 1},
	{"c10::Float8_e5m2", 1},
	{"Float8_e4m3fn", 1},
	{"c10::Float8_e4m3fn", 1},
	{"Float8_e5m2fnuz", 1},
	{"c10::Float8_e5m2fnuz", 1},
	{"Float8_e4m3fnuz", 1},
	{"c10::Float8_e4m3fnuz", 1},
};

static bool type_bytes(struct ifp_str name, int64_t *bytes)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(types); i++)
		if (ifp_str_is(name, types[i].name)) {
			*bytes = types[i].bytes;
			return true;
		}
	return false;
}

/* The members of args that tell of a size, as text; empty where there is none. */
struct told {
	struct ifp_str bytes, count, type, tensor_dims, tensor_types;
};

static struct told find_told(struct ifp_str args)
{
	struct told told = {0};
	const struct {
		const char *key;
		struct ifp_str *value;
	} members[] = {
		{"bytes", &told.bytes},
		{"In msg nelems", &told.count},
		{"dtype", &told.type},
		{"Input Dims", &told.tensor_dims},
		{"Input type", &told.tensor_types},
	};
	struct ifp_str key, value;
	uint32_t at = 0;

	while (ifp_args_next(args, &at, &key, &value))
		for (size_t i = 0; i < IFP_ARRAY_SIZE(members); i++)
			if (!members[i].value->len_bytes && ifp_str_is(key, members[i].key))
				*members[i].value = value;
	return told;
}

static bool outright(const struct told *told, int64_t *bytes)
{
	int64_t number;

	if (!ifp_args_int(told->bytes, &number) || number < 0)
		return false;
	*bytes = number;
	return true;
}

static bool by_count(const struct told *told, int64_t *bytes)
{
	struct ifp_str type = told->type;
	int64_t count, each, product;

	if (!ifp_args_int(told->count, &count) || count < 0 || type.len_bytes < 2)
		return false;
	type = (struct ifp_str){type.ptr + 1, type.len_bytes - 2};
	if (!type_bytes(type, &each) || __builtin_mul_overflow(count, each, &product))
		return false;
	*bytes = product;
	return true;
}

static void delete_json(cJSON **json)
{
	cJSON_Delete(*json);
}

static cJSON *parse(struct ifp_str text)
{
	return text.len_bytes ? cJSON_ParseWithLength(text.ptr, text.len_bytes) : NULL;
}

/* What is no tensor has no part in the message. */
static bool is_scalar(const char *type)
{
	return !*type || !strcmp(type, "Scalar") || !strcmp(type, "ScalarList");
}

/* dims: those of one tensor, numbers. */
static bool add_tensor(const cJSON *dims, const char *type, int64_t *sum)
{
	const cJSON *dim;
	int64_t bytes;

	if (is_scalar(type))
		return true;
	if (!cJSON_IsArray(dims) || !type_bytes(ifp_str(type), &bytes))
		return false;
	cJSON_ArrayForEach(dim, dims)
	{
		if (!cJSON_IsNumber(dim) || dim->valuedouble < 0 || dim->valuedouble > INT32_MAX ||
			__builtin_mul_overflow(bytes, (int64_t)dim->valuedouble, &bytes))
			return false;
	}
	return !__builtin_add_overflow(*sum, bytes, sum);
}

static bool by_tensors(const struct told *told, int64_t *bytes)
{
	IFP_CLEANUP(delete_json) cJSON *all_dims = parse(told->tensor_dims);
	IFP_CLEANUP(delete_json) cJSON *all_types = parse(told->tensor_types);
	const cJSON *dims = all_dims ? all_dims->child : NULL;
	const cJSON *type;
	int64_t sum = 0;

	if (!cJSON_IsArray(all_dims) || !cJSON_IsArray(all_types) || !all_types->child)
		return false;
	cJSON_ArrayForEach(type, all_types)
	{
		if (!dims || !cJSON_IsString(type) || !add_tensor(dims, type->valuestring, &sum))
			return false;
		dims = dims->next;
	}
	*bytes = sum;
	return true;
}

bool ifp_message_bytes(struct ifp_str args, int64_t *bytes)
{
	struct told told = find_told(args);

	return outright(&told, bytes) || by_count(&told, bytes) || by_tensors(&told, bytes);
}
