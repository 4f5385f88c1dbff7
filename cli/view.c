/* SPDX-License-Identifier: Apache-2.0 */
/* infprof view: TensorBoard on an output directory. */
#include "cli/verb.h"

#include "cli/python.h"
#include "cli/server.h"
#include "cli/viewable.h"
#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct values {
	const char *host;
	const char *python;
	int64_t port;
};

static const struct ifp_option options[] = {
	{.name = "port",
		.argument = "PORT",
		.environment = "",
		.doc = "Where to listen. Default: 0, one that is free.",
		.type = IFP_OPTION_INT,
		.offset = offsetof(struct values, port),
		.max = 65535},
	{.name = "host",
		.argument = "HOST",
		.environment = "",
		.doc = "Of which address to listen. Default: 127.0.0.1, for this machine alone. "
		       "Whoever reaches another one can see the run.",
		.type = IFP_OPTION_TEXT,
		.offset = offsetof(struct values, host)},
	{.name = "python",
		.argument = "PYTHON",
		.environment = "PYTHON",
		.doc = "The Python that has TensorBoard. Default: python3, or else "
		       ".venv/bin/python.",
		.type = IFP_OPTION_TEXT,
		.offset = offsetof(struct values, python)},
};

static const struct ifp_command_section sections[] = {
	{"EXIT STATUS", "0 when it was ended by Ctrl-C or a signal, 1 when TensorBoard did not "
			"start or ended on its own, 2 when the command was used in a wrong way."},
};

static const struct ifp_command command = {
	.name = "infprof view",
	.synopsis = "[--port PORT] [--host HOST] [--python PYTHON] DIR",
	.summary = "start TensorBoard on the output of a run",
	.description =
		"Looks whether DIR holds what TensorBoard can show and whether TensorBoard and its "
		"plug-in are installed, and says what to do where they are not. Then it starts "
		"TensorBoard, prints the address as soon as it answers, and waits. Ctrl-C ends "
		"both. Choose the tab PYTORCH_PROFILER there.",
	.options = options,
	.option_count = IFP_ARRAY_SIZE(options),
	.sections = sections,
	.section_count = IFP_ARRAY_SIZE(sections),
	.options_anywhere = true,
};

static bool is_there(const char *directory, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", directory, name) < PATH_MAX &&
	       access(path, F_OK) == 0;
}

static int check_directory(const char *directory, struct ifp_viewable *found)
{
	IFP_CLEANUP_BUF struct ifp_buf word = {0};
	int err = ifp_viewable_find(directory, found);

	ifp_buf_append_shell_word(&word, directory);
	ifp_buf_append_u8(&word, 0);
	if (ifp_buf_status(&word))
		return -ENOMEM;
	if (err == -ENOTDIR)
		return ifp_fail(
			err, "draw it first: infprof timeline %s -o DIR", (const char *)word.data);
	if (err || found->traces || found->xplanes)
		return err;
	if (is_there(directory, "run.ifp"))
		return ifp_fail(-ENOENT,
			"%s holds an archive and no timeline: infprof timeline %s -o %s draws it",
			directory, (const char *)word.data, (const char *)word.data);
	return ifp_fail(-ENOENT,
		"%s holds nothing that TensorBoard shows: infprof timeline draws it of an "
		"archive, infprof merge of traces",
		directory);
}

/* Whether it can show all that there is. */
static bool has_all(const struct ifp_python *python, const struct ifp_viewable *found)
{
	return python->tensorboard && (python->torch_plugin || !found->traces) &&
	       (python->xprof || !found->xplanes);
}

/* Whether it can show anything. */
static bool has_some(const struct ifp_python *python, const struct ifp_viewable *found)
{
	return python->tensorboard &&
	       ((python->torch_plugin && found->traces) || (python->xprof && found->xplanes));
}

