/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/args_detail.h"

#include "core/cleanup.h"
#include "trace/event.h"

/*
 * Read by torch-tb-profiler 0.4.3 (profiler/trace.py, communication.py, memory_parser.py) or by
 * HolisticTraceAnalysis 0.5.0 (hta/configs/default_event_args.py, the default set).
 */
static const char *const computed_with[] = {"External id", "external id", "correlation", "device",
	"stream", "context", "grid", "block", "registers per thread", "shared memory",
	"blocks per SM", "warps per SM", "est. achieved occupancy %", "bytes",
	"memory bandwidth (GB/s)", "Collective name", "In msg nelems", "Out msg nelems", "dtype",
	"Group size", "Process Group Name", "Process Group Description", "Python id",
	"Python parent id", "Python module id", "wait_on_stream",
	"wait_on_cuda_event_record_corr_id",
	/* the recorded name of a collective, under which it is not drawn */
	"name"};

static const char *const shapes[] = {"Input Dims", "Input dims", "Input type"};

static bool is_one_of(struct ifp_str key, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ifp_str_is(key, names[i]))
			return true;
	return false;
}

static bool stays(struct ifp_str key, enum ifp_args_detail detail, bool collective)
{
	if (detail == IFP_ARGS_ALL)
		return true;
	if (detail == IFP_ARGS_NO_STACKS)
		return !ifp_str_is(key, "Call stack");
	if (is_one_of(key, shapes, IFP_ARRAY_SIZE(shapes)))
		return detail == IFP_ARGS_SHORT || collective;
	return is_one_of(key, computed_with, IFP_ARRAY_SIZE(computed_with));
}

void ifp_args_cut(
	struct ifp_buf *out, struct ifp_str args, enum ifp_args_detail detail, bool collective)
{
	struct ifp_str key, value;
	uint32_t at = 0;
	bool any = false;

	while (ifp_args_next(args, &at, &key, &value)) {
		if (!stays(key, detail, collective))
			continue;
		ifp_buf_append_text(out, any ? ",\"" : "{\"");
		ifp_buf_append(out, key.ptr, key.len_bytes);
		ifp_buf_append_text(out, "\":");
		ifp_buf_append(out, value.ptr, value.len_bytes);
		any = true;
	}
	if (any)
		ifp_buf_append_u8(out, '}');
}
