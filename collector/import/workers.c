/* SPDX-License-Identifier: Apache-2.0 */
/* All files, on all cores: a file is read by one thread, each thread takes the next file. */
#include "collector/import/reading.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "core/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROGRESS_NS (250 * IFP_NS_PER_MS)

/* What the threads share. */
struct crew {
	struct ifp_import *import;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a thread has ended */
	/* under the lock */
	uint32_t next, running;
	uint32_t files_done;
	int err; /* of the thread that failed first */
	char cause[1024];
	/* without */
	_Atomic bool stop; /* = there is an error */
	_Atomic uint64_t events, file_bytes, spill_bytes;
};

struct member {
	struct crew *crew;
	struct ifp_import_worker worker;
	pthread_t thread;
};

/* The next file that is to be read; NULL when there is none or all is in vain. */
static struct ifp_import_file *take_file(struct crew *crew)
{
	struct ifp_import_file *file = NULL;

	pthread_mutex_lock(&crew->lock);
	while (!file && !crew->err && crew->next < crew->import->file_count) {
		file = &crew->import->files[crew->next++];
		if (file->process != crew->import->process)
			file = NULL;
	}
	pthread_mutex_unlock(&crew->lock);
	return file;
}

/* Under the lock. The first error is the one that counts. */
static void take_error(struct crew *crew, int err)
{
	if (err && crew->err)
		ifp_error_clear(); /* the first is told */
	if (!err || crew->err)
		return;
	crew->err = err;
	atomic_store(&crew->stop, true);
	ifp_error_text(crew->cause, sizeof(crew->cause));
	ifp_error_clear();
}

static void put_back(struct crew *crew, int err)
{
	pthread_mutex_lock(&crew->lock);
	crew->files_done++;
	take_error(crew, err);
	pthread_mutex_unlock(&crew->lock);
}

static void *work(void *argument)
{
	struct member *member = argument;
	struct crew *crew = member->crew;
	struct ifp_import_file *file;

	while ((file = take_file(crew)))
		put_back(crew, ifp_import_read(&member->worker, file));
	pthread_mutex_lock(&crew->lock);
	crew->running--;
	pthread_cond_signal(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

/* A file without a name, in the output directory: that is where there is room. */
static int open_nameless(const char *directory, int *spill)
{
	IFP_CLEANUP_FREE char *path = NULL;

	*spill = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (*spill >= 0)
		return 0;
	if (asprintf(&path, "%s/.import-XXXXXX", directory) < 0) {
		path = NULL;
		return ifp_fail(-ENOMEM, "create a spill file in %s", directory);
	}
	*spill = mkostemp(path, O_CLOEXEC);
	if (*spill < 0)
		return ifp_fail_errno("create a spill file in %s", directory);
	unlink(path);
	return 0;
}

static int open_spill(const struct ifp_import_options *options, int *spill)
{
	if (!options->output_dir)
		return 0;
	if (!options->spill_path)
		return open_nameless(options->output_dir, spill);
	*spill = open(options->spill_path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	return *spill < 0 ? ifp_fail_errno("create %s", options->spill_path) : 0;
}

/* Under the lock, which it gives back for as long as the caller's function takes. */
static void tell(struct crew *crew, const struct ifp_import_options *options,
	const struct ifp_import_progress *all)
{
	struct ifp_import_progress progress = *all;
	int err;

	if (!options->progress)
		return;
	progress.files_done = crew->files_done;
	progress.file_bytes_done = atomic_load(&crew->file_bytes);
	progress.events = atomic_load(&crew->events);
	pthread_mutex_unlock(&crew->lock);
	err = options->progress(options->context, &progress);
	pthread_mutex_lock(&crew->lock);
	take_error(crew, err);
}

/* What there is to be read. */
static struct ifp_import_progress count_files(const struct ifp_import *import)
{
	struct ifp_import_progress all = {0};

	for (uint32_t i = 0; i < import->file_count; i++) {
		if (import->files[i].process != import->process)
			continue;
		all.files++;
		all.file_bytes += import->files[i].file_bytes;
	}
	return all;
}

/* Until all threads have ended. */
static void watch(struct crew *crew, const struct ifp_import_options *options,
	const struct ifp_import_progress *all)
{
	pthread_mutex_lock(&crew->lock);
	while (crew->running) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += PROGRESS_NS;
		until.tv_sec += until.tv_nsec / IFP_NS_PER_S;
		until.tv_nsec %= IFP_NS_PER_S;
		pthread_cond_timedwait(&crew->changed, &crew->lock, &until);
		tell(crew, options, all);
	}
	pthread_mutex_unlock(&crew->lock);
}

static int start(struct crew *crew, struct member *member)
{
	int err = ifp_block_builder_new(&member->worker.builder);

	if (err)
		return err;
	member->crew = crew;
	member->worker.spill = crew->import->spill;
	member->worker.spill_bytes = &crew->spill_bytes;
	member->worker.stop = &crew->stop;
	member->worker.events = &crew->events;
	member->worker.file_bytes = &crew->file_bytes;
	pthread_mutex_lock(&crew->lock);
	err = pthread_create(&member->thread, NULL, work, member);
	crew->running += !err;
	pthread_mutex_unlock(&crew->lock);
	return err ? ifp_fail(-err, "start a thread: %s", strerror(err)) : 0;
}

/* One thread is enough to go on with. */
static int run_crew(struct crew *crew, const struct ifp_import_options *options,
	const struct ifp_import_progress *all, uint32_t count)
{
	IFP_CLEANUP_FREE struct member *members = calloc(count, sizeof(*members));
	uint32_t started = 0;
	int err = members ? 0 : ifp_fail(-ENOMEM, "no memory for %u threads", count);

	while (!err && started < count) {
		err = start(crew, &members[started]);
		started += !err;
	}
	if (err && started) {
		ifp_error_clear();
		err = 0;
	}
	watch(crew, options, all);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(members[i].thread, NULL);
	for (uint32_t i = 0; members && i < count; i++) {
		ifp_block_builder_free(&members[i].worker.builder);
		ifp_buf_free(&members[i].worker.payload);
	}
	return err;
}

int ifp_import_read_files(struct ifp_import *import, const struct ifp_import_options *options)
{
	struct crew crew = {.import = import,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER};
	uint32_t count = options->threads ? options->threads : ifp_process_cores();
	const struct ifp_import_progress all = count_files(import);
	int err;

	if (count > all.files)
		count = all.files;
	err = open_spill(options, &import->spill);
	if (!err && count)
		err = run_crew(&crew, options, &all, count);
	if (!err && crew.err)
		err = ifp_fail(crew.err, "%s", crew.cause);
	return err;
}
