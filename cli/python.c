/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/python.h"

#include "cli/program.h"
#include "core/error.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES 4096

/* One line of each module that is there; others may print what they like before. */
#define SCRIPT                                                                                     \
	"import importlib.util, sys\n"                                                             \
	"for name in sys.argv[1:]:\n"                                                              \
	"    if importlib.util.find_spec(name): print('infprof finds', name)\n"                    \
	"print('infprof is done')\n"

static int read_all(int fd, struct ifp_buf *text)
{
	ssize_t got;

	do {
		char bytes[READ_BYTES];

		got = read(fd, bytes, sizeof(bytes));
		if (got > 0)
			ifp_buf_append(text, bytes, (size_t)got);
	} while (got > 0 || (got < 0 && errno == EINTR));
	ifp_buf_append_u8(text, 0);
	return ifp_buf_status(text);
}

int ifp_python_examine(const char *name, struct ifp_python *out)
{
	char *const argv[] = {(char *)name, "-c", SCRIPT, "tensorboard", "torch_tb_profiler",
		"xprof", "tensorboard_plugin_profile", NULL};
	IFP_CLEANUP_PROGRAM struct ifp_program program = {0};
	IFP_CLEANUP_BUF struct ifp_buf printed = {0}, end = {0};
	const char *text;
	int status, err = ifp_program_start(argv, NULL, &program);

	if (!err)
		err = read_all(program.output, &printed);
	if (err)
		return err;
	status = ifp_program_finish(&program);
	text = (const char *)printed.data;
	if (!strstr(text, "infprof is done")) {
		ifp_program_describe(status, &end);
		ifp_buf_append_u8(&end, 0);
		err = ifp_buf_status(&end);
		return err ? err
			   : ifp_fail(-EPROTO,
				     "%s is no Python that works: asked for its modules, it %s",
				     name, (const char *)end.data);
	}
	*out = (struct ifp_python){
		.name = name,
		.tensorboard = strstr(text, "infprof finds tensorboard\n"),
		.torch_plugin = strstr(text, "infprof finds torch_tb_profiler\n"),
		.xprof = strstr(text, "infprof finds xprof\n") ||
			 strstr(text, "infprof finds tensorboard_plugin_profile\n"),
	};
	return 0;
}
