/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/report/gpus.h"

#include "collector/report/json_words.h"

#include <inttypes.h>
#include <stdio.h>

/* Calls tell for each GPU that has recorded anything. */
static void for_each(const struct ifp_run *run, struct ifp_buf *out,
	void (*tell)(struct ifp_buf *out, uint32_t rank, const struct ifp_gpu *gpu))
{
	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++) {
		uint32_t count;
		const struct ifp_gpu *gpus = ifp_run_gpus(run, i, &count);

		for (uint32_t g = 0; g < count; g++)
			if (gpus[g].slices)
				tell(out, ifp_run_rank(run, i)->rank, &gpus[g]);
	}
}

bool ifp_gpus_any(const struct ifp_run *run)
{
	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++) {
		uint32_t count;

		ifp_run_gpus(run, i, &count);
		if (count)
			return true;
	}
	return false;
}

/* Microseconds; a side that nothing limits is "any". */
static void append_us(struct ifp_buf *out, int width, int64_t ns)
{
	char text[32] = "any";

	if (ns != INT64_MIN && ns != INT64_MAX)
		snprintf(text, sizeof(text), "%+.3f", (double)ns / 1e3);
	ifp_buf_printf(out, "  %*s", width, text);
}

static void append_gpu(struct ifp_buf *out, uint32_t rank, const struct ifp_gpu *gpu)
{
	const struct ifp_gpu_bias *bias = &gpu->bias;

	ifp_buf_printf(out, "%4u  %3" PRId64 "  %6u", rank, gpu->device, gpu->window);
	append_us(out, 11, bias->shift_ns);
	append_us(out, 11, bias->low_ns);
	append_us(out, 11, bias->high_ns);
	ifp_buf_printf(out, "  %8.3f  %8u  %6u  %8u", (double)bias->doubt_ns / 1e3, bias->begins,
		bias->ends, bias->begins_left_out + bias->ends_left_out);
	if (bias->fit == IFP_GPU_LINE)
		ifp_buf_printf(out, "  drifts by %+.3f ppm", bias->drift_ppm);
	if (bias->fit == IFP_GPU_CONTRADICTED)
		ifp_buf_append_text(out, "  contradicted");
	ifp_buf_append_text(out, "\n");
}

void ifp_gpus_text(const struct ifp_run *run, struct ifp_buf *out)
{
	if (!ifp_gpus_any(run))
		return;
	ifp_buf_append_text(out, "\nGPUs against their hosts, estimated; us\n");
	ifp_buf_printf(out, "%4s  %3s  %6s  %11s  %11s  %11s  %8s  %8s  %6s  %8s\n", "rank", "GPU",
		"window", "moved by", "at least", "at most", "known to", "launches", "waits",
		"left out");
	for_each(run, out, append_gpu);
	ifp_buf_append_text(out,
		"moved by: what is added to the GPU's times, so that no work begins before its "
		"launch "
		"and none\n          ends after the return of a call that waited for it; the least "
		"that does, mostly 0\nknown to: an estimate, which is no part of any bound\n");
}

static void append_limit(struct ifp_buf *out, const char *name, int64_t ns)
{
	if (ns == INT64_MIN || ns == INT64_MAX)
		ifp_buf_printf(out, "\"%s\":null,", name);
	else
		ifp_buf_printf(out, "\"%s\":%" PRId64 ",", name, ns);
}

static void append_object(struct ifp_buf *out, uint32_t rank, const struct ifp_gpu *gpu)
{
	static const char *const fits[] = {[IFP_GPU_FREE] = "unlimited",
		[IFP_GPU_SHIFT] = "shift",
		[IFP_GPU_LINE] = "line",
		[IFP_GPU_CONTRADICTED] = "contradicted"};
	const struct ifp_gpu_bias *bias = &gpu->bias;

	ifp_buf_printf(out,
		"{\"rank\":%u,\"device\":%" PRId64 ",\"window\":%u,\"slices\":%" PRIu64
		",\"shift_ns\":%" PRId64 ",",
		rank, gpu->device, gpu->window, gpu->slices, bias->shift_ns);
	append_limit(out, "low_ns", bias->low_ns);
	append_limit(out, "high_ns", bias->high_ns);
	ifp_buf_printf(out, "\"doubt_ns\":%" PRId64 ",\"drift_ppm\":%.6f,", bias->doubt_ns,
		bias->drift_ppm);
	ifp_json_words_member(out, "fit", fits[bias->fit]);
	ifp_buf_printf(out,
		"\"launches\":%u,\"waits\":%u,\"launches_contradicted\":%u,"
		"\"waits_contradicted\":%u,\"launches_left_out\":%u,\"waits_left_out\":%u},",
		bias->begins, bias->ends, bias->early, bias->late, bias->begins_left_out,
		bias->ends_left_out);
}

void ifp_gpus_json(const struct ifp_run *run, struct ifp_buf *out)
{
	ifp_buf_append_text(out, "\"gpus\":[");
	for_each(run, out, append_object);
	ifp_json_words_end(out, "],");
}