/* What is missing for what there is, as pip knows it. */
static void append_missing(
	struct ifp_buf *out, const struct ifp_python *python, const struct ifp_viewable *found)
{
	if (!python->tensorboard)
		ifp_buf_append_text(out, " tensorboard");
	if (!python->torch_plugin && found->traces)
		ifp_buf_append_text(out, " torch-tb-profiler");
	if (!python->xprof && found->xplanes)
		ifp_buf_append_text(out, " xprof");
}

/* asked: it was named by the user. */
static int tell_missing(
	const struct ifp_python *python, const struct ifp_viewable *found, bool asked)
{
	const char *another = asked ? "" : "; or name a Python that has it: --python PYTHON";
	IFP_CLEANUP_BUF struct ifp_buf packages = {0};

	append_missing(&packages, python, found);
	ifp_buf_append_u8(&packages, 0);
	if (ifp_buf_status(&packages))
		return -ENOMEM;
	if (!has_some(python, found))
		return ifp_fail(-ENOENT, "%s has not all that it takes: %s -m pip install%s%s",
			python->name, python->name, (const char *)packages.data, another);
	ifp_log_warn("a part will not be shown: %s -m pip install%s%s", python->name,
		(const char *)packages.data, another);
	return 0;
}

/* Replaces *best by this Python when it can show more. Its failure is kept in *failure. */
static void consider(
	const char *name, const struct ifp_viewable *found, struct ifp_python *best, int *failure)
{
	struct ifp_python python = {0};
	int err;

	if (best->name && has_all(best, found))
		return;
	err = ifp_python_examine(name, &python);
	if (err)
		*failure = err;
	else if (!best->name || has_all(&python, found) ||
		 (has_some(&python, found) && !has_some(best, found)))
		*best = python;
}

static int find_python(
	const char *asked, const struct ifp_viewable *found, struct ifp_python *python)
{
	struct ifp_python best = {0};
	int failure = 0;

	if (asked) {
		consider(asked, found, &best, &failure);
	} else {
		consider("python3", found, &best, &failure);
		if (access(".venv/bin/python", X_OK) == 0)
			consider(".venv/bin/python", found, &best, &failure);
	}
	if (!best.name)
		return asked ? failure
			     : ifp_fail(failure,
				       "TensorBoard needs a Python: name it with --python");
	ifp_error_clear();
	*python = best;
	return has_all(&best, found) ? 0 : tell_missing(&best, found, asked != NULL);
}

/* That plug-in has files of its own, which are drawn when they are asked for. */
static void tell_xprof(
	const char *directory, const struct ifp_python *python, const struct ifp_viewable *found)
{
	IFP_CLEANUP_BUF struct ifp_buf word = {0};

	if (!python->xprof || found->xplanes || !is_there(directory, "run.ifp"))
		return;
	ifp_buf_append_shell_word(&word, directory);
	ifp_buf_append_u8(&word, 0);
	if (!ifp_buf_status(&word))
		ifp_log_info("there is nothing here for xprof, which is installed, too; to draw "
			     "it: infprof timeline %s -o %s --formats xplane",
			(const char *)word.data, (const char *)word.data);
}

static int run(const void *values, const struct ifp_arguments *arguments)
{
	const struct values *v = values;
	char *directory = arguments->items[0];
	struct ifp_viewable found;
	struct ifp_python python = {0};
	char port[24];
	int err = check_directory(directory, &found);

	if (!err)
		err = find_python(v->python, &found, &python);
	if (err)
		return err;
	tell_xprof(directory, &python, &found);
	snprintf(port, sizeof(port), "%" PRId64, v->port);
	ifp_log_info("starting TensorBoard by %s; Ctrl-C ends it", python.name);
	return ifp_server_run(&(struct ifp_server){
		.argv = (char *[]){(char *)python.name, "-m", "tensorboard.main", "--logdir",
			directory, "--host", (char *)v->host, "--port", port, "--load_fast",
			"false", NULL},
		.name = "TensorBoard",
		.host = v->host,
		.port = port,
	});
}

static const struct values defaults = {.host = "127.0.0.1"};

const struct ifp_verb ifp_verb_view = {
	.command = &command,
	.defaults = &defaults,
	.values_bytes = sizeof(struct values),
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run,
};
