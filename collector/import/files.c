/* SPDX-License-Identifier: Apache-2.0 */
/* From what the user names to a list of files. */
#include "collector/import/notes.h"
#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/str.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define WHAT "trace-left-out"

static bool looks_like_trace(const char *name)
{
	return name[0] != '.' && (ifp_str_ends_with(ifp_str(name), ".json") ||
					 ifp_str_ends_with(ifp_str(name), ".json.gz") ||
					 ifp_str_ends_with(ifp_str(name), ".json.zst"));
}

int ifp_import_add_file(struct ifp_import *import, const char *path, uint64_t bytes, bool named)
{
	struct ifp_import_file *file;
	const char *slash;
	int err = IFP_ARRAY_RESERVE(
		import->files, import->file_capacity, import->file_count, 1, "files");

	if (err)
		return err;
	file = &import->files[import->file_count];
	*file = (struct ifp_import_file){.path = strdup(path),
		.file_bytes = bytes,
		.named = named,
		.stated_rank = -1,
		.stated_world = -1,
		.rank = IFP_FRAME_NO_RANK};
	if (!file->path)
		return ifp_fail(-ENOMEM, "no memory for the name of a file");
	slash = strrchr(file->path, '/');
	file->name = slash ? slash + 1 : file->path;
	file->utf8_path = ifp_import_as_utf8(path);
	file->label = ifp_import_as_line(file->name);
	import->file_count++; /* from here on it is freed with the others */
	return file->utf8_path && file->label
		       ? 0
		       : ifp_fail(-ENOMEM, "no memory for the name of a file");
}

/* The output of an earlier run holds traces that infprof has drawn, not recorded. */
static bool is_output(const char *directory)
{
	IFP_CLEANUP_FREE char *archive = NULL;

	if (asprintf(&archive, "%s/run.ifp", directory) < 0) {
		archive = NULL;
		return false;
	}
	return access(archive, F_OK) == 0;
}

static int take_entry(struct ifp_import *import, FTS *tree, FTSENT *entry)
{
	switch (entry->fts_info) {
	case FTS_D:
		if (!is_output(entry->fts_path))
			return 0;
		fts_set(tree, entry, FTS_SKIP);
		return ifp_import_note(&import->notes, WHAT, 0, false,
			"%s was not looked through: it holds what infprof has written",
			entry->fts_path);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		if (ifp_import_lacks_descriptors(entry->fts_errno))
			return ifp_fail(-entry->fts_errno,
				"read %s: " IFP_IMPORT_DESCRIPTORS_ADVICE, entry->fts_path);
		return ifp_import_note(&import->notes, WHAT, 0, true, "%s cannot be read: %s",
			entry->fts_path, strerror(entry->fts_errno));
	case FTS_F:
		if (looks_like_trace(entry->fts_name))
			return ifp_import_add_file(import, entry->fts_path,
				(uint64_t)entry->fts_statp->st_size, false);
		return 0;
	case FTS_SLNONE:
		if (!looks_like_trace(entry->fts_name))
			return 0;
		return ifp_import_note(&import->notes, WHAT, 0, true,
			"%s is a symbolic link that leads nowhere", entry->fts_path);
	default:
		return 0;
	}
}

static int compare_entries(const FTSENT **a, const FTSENT **b)
{
	return strverscmp((*a)->fts_name, (*b)->fts_name);
}

static int take_directory(struct ifp_import *import, const char *path)
{
	IFP_CLEANUP_FREE char *root = strdup(path);
	char *roots[2] = {root, NULL};
	FTSENT *entry;
	FTS *tree;
	int err = 0;

	if (!root)
		return ifp_fail(-ENOMEM, "no memory for the name of a directory");
	while (strlen(root) > 1 && root[strlen(root) - 1] == '/')
		root[strlen(root) - 1] = '\0';
	tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, compare_entries);
	if (!tree)
		return ifp_fail_errno("look through %s", path);
	while (!err && (entry = fts_read(tree)))
		err = take_entry(import, tree, entry);
	fts_close(tree);
	return err;
}

static int take_path(struct ifp_import *import, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return ifp_import_note(
			&import->notes, WHAT, 0, true, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return take_directory(import, path);
	if (!S_ISREG(st.st_mode))
		return ifp_import_note(
			&import->notes, WHAT, 0, true, "%s is no regular file", path);
	return ifp_import_add_file(import, path, (uint64_t)st.st_size, true);
}

static int compare_files(const void *a, const void *b)
{
	const struct ifp_import_file *left = a, *right = b;
	int by_name = strverscmp(left->name, right->name);

	return by_name ? by_name : strverscmp(left->path, right->path);
}

static bool same_file(const char *a, const char *b)
{
	struct stat left, right;

	return !stat(a, &left) && !stat(b, &right) && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

static void free_file(struct ifp_import_file *file)
{
	free(file->path);
	free(file->utf8_path);
	free(file->label);
	free(file->distributed_info);
	free(file->device_properties);
	free(file->others);
	free(file->blocks);
	ifp_clock_samples_free(&file->samples);
	ifp_import_notes_free(&file->notes);
}

/* A file that was named twice, or named and found as well, is one. */
static int drop_doubles(struct ifp_import *import)
{
	uint32_t kept = 0;
	int err = 0;

	for (uint32_t i = 0; i < import->file_count; i++) {
		struct ifp_import_file *file = &import->files[i];
		bool seen = false;

		for (uint32_t j = 0; j < kept && !seen; j++)
			seen = import->files[j].file_bytes == file->file_bytes &&
			       same_file(import->files[j].path, file->path);
		if (!seen) {
			import->files[kept++] = *file;
			continue;
		}
		if (!err)
			err = ifp_import_note(&import->notes, WHAT, 0, false,
				"%s was given twice and is read once", file->path);
		free_file(file);
	}
	import->file_count = kept;
	return err;
}

static bool has_namesake(const struct ifp_import *import, uint32_t i)
{
	for (uint32_t j = 0; j < import->file_count; j++)
		if (j != i && !strcmp(import->files[i].name, import->files[j].name))
			return true;
	return false;
}

/* rank_0/trace.json and rank_1/trace.json: a name that two files have tells people nothing. */
static int tell_apart(struct ifp_import *import)
{
	for (uint32_t i = 0; i < import->file_count; i++) {
		struct ifp_import_file *file = &import->files[i];

		if (!has_namesake(import, i))
			continue;
		free(file->label);
		file->label = ifp_import_as_line(file->path);
		if (!file->label)
			return ifp_fail(-ENOMEM, "no memory for the name of a file");
	}
	return 0;
}

int ifp_import_find_files(struct ifp_import *import, const struct ifp_import_options *options,
	char *const *paths, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = take_path(import, paths[i]);
	if (!err)
		err = drop_doubles(import);
	if (!err)
		err = tell_apart(import);
	if (err)
		return err;
	if (!import->file_count)
		return import->notes.count
			       ? ifp_fail(-EINVAL, "there is no trace to read: %s",
					 import->notes.items[0].why)
			       : ifp_fail(-EINVAL, "there is no trace to read (names end in "
						   ".json, .json.gz or .json.zst)");
	if (!options->in_order)
		qsort(import->files, import->file_count, sizeof(*import->files), compare_files);
	return 0;
}

void ifp_import_free(struct ifp_import *import)
{
	for (uint32_t i = 0; i < import->file_count; i++)
		free_file(&import->files[i]);
	ifp_cleanup_fd(&import->spill);
	free(import->files);
	free(import->spills);
	ifp_arena_free(&import->words);
	ifp_import_notes_free(&import->notes);
	*import = IFP_IMPORT_EMPTY;
}
