/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include "fuzz.h"
#include "trace/chrome/escape.h"

#include <math.h>
#include <string.h>

/* cJSON copies a number to 64 bytes before it looks at it. */
#define LONGEST_NUMBER_BYTES 60u

/* Times that stay far from the ends of int64_t, in us. */
#define SAFE_US 1e12

static bool is_one_of(uint8_t c, const char *characters)
{
	return c && strchr(characters, c);
}

/* Whether "\uD" and a digit of these begin the escape of one half of a surrogate pair. */
static bool is_half(const uint8_t *p, size_t left, const char *third)
{
	return left >= 6 && p[0] == '\\' && p[1] == 'u' && (p[2] | 0x20) == 'd' &&
	       is_one_of(p[3], third);
}

/*
 * An escaped letter of ASCII may be part of a known key, which the reader takes as it stands; one
 * half of a surrogate pair without the other is an error to cJSON alone.
 */
static bool escape_is_odd(const uint8_t *p, size_t left)
{
	if (left < 2 || p[1] == '/')
		return true;
	if (left < 6 || p[1] != 'u')
		return false;
	if (is_half(p, left, "89abAB"))
		return !is_half(p + 6, left - 6, "cdefCDEF");
	return is_half(p, left, "cdefCDEF") ||
	       (p[2] == '0' && p[3] == '0' && is_one_of(p[4], "0234567"));
}

static bool is_escape(const uint8_t *p, size_t left)
{
	return left >= 2 && p[0] == '\\';
}

bool oracle_is_able(const void *text, size_t len_bytes)
{
	const uint8_t *data = text;
	size_t number = 0;

	for (size_t i = 0; i < len_bytes; i++) {
		const uint8_t *p = data + i;
		size_t left = len_bytes - i;

		number = is_one_of(*p, "0123456789+-.eE") ? number + 1 : 0;
		if (number > LONGEST_NUMBER_BYTES || !*p)
			return false;
		if (!is_escape(p, left))
			continue;
		if (escape_is_odd(p, left))
			return false;
		i += is_half(p, left, "89abAB") ? 7 : 1;
	}
	/* A byte order mark elsewhere than at the very start. */
	return len_bytes < 3 || !memmem(data + 1, len_bytes - 1, "\xef\xbb\xbf", 3);
}

/* Members with this key; *last is the last of them, which counts where there are several. */
static unsigned int find(const cJSON *object, const char *key, const cJSON **last)
{
	unsigned int count = 0;
	const cJSON *item;

	*last = NULL;
	cJSON_ArrayForEach(item, object)
	{
		if (item->string && strcmp(item->string, key) == 0) {
			*last = item;
			count++;
		}
	}
	return count;
}

struct oracle oracle_parse(const void *text, size_t len_bytes)
{
	struct oracle oracle = {.tree = cJSON_ParseWithLength(text, len_bytes), .exact = true};
	const cJSON *base;

	if (cJSON_IsObject(oracle.tree)) {
		oracle.exact = find(oracle.tree, "traceEvents", &oracle.events) == 1 &&
			       find(oracle.tree, "baseTimeNanoseconds", &base) <= 1;
	} else {
		oracle.events = oracle.tree;
	}
	if (!cJSON_IsArray(oracle.events))
		oracle.events = NULL;
	return oracle;
}

void oracle_free(struct oracle *oracle)
{
	cJSON_Delete(oracle->tree);
	*oracle = (struct oracle){0};
}

unsigned int oracle_depth(const cJSON *item)
{
	unsigned int deepest = 0;
	const cJSON *child;

	if (!cJSON_IsArray(item) && !cJSON_IsObject(item))
		return 0;
	cJSON_ArrayForEach(child, item)
	{
		unsigned int depth = oracle_depth(child);

		if (depth > deepest)
			deepest = depth;
	}
	return deepest + 1;
}

