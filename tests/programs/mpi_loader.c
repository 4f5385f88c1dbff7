/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the library that is its argument with RTLD_LOCAL and calls mpi_plugin() in it: MPI is
 * nowhere in the program's own search order.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*run)(void) = library ? (int (*)(void))dlsym(library, "mpi_plugin") : NULL;

	if (!run) {
		fprintf(stderr, "mpi_loader: %s\n", dlerror());
		return 2;
	}
	return run();
}
