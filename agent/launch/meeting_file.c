/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/launch/meeting_file.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_BYTES 4096

char *ifp_meeting_file_path(const char *parent, const char *job)
{
	char *path;

	return asprintf(&path, "%s/.infprof-rendezvous-%s.json", parent, job) < 0 ? NULL : path;
}

static int write_whole(const char *path, const char *text)
{
	IFP_CLEANUP_FREE char *temporary = NULL;
	IFP_CLEANUP_FD int fd = -1;
	size_t len_bytes = strlen(text);

	if (asprintf(&temporary, "%s.%ld", path, (long)getpid()) < 0) {
		temporary = NULL;
		return ifp_fail(-ENOMEM, "no memory for a path");
	}
	fd = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return ifp_fail_errno("make %s", temporary);
	if (write(fd, text, len_bytes) == (ssize_t)len_bytes && rename(temporary, path) == 0)
		return 0;
	ifp_fail_errno("write %s", path);
	unlink(temporary);
	return -EIO;
}

int ifp_meeting_file_write(const char *path, const char *address, const struct ifp_keys *keys)
{
	IFP_CLEANUP_DOCUMENT cJSON *json = cJSON_CreateObject();
	IFP_CLEANUP_FREE char *text = NULL;

	cJSON_AddStringToObject(json, "address", address);
	cJSON_AddStringToObject(json, "server_public", keys->server_public);
	cJSON_AddStringToObject(json, "server_secret", keys->server_secret);
	cJSON_AddStringToObject(json, "client_public", keys->client_public);
	cJSON_AddStringToObject(json, "client_secret", keys->client_secret);
	text = cJSON_PrintUnformatted(json);
	if (!text)
		return ifp_fail(-ENOMEM, "no memory for %s", path);
	return write_whole(path, text);
}

static int take_key(const cJSON *json, const char *name, char key[41])
{
	const char *text = ifp_document_get_text(json, name);

	if (!text || strlen(text) != 40)
		return ifp_fail(-EBADMSG, "no %s", name);
	memcpy(key, text, 41);
	return 0;
}

static int take(const char *text, char **address, struct ifp_keys *keys)
{
	IFP_CLEANUP_DOCUMENT cJSON *json = cJSON_Parse(text);
	const char *where = ifp_document_get_text(json, "address");
	struct ifp_keys found = {0};
	char *copy;
	int err;

	if (!where)
		return ifp_fail(-EBADMSG, "no address");
	err = take_key(json, "server_public", found.server_public);
	if (!err)
		err = take_key(json, "server_secret", found.server_secret);
	if (!err)
		err = take_key(json, "client_public", found.client_public);
	if (!err)
		err = take_key(json, "client_secret", found.client_secret);
	if (err)
		return err;
	copy = strdup(where);
	if (!copy)
		return ifp_fail(-ENOMEM, "no memory for an address");
	*address = copy;
	*keys = found;
	return 0;
}

int ifp_meeting_file_read(
	const char *path, time_t not_before, char **address, struct ifp_keys *keys)
{
	IFP_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[MAX_FILE_BYTES];
	struct stat st;
	ssize_t n;
	int err;

	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : ifp_fail_errno("open %s", path);
	if (fstat(fd, &st))
		return ifp_fail_errno("look at %s", path);
	if (st.st_mtime < not_before)
		return -EAGAIN;
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return ifp_fail(-EACCES, "%s is not a file of this user alone (mode 0600)", path);
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return ifp_fail_errno("read %s", path);
	text[n] = '\0';
	err = take(text, address, keys);
	return err ? ifp_fail(err, "%s is damaged", path) : 0;
}