/* Absent, a string or a number; not an array or object. */
static bool is_scalar(const cJSON *object, const char *key)
{
	const cJSON *item;

	return find(object, key, &item) == 0 || (!cJSON_IsArray(item) && !cJSON_IsObject(item));
}

static bool has_safe_time(const cJSON *object, const char *key, double least)
{
	const cJSON *item;

	return find(object, key, &item) == 1 && cJSON_IsNumber(item) &&
	       item->valuedouble >= least && item->valuedouble <= SAFE_US;
}

bool oracle_is_event(const cJSON *element)
{
	const cJSON *ph, *name, *dur;

	if (!cJSON_IsObject(element) || !find(element, "ph", &ph) || !cJSON_IsString(ph) ||
		strlen(ph->valuestring) != 1 || *ph->valuestring < ' ' ||
		strchr("\"\\/", *ph->valuestring))
		return false;
	if (!find(element, "name", &name) || !cJSON_IsString(name))
		return false;
	if (!has_safe_time(element, "ts", -SAFE_US))
		return false;
	if (*ph->valuestring == 'X' && find(element, "dur", &dur) &&
		!has_safe_time(element, "dur", -SAFE_US))
		return false;
	return is_scalar(element, "pid") && is_scalar(element, "tid");
}

static void judge_text(struct ifp_str escaped, const cJSON *item)
{
	IFP_CLEANUP_BUF struct ifp_buf plain = {0};

	if (!cJSON_IsString(item)) {
		require(!escaped.len_bytes);
		return;
	}
	ifp_json_unescape(&plain, escaped);
	ifp_buf_append_u8(&plain, 0);
	require(!ifp_buf_status(&plain));
	require(strcmp((const char *)plain.data, item->valuestring) == 0);
}

/* cJSON has doubles only: equal within their step at this size. */
static void judge_time(int64_t ns, const cJSON *us)
{
	double want_ns;

	if (!us)
		return;
	require(cJSON_IsNumber(us));
	want_ns = us->valuedouble * 1000.0;
	require(fabs((double)ns - want_ns) <= 1.0 + fabs(want_ns) * 1e-14);
}

static void judge_place(int64_t number, struct ifp_str text, const cJSON *item)
{
	if (cJSON_IsString(item)) {
		require(text.len_bytes >= 2);
		text.ptr++;
		text.len_bytes -= 2;
		judge_text(text, item);
	} else if (cJSON_IsNumber(item) && !text.len_bytes) {
		require(fabs((double)number - item->valuedouble) <=
			fabs(item->valuedouble) * 1e-14);
	}
}

static void judge_args(struct ifp_str args, const cJSON *item)
{
	cJSON *parsed;
	char *got, *want;

	if (!cJSON_IsObject(item))
		return;
	parsed = cJSON_ParseWithLength(args.ptr, args.len_bytes);
	require(parsed);
	got = cJSON_PrintUnformatted(parsed);
	want = cJSON_PrintUnformatted(item);
	require(got && want && strcmp(got, want) == 0);
	cJSON_free(got);
	cJSON_free(want);
	cJSON_Delete(parsed);
}

void oracle_judge(const cJSON *element, const struct ifp_event *event, int64_t base_ns)
{
	const cJSON *item, *pid, *tid;

	require(cJSON_IsObject(element));
	find(element, "name", &item);
	judge_text(event->name, item);
	find(element, "cat", &item);
	judge_text(event->category, item);
	if (find(element, "args", &item) == 1)
		judge_args(event->args, item);
	if (find(element, "ts", &item))
		judge_time(event->start - base_ns, item);
	if (event->kind == IFP_EVENT_SLICE && find(element, "dur", &item))
		judge_time(event->dur, item);
	find(element, "pid", &pid);
	find(element, "tid", &tid);
	if (event->lane.kind != IFP_LANE_STREAM) {
		judge_place(event->lane.pid, event->lane.pid_text, pid);
		judge_place(event->lane.tid, event->lane.tid_text, tid);
	}
}
