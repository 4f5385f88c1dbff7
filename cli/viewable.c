/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/viewable.h"

#include "core/error.h"

#include <errno.h>
#include <fts.h>
#include <string.h>

static bool ends_in(const FTSENT *entry, const char *end)
{
	size_t end_bytes = strlen(end);

	return entry->fts_namelen > end_bytes &&
	       !strcmp(entry->fts_name + entry->fts_namelen - end_bytes, end);
}

/* Whether the directory two levels above is plugins/profile. */
static bool is_in_profile(const FTSENT *entry)
{
	const FTSENT *run = entry->fts_parent, *profile = run ? run->fts_parent : NULL;

	return profile && !strcmp(profile->fts_name, "profile") && profile->fts_parent &&
	       !strcmp(profile->fts_parent->fts_name, "plugins");
}

static void look_at(const FTSENT *entry, struct ifp_viewable *found)
{
	if (entry->fts_info != FTS_F && entry->fts_info != FTS_SL)
		return;
	if (ends_in(entry, ".pt.trace.json") || ends_in(entry, ".pt.trace.json.gz"))
		found->traces = true;
	else if (ends_in(entry, ".xplane.pb") && is_in_profile(entry))
		found->xplanes = true;
}

int ifp_viewable_find(const char *directory, struct ifp_viewable *out)
{
	char *paths[] = {(char *)directory, NULL};
	struct ifp_viewable found = {0};
	const FTSENT *entry;
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	int err = 0;

	if (!tree)
		return ifp_fail_errno("look into %s", directory);
	while (!err && (entry = fts_read(tree)) != NULL) {
		look_at(entry, &found);
		if (entry->fts_level == FTS_ROOTLEVEL && entry->fts_errno) {
			errno = entry->fts_errno;
			err = ifp_fail_errno("look into %s", directory);
		} else if (entry->fts_level == FTS_ROOTLEVEL && entry->fts_info == FTS_F) {
			err = ifp_fail(-ENOTDIR, "%s is no directory", directory);
		}
	}
	fts_close(tree);
	if (!err)
		*out = found;
	return err;
}
