/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/xplane_args.h"

#include "core/cleanup.h"
#include "trace/event.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest decimal that is taken as a number; doubles have 17 digits. */
#define MAX_NUMBER 40

/* Told by the lane or by kernel_details. */
static const char *const told_elsewhere[] = {
	"device", "stream", "grid", "block", "registers per thread", "shared memory"};

/*
 * Stats that mean something to xprof: a member of that name which somebody's program recorded must
 * not be taken for it.
 */
static const char *const meant[] = {"group_id", "flow", "step_name", "step_num", "correlation_id",
	"device_id", "tf_op", "hlo_op", "hlo_module", "kernel_details", "memcpy_details",
	"program_id", "_a", "_ipl_stage_id", "_ipl_stage_name", "_ipl_stage_cat",
	"device_offset_ps", "device_duration_ps"};

static bool is_among(struct ifp_str key, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ifp_str_is(key, names[i]))
			return true;
	return false;
}

static uint32_t name_of(struct ifp_xplane_plane *plane, struct ifp_str key)
{
	char text[64];
	int len;

	if (!is_among(key, meant, IFP_ARRAY_SIZE(meant)))
		return ifp_xplane_stat_name(plane, key);
	len = snprintf(text, sizeof(text), "recorded " IFP_STR_FORMAT, IFP_STR_ARGS(key));
	return ifp_xplane_stat_name(plane, (struct ifp_str){text, (uint32_t)len});
}

/* Whole numbers stay exact. False for what is no number, or none that fits. */
static bool add_number(struct ifp_xplane_plane *plane, uint32_t stat, struct ifp_str value)
{
	char text[MAX_NUMBER + 1], *end;
	bool whole;

	if (!value.len_bytes || value.len_bytes > MAX_NUMBER ||
		!memchr("-0123456789", value.ptr[0], 11))
		return false;
	memcpy(text, value.ptr, value.len_bytes);
	text[value.len_bytes] = '\0';
	whole = !strpbrk(text, ".eE");
	errno = 0;
	if (whole && text[0] == '-') {
		int64_t number = strtoll(text, &end, 10);

		if (!errno)
			ifp_xplane_stat_int(plane, stat, number);
	} else if (whole) {
		uint64_t number = strtoull(text, &end, 10);

		if (!errno)
			ifp_xplane_stat_uint(plane, stat, number);
	} else {
		double number = strtod(text, &end);

		errno = isfinite(number) ? 0 : ERANGE;
		if (!errno)
			ifp_xplane_stat_double(plane, stat, number);
	}
	return !errno;
}

static void add(struct ifp_xplane_plane *plane, struct ifp_str key, struct ifp_str value)
{
	uint32_t stat = name_of(plane, key);

	if (add_number(plane, stat, value))
		return;
	if (value.len_bytes >= 2 && value.ptr[0] == '"')
		value = (struct ifp_str){value.ptr + 1, value.len_bytes - 2};
	ifp_xplane_stat_text(plane, stat, value);
}

void ifp_xplane_args(struct ifp_xplane_plane *plane, struct ifp_str args, bool on_device)
{
	struct ifp_str key, value;
	uint32_t at = 0;

	while (ifp_args_next(args, &at, &key, &value))
		if (!on_device || !is_among(key, told_elsewhere, IFP_ARRAY_SIZE(told_elsewhere)))
			add(plane, key, value);
}

static struct ifp_str text_of(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

/* "grid:66,1,1" from [66, 1, 1]. */
static void append_dimensions(
	struct ifp_buf *text, const char *name, struct ifp_str args, const char *key)
{
	struct ifp_str value;

	if (!ifp_args_find(args, key, &value))
		return;
	ifp_buf_append_text(text, name);
	for (uint32_t i = 0; i < value.len_bytes; i++)
		if (value.ptr[i] == ',' || (value.ptr[i] >= '0' && value.ptr[i] <= '9'))
			ifp_buf_append_u8(text, (uint8_t)value.ptr[i]);
}

void ifp_xplane_kernel(struct ifp_xplane_plane *plane, struct ifp_str args, struct ifp_buf *text)
{
	int64_t registers = 0, shared_bytes = 0;
	struct ifp_str occupancy;

	ifp_args_find_int(args, "registers per thread", &registers);
	ifp_args_find_int(args, "shared memory", &shared_bytes);
	ifp_buf_clear(text);
	/* Kineto tells the sum of static and dynamic shared memory, which is what xprof shows. */
	ifp_buf_printf(text, "regs:%" PRId64 " static_shared:0 dynamic_shared:%" PRId64, registers,
		shared_bytes);
	append_dimensions(text, " grid:", args, "grid");
	append_dimensions(text, " block:", args, "block");
	if (ifp_args_find(args, "est. achieved occupancy %", &occupancy)) {
		ifp_buf_append_text(text, " occ_pct:");
		ifp_buf_append(text, occupancy.ptr, occupancy.len_bytes);
	}
	ifp_xplane_stat_text(
		plane, ifp_xplane_stat_name(plane, ifp_str("kernel_details")), text_of(text));
}

void ifp_xplane_copy(struct ifp_xplane_plane *plane, struct ifp_str args, struct ifp_buf *text)
{
	int64_t bytes;

	if (!ifp_args_find_int(args, "bytes", &bytes))
		return;
	ifp_buf_clear(text);
	ifp_buf_printf(text, "num_bytes:%" PRId64, bytes);
	ifp_xplane_stat_text(
		plane, ifp_xplane_stat_name(plane, ifp_str("memcpy_details")), text_of(text));
}
