/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/wire/keys.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#define KEY_CHARS 40u
#define FILE_MAX_BYTES 4096u

/* Alphabet of Z85 (rfc.zeromq.org/spec/32). */
static const char z85_alphabet[] =
	"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

struct field {
	const char *name;
	size_t offset;
};

static const struct field fields[] = {
	{"server_public", offsetof(struct ifp_keys, server_public)},
	{"server_secret", offsetof(struct ifp_keys, server_secret)},
	{"client_public", offsetof(struct ifp_keys, client_public)},
	{"client_secret", offsetof(struct ifp_keys, client_secret)},
};

static bool is_key(const char *text)
{
	return text && strlen(text) == KEY_CHARS && strspn(text, z85_alphabet) == KEY_CHARS;
}

static int read_text(const char *path, char *text, size_t size_bytes)
{
	/* not to wait at a pipe; without effect on files */
	IFP_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t got;

	if (fd < 0)
		return ifp_fail_errno("open key file %s", path);
	if (fstat(fd, &st))
		return ifp_fail_errno("look at key file %s", path);
	if (!S_ISREG(st.st_mode))
		return ifp_fail(-EBADMSG, "%s is no key file: not a regular file", path);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return ifp_fail(-EACCES,
			"key file %s may be read by others than its owner (mode %03o): chmod 600 "
			"it",
			path, (unsigned int)st.st_mode & 0777);
	got = pread(fd, text, size_bytes - 1, 0);
	if (got < 0)
		return ifp_fail_errno("read key file %s", path);
	text[got] = '\0';
	return 0;
}

int ifp_keys_read(const char *path, struct ifp_keys *out)
{
	IFP_CLEANUP_DOCUMENT cJSON *json = NULL;
	char text[FILE_MAX_BYTES + 1];
	struct ifp_keys keys = {0};
	int err = read_text(path, text, sizeof(text));

	if (err)
		return err;
	json = cJSON_Parse(text);
	for (size_t i = 0; i < IFP_ARRAY_SIZE(fields); i++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, fields[i].name);
		const char *key = cJSON_GetStringValue(item);

		if (!is_key(key))
			return ifp_fail(-EBADMSG, "%s is no key file: it has no valid %s", path,
				fields[i].name);
		memcpy((char *)&keys + fields[i].offset, key, KEY_CHARS);
	}
	*out = keys;
	return 0;
}

static int write_all(int fd, const char *text, size_t len_bytes)
{
	while (len_bytes) {
		ssize_t written = write(fd, text, len_bytes);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		text += written;
		len_bytes -= (size_t)written;
	}
	return fsync(fd) ? -errno : 0;
}

static int write_text(const char *path, const char *text)
{
	IFP_CLEANUP_FREE char *temporary = NULL;
	IFP_CLEANUP_FD int fd = -1;
	int err;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0) {
		temporary = NULL;
		return ifp_fail(-ENOMEM, "write key file %s", path);
	}
	fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return ifp_fail_errno("create key file %s", temporary);
	err = write_all(fd, text, strlen(text));
	/* A hard link, not rename(2): it refuses to replace a file that is there. */
	if (!err && link(temporary, path))
		err = -errno;
	unlink(temporary);
	return err ? ifp_fail(err, "write key file %s: %s", path, strerror(-err)) : 0;
}

int ifp_keys_write(const char *path, const struct ifp_keys *keys)
{
	char text[FILE_MAX_BYTES];
	size_t used = 0;

	for (size_t i = 0; i < IFP_ARRAY_SIZE(fields); i++) {
		const char *key = (const char *)keys + fields[i].offset;

		if (!is_key(key))
			return ifp_fail(-EINVAL, "%s is no key", fields[i].name);
		/* No character of Z85 needs an escape in JSON. */
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\"%s\": \"%s\"",
			i ? ",\n" : "{\n", fields[i].name, key);
	}
	snprintf(text + used, sizeof(text) - used, "\n}\n");
	return write_text(path, text);
}
