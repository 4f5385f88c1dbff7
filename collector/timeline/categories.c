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
	{NAME("kernel"), "gpu_kernel", "kernel", IFP_ROLE_DEVICE},
	{NAME("gpu_memcpy"), "gpu_copy", "gpu_memcpy", IFP_ROLE_DEVICE},
	{NAME("memcpy"), "gpu_copy", "gpu_memcpy", IFP_ROLE_DEVICE},
	{NAME("gpu_memset"), "gpu_fill", "gpu_memset", IFP_ROLE_DEVICE},
	{NAME("memset"), "gpu_fill", "gpu_memset", IFP_ROLE_DEVICE},
	/* The plug-in would count a collective twice: on the host and on the GPU. */
	{NAME("gpu_user_annotation"), "gpu_annotation", "gpu_annotation", IFP_ROLE_OTHER},
	{NAME("trace"), "span", "span", IFP_ROLE_OTHER},
	{NAME("memory"), "mem", "mem", IFP_ROLE_OTHER},
};

const struct ifp_category *ifp_category_find(struct ifp_str name)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(categories); i++)
		if (categories[i].name_bytes == name.len_bytes &&
			!strncasecmp(categories[i].name, name.ptr, name.len_bytes))
			return &categories[i];
	return NULL;
}

struct collective {
	const char *name; /* behind "nccl:" or "gloo:" */
	const char *nccl, *gloo;
};

#define KNOWN(name) "nccl:" name, "gloo:" name

/* Point-to-point operations are left as they are: their numbers differ from rank to rank. */
static const struct collective collectives[] = {
	{"broadcast", KNOWN("broadcast")},
	{"_broadcast_oop", KNOWN("broadcast")},
	{"scatter", KNOWN("broadcast")},
	{"reduce", KNOWN("reduce")},
	{"_reduce_oop", KNOWN("reduce")},
	{"gather", KNOWN("reduce")},
	{"all_reduce", KNOWN("all_reduce")},
	{"all_reduce_sparse", KNOWN("all_reduce")},
	{"sparse_all_reduce", KNOWN("all_reduce")},
	{"allreduce_coalesced", KNOWN("all_reduce")},
	{"all_gather", KNOWN("all_gather")},
	{"_all_gather_base", KNOWN("all_gather")},
	{"all_gather_into_tensor_coalesced", KNOWN("all_gather")},
	{"all_to_all", KNOWN("all_gather")},
	{"all_to_allv", KNOWN("all_gather")},
	{"reduce_scatter", KNOWN("reduce_scatter")},
	{"_reduce_scatter_base", KNOWN("reduce_scatter")},
	{"reduce_scatter_tensor_coalesced", KNOWN("reduce_scatter")},
};

const char *ifp_collective_name(struct ifp_str name, bool *nccl)
{
	bool is_nccl = ifp_str_starts_with(name, "nccl:");
	struct ifp_str operation;

	if (!is_nccl && !ifp_str_starts_with(name, "gloo:"))
		return NULL;
	operation = (struct ifp_str){name.ptr + 5, name.len_bytes - 5};
	for (size_t i = 0; i < IFP_ARRAY_SIZE(collectives); i++) {
		if (!ifp_str_is(operation, collectives[i].name))
			continue;
		*nccl = is_nccl;
		return is_nccl ? collectives[i].nccl : collectives[i].gloo;
	}
	return NULL;
}
