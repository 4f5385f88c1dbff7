/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/inject/mpi_find.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* What every MPI library has, and no tool in front of it needs to define. */
#define MARK_OF_MPI "PMPI_Barrier"

/* A loaded object through which MPI can be reached; NULL = not needed or not found yet. */
static _Atomic(void *) hidden_mpi;

struct nth_object {
	size_t left;
	char path[PATH_MAX]; /* empty: the program itself, or what has no path */
};

static int take_nth(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
	struct nth_object *wanted = context;

	(void)size_bytes;
	if (wanted->left--)
		return 0;
	wanted->path[0] = '\0';
	if (info->dlpi_name && strlen(info->dlpi_name) < sizeof(wanted->path))
		strcpy(wanted->path, info->dlpi_name);
	return 1;
}

/* Opened again, an object can be searched together with all that it depends on. */
static void *open_if_mpi(const char *path)
{
	void *object = *path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;

	if (object && dlsym(object, MARK_OF_MPI))
		return object;
	if (object)
		dlclose(object);
	return NULL;
}

/*
 * One object at a time: nothing may be opened while the list is being walked. Threads that race
 * here find the same object; what it was opened more often than once keeps it loaded all the same.
 */
static void *find_hidden_mpi(void)
{
	void *object = atomic_load_explicit(&hidden_mpi, memory_order_acquire);
	struct nth_object nth;

	for (size_t i = 0; !object; i++) {
		nth.left = i;
		if (!dl_iterate_phdr(take_nth, &nth))
			return NULL;
		object = open_if_mpi(nth.path);
	}
	atomic_store_explicit(&hidden_mpi, object, memory_order_release);
	return object;
}

/* An object that is opened is not unloaded: the program may close MPI, but not under our feet. */
static void keep_loaded(const void *symbol)
{
	Dl_info info;

	if (dladdr(symbol, &info) && info.dli_fname)
		(void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void *ifp_mpi_find(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);
	void *object;

	if (symbol) {
		keep_loaded(symbol);
		return symbol;
	}
	object = find_hidden_mpi();
	return object ? dlsym(object, name) : NULL;
}

ifp_mpi_word ifp_mpi_find_world(void)
{
	/* a program that is not position-independent has the object itself: it comes first */
	void *symbol = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");

	if (!symbol)
		symbol = ifp_mpi_find("ompi_mpi_comm_world");
	return (ifp_mpi_word)symbol;
}
