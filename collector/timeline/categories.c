/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/categories.h"

#include "core/cleanup.h"

#include <strings.h>

#define NAME(text) text, sizeof(text) - 1

static const struct ifp_category categories[] = {
	{NAME("cpu_op"), "op", "cpu_op", IFP_ROLE_OP},
	{NAME("operator"), "op", "cpu_op", IFP_ROLE_OP},
	/* Of annotations the plug-in takes only steps and collectives, of operators all. */
	{NAME("user_annotation"), "annotation", "cpu_op", IFP_ROLE_OP},
	{NAME("python"), "py", "python", IFP_ROLE_OP},
	{NAME("python_function"), "py", "python_function", IFP_ROLE_OTHER},
	{NAME("cuda_runtime"), "rt", "Runtime", IFP_ROLE_LAUNCH},
	{NAME("cuda_driver"), "rt", "Runtime", IFP_ROLE_LAUNCH},
	{NAME("runtime"), "rt", "Runtime", IFP_ROLE_LAUNCH},
	{NAME("xpu_runtime"), "rt", "Runtime", IFP_ROLE_LAUNCH},
	{NAME("mtia_runtime"), "rt", "Runtime", IFP_ROLE_LAUNCH},
	{NAME("glow_runtime"), "rt", "Runtime", IFP_ROLE_LAUNCH},
	{NAME("privateuse1_runtime"), "rt", "Runtime", IFP_ROLE_LAUNCH},
	{NAME("driver"), "rt", "Runtime", IFP_ROLE_LAUNCH},
	{NAME("xpu_driver"), "rt", "Runtime", IFP_ROLE_LAUNCH},
	{NAME("privateuse1_driver"), "rt", "Runtime", IFP_ROLE_LAUNCH},
	{NAME("kernel"), "gpu_kernel", "kernel", IFP_ROLE_DEVICE},
	{NAME("mtia_ccp_events"), "gpu_kernel", "kernel", IFP_ROLE_DEVICE},
	{NAME("gpu_memcpy"), "gpu_copy", "gpu_memcpy", IFP_ROLE_DEVICE},
	{NAME("memcpy"), "gpu_copy", "gpu_memcpy", IFP_ROLE_DEVICE},
	{NAME("gpu_memset"), "gpu_fill", "gpu_memset", IFP_ROLE_DEVICE},
	{NAME("memset"), "gpu_fill", "gpu_memset", IFP_ROLE_DEVICE},
	/* The plug-in counts steps and collectives among them: those get the other category. */
	{NAME("gpu_user_annotation"), "gpu_annotation", "gpu_user_annotation", IFP_ROLE_OTHER},
	{NAME("trace"), "span", "span", IFP_ROLE_OTHER},
	{NAME("memory"), "mem", "mem", IFP_ROLE_OTHER},
};

const struct ifp_category *ifp_category_find(struct ifp_str name)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(categories); i++)
		if (categories[i].name_bytes == name.len_bytes &&
			categories[i].name[0] == (name.ptr[0] | 0x20) &&
			!strncasecmp(categories[i].name, name.ptr, name.len_bytes))
			return &categories[i];
	return NULL;
}

struct collective {
	const char *begin; /* of the operation's name, without underscores */
	const char *nccl, *gloo;
};

#define KNOWN(name) "nccl:" name, "gloo:" name

/*
 * The first one that fits. Process groups name one operation in many ways: "all_gather",
 * "_all_gather_base", "all_gather_into_tensor_coalesced", "allgather_coalesced". Point-to-point
 * operations are left as they are: their numbers differ from rank to rank.
 */
static const struct collective collectives[] = {
	{"allreduce", KNOWN("all_reduce")},
	{"sparseallreduce", KNOWN("all_reduce")},
	{"allgather", KNOWN("all_gather")},
	{"alltoall", KNOWN("all_gather")},
	{"reducescatter", KNOWN("reduce_scatter")},
	{"broadcast", KNOWN("broadcast")},
	{"scatter", KNOWN("broadcast")},
	{"reduce", KNOWN("reduce")},
	{"gather", KNOWN("reduce")},
};

static bool begins_without_underscores(struct ifp_str name, const char *begin)
{
	for (uint32_t i = 0; i < name.len_bytes && *begin; i++) {
		if (name.ptr[i] == '_')
			continue;
		if (name.ptr[i] != *begin++)
			return false;
	}
	return !*begin;
}

const char *ifp_collective_name(struct ifp_str name, bool *nccl)
{
	bool is_nccl = ifp_str_starts_with(name, "nccl:");
	struct ifp_str operation;

	if (!is_nccl && !ifp_str_starts_with(name, "gloo:"))
		return NULL;
	operation = (struct ifp_str){name.ptr + 5, name.len_bytes - 5};
	for (size_t i = 0; i < IFP_ARRAY_SIZE(collectives); i++) {
		if (!begins_without_underscores(operation, collectives[i].begin))
			continue;
		*nccl = is_nccl;
		return is_nccl ? collectives[i].nccl : collectives[i].gloo;
	}
	return NULL;
}
