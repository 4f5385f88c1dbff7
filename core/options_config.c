/* SPDX-License-Identifier: Apache-2.0 */
/* The config file: a JSON object whose keys are long option names. */
#include "core/options_internal.h"

#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define CONFIG_MAX_BYTES ((size_t)1024 * 1024)
#define EXACT_DOUBLE_MAX 9007199254740992.0 /* 2^53: whole numbers up to here are exact */

struct config {
	const struct ifp_command *command;
	const char *path;
	struct ifp_arena *arena;
};

static int read_file(const char *path, struct ifp_buf *content)
{
	IFP_CLEANUP_FILE FILE *file = fopen(path, "re");
	size_t n;

	if (!file)
		return ifp_fail_errno("open config file %s", path);
	ifp_buf_reserve(content, CONFIG_MAX_BYTES + 1);
	if (ifp_buf_status(content) < 0)
		return ifp_buf_status(content);
	n = fread(content->data, 1, CONFIG_MAX_BYTES + 1, file);
	if (ferror(file))
		return ifp_fail_errno("read config file %s", path);
	if (n > CONFIG_MAX_BYTES)
		return ifp_fail(-EFBIG, "config file %s is larger than 1 MiB", path);
	content->len_bytes = n;
	return 0;
}

static int line_of(const struct ifp_buf *content, const char *position)
{
	const char *text = (const char *)content->data;
	int line = 1;

	for (const char *p = text; p < position && p < text + content->len_bytes; p++)
		line += *p == '\n';
	return line;
}

static int parse(const char *path, const struct ifp_buf *content, cJSON **out)
{
	const char *end = NULL;
	cJSON *object = cJSON_ParseWithLengthOpts(
		(const char *)content->data, content->len_bytes, &end, false);
	int line;

	if (!object) {
		line = line_of(content, end);
		return ifp_fail(-EINVAL, "config file %s: line %d is no JSON", path, line);
	}
	if (!cJSON_IsObject(object)) {
		cJSON_Delete(object);
		return ifp_fail(-EINVAL,
			"config file %s holds no JSON object such as {\"quiet\": true}", path);
	}
	*out = object;
	return 0;
}

static void cleanup_json(cJSON **json)
{
	cJSON_Delete(*json);
}

/* A scalar as the text that the command line would have; empty text when it is none. */
static struct ifp_str scalar_text(const cJSON *value, bool is_flag, char *number, size_t size_bytes)
{
	if (cJSON_IsString(value))
		return ifp_str(value->valuestring);
	if (cJSON_IsBool(value) && is_flag)
		return ifp_str(cJSON_IsTrue(value) ? "true" : "false");
	if (!cJSON_IsNumber(value) || is_flag)
		return (struct ifp_str){0};
	if (fabs(value->valuedouble) <= EXACT_DOUBLE_MAX &&
		floor(value->valuedouble) == value->valuedouble)
		snprintf(number, size_bytes, "%.0f", value->valuedouble);
	else
		snprintf(number, size_bytes, "%.17g", value->valuedouble);
	return ifp_str(number);
}

static int add_scalar(const struct config *config, const struct ifp_option *option,
	const cJSON *value, struct ifp_option_list *texts)
{
	char number[64];
	struct ifp_str text =
		scalar_text(value, option->type == IFP_OPTION_FLAG, number, sizeof(number));
	struct ifp_str copy;

	if (!text.ptr)
		return ifp_fail(-EINVAL, "config file %s: \"%s\" must be %s", config->path,
			option->name,
			option->type == IFP_OPTION_FLAG	  ? "true or false"
			: option->type == IFP_OPTION_LIST ? "an array of texts"
							  : "a text or a number");
	copy = ifp_arena_copy(config->arena, text);
	if (!copy.ptr)
		return ifp_fail(-ENOMEM, "read config file %s", config->path);
	return ifp_option_list_add(config->arena, texts, copy.ptr);
}

static int add_value(const struct config *config, const struct ifp_option *option,
	const cJSON *value, struct ifp_option_list *texts)
{
	const cJSON *item;

	if (option->type != IFP_OPTION_LIST || !cJSON_IsArray(value))
		return add_scalar(config, option, value, texts);
	cJSON_ArrayForEach(item, value)
	{
		int err = add_scalar(config, option, item, texts);

		if (err < 0)
			return err;
	}
	return 0;
}

int ifp_options_read_config(const struct ifp_command *command, const char *path, bool strict,
	struct ifp_arena *arena, struct ifp_option_list *texts)
{
	const struct config config = {.command = command, .path = path, .arena = arena};
	IFP_CLEANUP_BUF struct ifp_buf content = {0};
	IFP_CLEANUP(cleanup_json) cJSON *object = NULL;
	const cJSON *member;
	int err = read_file(path, &content);

	if (!err)
		err = parse(path, &content, &object);
	if (err < 0)
		return err;
	cJSON_ArrayForEach(member, object)
	{
		size_t i = ifp_option_find(command, member->string);

		if (i < command->option_count)
			err = add_value(&config, ifp_option_at(command, i), member, &texts[i]);
		else if (strict)
			err = ifp_fail(-EINVAL, "config file %s: %s has no option \"%s\"", path,
				command->name, member->string);
		if (err < 0)
			return err;
	}
	return 0;
}
