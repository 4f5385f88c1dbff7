/* SPDX-License-Identifier: Apache-2.0 */
#include "core/log.h"

#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 4096

static struct {
	enum ifp_log_level max_level;
	char name[64];
} setup = {.max_level = IFP_LOG_INFO, .name = "infprof"};

void ifp_log_setup(enum ifp_log_level max_level, const char *name)
{
	setup.max_level = getenv("INFPROF_DEBUG") ? IFP_LOG_DEBUG : max_level;
	snprintf(setup.name, sizeof(setup.name), "%s", name);
}

static const char *label(enum ifp_log_level level)
{
	switch (level) {
	case IFP_LOG_ERROR:
		return "error: ";
	case IFP_LOG_WARN:
		return "warning: ";
	case IFP_LOG_DEBUG:
		return "debug: ";
	default:
		return "";
	}
}

/*
 * One message is one line, and names of files and texts from the network cannot steer a terminal.
 */
static void blank_controls(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
	}
}

void ifp_log(enum ifp_log_level level, const char *format, ...)
{
	char line[LINE_BYTES];
	va_list args;
	size_t used;
	ssize_t written;

	if (level > setup.max_level)
		return;
	snprintf(line, sizeof(line), "%s: %s", setup.name, label(level));
	used = strlen(line);
	va_start(args, format);
	vsnprintf(line + used, sizeof(line) - used - 1, format, args);
	va_end(args);
	blank_controls(line);
	used = strlen(line);
	line[used++] = '\n';
	/* stderr may be gone (a closed terminal): then there is nobody left to tell */
	written = write(STDERR_FILENO, line, used);
	(void)written;
}

void ifp_log_chain(enum ifp_log_level level)
{
	char text[LINE_BYTES];

	ifp_log(level, "%s", ifp_error_text(text, sizeof(text)));
	ifp_error_clear();
}
