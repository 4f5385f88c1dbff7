/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/categories.h"

#include "core/cleanup.h"

#include <strings.h>

static const struct ifp_category categories[] = {
	{"cpu_op", "op", "cpu_op", IFP_ROLE_OP},
	{"operator", "op", "cpu_op", IFP_ROLE_OP},
	/* Of annotations the plug-in takes only steps and collectives, of operators all. */
	{"user_annotation", "annotation", "cpu_op", IFP_ROLE_OP},
	{"python", "py", "python", IFP_ROLE_OP},
	{"python_function", "py", "python_function", IFP_ROLE_OTHER},
	{"cuda_runtime", "rt", "Runtime", IFP_ROLE_LAUNCH},
	{"cuda_driver", "rt", "Runtime", IFP_ROLE_LAUNCH},
	{"runtime", "rt", "Runtime", IFP_ROLE_LAUNCH},
	{"xpu_runtime", "rt", "Runtime", IFP_ROLE_LAUNCH},
	{"mtia_runtime", "rt", "Runtime", IFP_ROLE_LAUNCH},
	{"glow_runtime", "rt", "Runtime", IFP_ROLE_LAUNCH},
	{"privateuse1_runtime", "rt", "Runtime", IFP_ROLE_LAUNCH},
	{"kernel", "gpu_kernel", "kernel", IFP_ROLE_DEVICE},
	{"gpu_memcpy", "gpu_copy", "gpu_memcpy", IFP_ROLE_DEVICE},
	{"memcpy", "gpu_copy", "gpu_memcpy", IFP_ROLE_DEVICE},
	{"gpu_memset", "gpu_fill", "gpu_memset", IFP_ROLE_DEVICE},
	{"memset", "gpu_fill", "gpu_memset", IFP_ROLE_DEVICE},
	/* The plug-in would count a collective twice: on the host and on the GPU. */
	{"gpu_user_annotation", "gpu_annotation", "gpu_annotation", IFP_ROLE_OTHER},
	{"trace", "span", "span", IFP_ROLE_OTHER},
	{"memory", "mem", "mem", IFP_ROLE_OTHER},
};

const struct ifp_category *ifp_category_find(struct ifp_str name)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(categories); i++)
		if (strlen(categories[i].name) == name.len_bytes &&
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
