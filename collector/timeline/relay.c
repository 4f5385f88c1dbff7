/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/relay.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "core/process.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CAUSE_BYTES 1024

/* A result that waits to be taken, at i modulo their number. */
struct slot {
	bool done;
	int err;
	void *result;
	char cause[CAUSE_BYTES];
};

struct run {
	const struct ifp_relay *relay;
	uint32_t slot_count;
	struct slot *slots;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	uint32_t next;	/* piece that is begun next */
	uint32_t taken; /* pieces that have been taken */
	bool stop;
};

/* The number of the next piece; false when there is none. */
static bool begin(struct run *run, uint32_t *i)
{
	bool found;

	pthread_mutex_lock(&run->lock);
	while (!run->stop && run->next < run->relay->count &&
		run->next >= run->taken + run->slot_count)
		pthread_cond_wait(&run->changed, &run->lock);
	found = !run->stop && run->next < run->relay->count;
	if (found)
		*i = run->next++;
	pthread_mutex_unlock(&run->lock);
	return found;
}

static void *work(void *context)
{
	struct run *run = context;
	uint32_t i;

	while (begin(run, &i)) {
		struct slot *slot = &run->slots[i % run->slot_count];

		slot->err = run->relay->work(run->relay->context, i, &slot->result);
		if (slot->err)
			ifp_error_text(slot->cause, sizeof(slot->cause));
		ifp_error_clear();
		pthread_mutex_lock(&run->lock);
		slot->done = true;
		pthread_cond_broadcast(&run->changed);
		pthread_mutex_unlock(&run->lock);
	}
	return NULL;
}

static int take(struct run *run, uint32_t i)
{
	struct slot *slot = &run->slots[i % run->slot_count];
	int err;

	pthread_mutex_lock(&run->lock);
	while (!slot->done)
		pthread_cond_wait(&run->changed, &run->lock);
	pthread_mutex_unlock(&run->lock);
	if (slot->err)
		return ifp_fail(slot->err, "%s", slot->cause);
	err = run->relay->take(run->relay->context, i, IFP_TAKE_PTR(slot->result));
	pthread_mutex_lock(&run->lock);
	slot->done = false;
	run->taken++;
	pthread_cond_broadcast(&run->changed);
	pthread_mutex_unlock(&run->lock);
	return err;
}

static void end(struct run *run, pthread_t *threads, uint32_t count)
{
	pthread_mutex_lock(&run->lock);
	run->stop = true;
	pthread_cond_broadcast(&run->changed);
	pthread_mutex_unlock(&run->lock);
	for (uint32_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < run->slot_count; i++)
		if (run->slots[i].result)
			run->relay->drop(run->slots[i].result);
}

/* Without threads. */
static int run_alone(const struct ifp_relay *relay)
{
	int err = 0;

	for (uint32_t i = 0; i < relay->count && !err; i++) {
		void *result = NULL;

		err = relay->work(relay->context, i, &result);
		if (!err)
			err = relay->take(relay->context, i, result);
	}
	return err;
}

static int run_threads(struct run *run, pthread_t *threads, uint32_t wanted)
{
	uint32_t started = 0;
	int err = 0;

	while (started < wanted && !pthread_create(&threads[started], NULL, work, run))
		started++;
	if (!started)
		return run_alone(run->relay);
	for (uint32_t i = 0; i < run->relay->count && !err; i++)
		err = take(run, i);
	end(run, threads, started);
	return err;
}

int ifp_relay_run(const struct ifp_relay *relay)
{
	uint32_t threads = relay->threads ? relay->threads : ifp_process_cores();
	IFP_CLEANUP_FREE pthread_t *handles = NULL;
	IFP_CLEANUP_FREE struct slot *slots = NULL;
	struct run run = {.relay = relay,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER};

	if (threads > relay->count)
		threads = relay->count;
	if (threads < 2)
		return run_alone(relay);
	run.slot_count = threads + 1;
	handles = calloc(threads, sizeof(*handles));
	run.slots = slots = calloc(run.slot_count, sizeof(*slots));
	if (!handles || !slots)
		return ifp_fail(-ENOMEM, "no memory for %u threads", threads);
	return run_threads(&run, handles, threads);
}
