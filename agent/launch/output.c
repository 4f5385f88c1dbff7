/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/launch/output.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "core/time.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_TRIES 1000

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_interpreter(const char *program)
{
	static const char *const shells[] = {"sh", "bash", "dash", "zsh"};

	if (!strncmp(program, "python", 6))
		return true;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(shells); i++) {
		if (!strcmp(program, shells[i]))
			return true;
	}
	return false;
}

/* What an interpreter was told to run; NULL when that is not a file or module (-c, stdin). */
static const char *script_of(char *const argv[])
{
	for (size_t i = 1; argv[i]; i++) {
		if (!strcmp(argv[i], "-c"))
			return NULL;
		if (!strcmp(argv[i], "-m"))
			return argv[i + 1];
		/* options that take a value in the next argument */
		if (!strcmp(argv[i], "-W") || !strcmp(argv[i], "-X")) {
			if (!argv[++i])
				return NULL;
			continue;
		}
		if (argv[i][0] != '-')
			return base_name(argv[i]);
	}
	return NULL;
}

void ifp_output_program_name(char *const argv[], char name[64])
{
	const char *program = base_name(argv[0]);
	const char *script = is_interpreter(program) ? script_of(argv) : NULL;
	const char *suffix;
	size_t len_bytes;

	if (script && *script)
		program = script;
	suffix = strrchr(program, '.');
	len_bytes =
		suffix && suffix != program && (!strcmp(suffix, ".py") || !strcmp(suffix, ".sh"))
			? (size_t)(suffix - program)
			: strlen(program);
	if (len_bytes > 63)
		len_bytes = 63;
	for (size_t i = 0; i < len_bytes; i++)
		name[i] = isalnum((unsigned char)program[i]) || strchr("._-", program[i])
				  ? program[i]
				  : '_';
	name[len_bytes] = '\0';
	if (!len_bytes)
		snprintf(name, 64, "program");
	/* neither a hidden folder nor something that looks like an option */
	if (name[0] == '.' || name[0] == '-')
		name[0] = '_';
}

/* mkdir -p; folders that are there already are fine. */
static int make_folders(const char *path)
{
	IFP_CLEANUP_FREE char *partial = strdup(path);

	if (!partial)
		return ifp_fail(-ENOMEM, "no memory for a path");
	for (char *slash = strchr(partial + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(partial, 0777) && errno != EEXIST)
			return ifp_fail_errno("make the output directory %s", partial);
		*slash = '/';
	}
	if (mkdir(partial, 0777) && errno != EEXIST)
		return ifp_fail_errno("make the output directory %s", partial);
	return 0;
}

/* Permission bits do not tell about full or read-only file systems: only a file does. */
static int check_writable(const char *path)
{
	IFP_CLEANUP_FREE char *probe = NULL;
	IFP_CLEANUP_FD int fd = -1;

	if (asprintf(&probe, "%s/.infprof-probe-%ld", path, (long)getpid()) < 0) {
		probe = NULL;
		return ifp_fail(-ENOMEM, "no memory for a path");
	}
	fd = open(probe, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return ifp_fail_errno("write into the output directory %s", path);
	unlink(probe);
	return 0;
}

static int take_path(const char *path, char **out)
{
	char *absolute = realpath(path, NULL);

	if (!absolute)
		return ifp_fail_errno("find the output directory %s", path);
	*out = absolute;
	return 0;
}

static int make_wanted(const char *wanted, char **out)
{
	IFP_CLEANUP_FREE char *archive = NULL;
	int err = make_folders(wanted);

	if (err)
		return err;
	if (asprintf(&archive, "%s/" IFP_OUTPUT_ARCHIVE, wanted) < 0) {
		archive = NULL;
		return ifp_fail(-ENOMEM, "no memory for a path");
	}
	if (access(archive, F_OK) == 0)
		return ifp_fail(-EEXIST,
			"%s holds an earlier run (" IFP_OUTPUT_ARCHIVE
			"): give another directory with -o, or remove it",
			wanted);
	err = check_writable(wanted);
	return err ? err : take_path(wanted, out);
}

static int make_default(const char *name, int64_t now_realtime_ns, char **out)
{
	time_t now = (time_t)(now_realtime_ns / IFP_NS_PER_S);
	char path[256], stamp[32];
	struct tm local;
	int err = make_folders(IFP_OUTPUT_PARENT);

	if (err)
		return err;
	localtime_r(&now, &local);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &local);
	for (int i = 1; i <= MAX_TRIES; i++) {
		int used = snprintf(path, sizeof(path), IFP_OUTPUT_PARENT "/%s-%s", name, stamp);

		if (i > 1)
			snprintf(path + used, sizeof(path) - (size_t)used, "-%d", i);
		if (mkdir(path, 0777) == 0) {
			err = check_writable(path);
			return err ? err : take_path(path, out);
		}
		if (errno != EEXIST)
			break;
	}
	return ifp_fail_errno("make the output directory %s", path);
}

int ifp_output_make(const char *wanted, const char *name, int64_t now_realtime_ns, char **out)
{
	if (wanted && !*wanted)
		return ifp_fail(-EINVAL, "the name of the output directory is empty");
	return wanted ? make_wanted(wanted, out) : make_default(name, now_realtime_ns, out);
}

void ifp_output_unmake(const char *path)
{
	char log[PATH_MAX], archive[PATH_MAX];
	struct stat st;

	/* the archive may be that of a run which took the directory at the same moment */
	if (snprintf(archive, sizeof(archive), "%s/" IFP_OUTPUT_ARCHIVE, path) >= PATH_MAX ||
		snprintf(log, sizeof(log), "%s/collector.log", path) >= PATH_MAX ||
		access(archive, F_OK) == 0)
		return;
	/* the log of a collector that said nothing */
	if (stat(log, &st) == 0 && !st.st_size)
		unlink(log);
	rmdir(path);
}

char *ifp_output_parent(const char *wanted)
{
	size_t len_bytes = wanted ? strlen(wanted) : 0;

	if (!wanted)
		return strdup(IFP_OUTPUT_PARENT);
	while (len_bytes > 1 && wanted[len_bytes - 1] == '/')
		len_bytes--;
	while (len_bytes && wanted[len_bytes - 1] != '/')
		len_bytes--;
	while (len_bytes > 1 && wanted[len_bytes - 1] == '/')
		len_bytes--;
	return len_bytes ? strndup(wanted, len_bytes) : strdup(".");
}
