/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat in a square plate, computed by all ranks together: an MPI program that shows its phases with
 * infprof/mark.h. It runs with and without an agent, and prints the same:
 *
 *	mpicc -O2 -I PREFIX/include stencil.c -o stencil -lm -ldl
 *	mpirun -n 4 ./stencil 512 200
 *	mpirun -n 4 infprof-agent -- ./stencil 512 200
 *
 * The plate's edge is kept at 0. From sin(pi x) sin(pi y), each step multiplies every point by one
 * known factor, so what comes out can be checked to the last digits.
 */
#include <infprof/mark.h>

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define PI 3.14159265358979323846
#define RATE 0.2 /* of exchange with each neighbour per step; stable up to 0.25 */
#define STEPS_BETWEEN_SUMS 10
#define TOLERANCE 1e-10

/* The rows of this rank, with one row of each neighbour around them: (rows + 2) x size. */
struct plate {
	int size; /* points a side, edges included */
	int first_row, rows;
	int above, below; /* ranks, or MPI_PROC_NULL */
	double *now, *next;
};

static double *row_of(double *field, const struct plate *plate, int row)
{
	return field + (size_t)row * (size_t)plate->size;
}

static double start_value(const struct plate *plate, int row, int column)
{
	double step = PI / (plate->size - 1);

	return sin(step * (plate->first_row + row - 1)) * sin(step * column);
}

static int make_plate(struct plate *plate, int size, int rank, int ranks)
{
	int rest = size % ranks;
	size_t points;

	plate->size = size;
	plate->rows = size / ranks + (rank < rest);
	plate->first_row = rank * (size / ranks) + (rank < rest ? rank : rest);
	plate->above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
	plate->below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
	points = (size_t)(plate->rows + 2) * (size_t)size;
	plate->now = calloc(points, sizeof(double));
	plate->next = calloc(points, sizeof(double));
	if (!plate->now || !plate->next)
		return -1;
	for (int row = 1; row <= plate->rows; row++) {
		for (int column = 0; column < size; column++)
			row_of(plate->now, plate, row)[column] = start_value(plate, row, column);
	}
	return 0;
}

static void exchange_halo(struct plate *plate)
{
	double *first = row_of(plate->now, plate, 1);
	double *last = row_of(plate->now, plate, plate->rows);

	MPI_Sendrecv(first, plate->size, MPI_DOUBLE, plate->above, 0,
		row_of(plate->now, plate, plate->rows + 1), plate->size, MPI_DOUBLE, plate->below,
		0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(last, plate->size, MPI_DOUBLE, plate->below, 1, row_of(plate->now, plate, 0),
		plate->size, MPI_DOUBLE, plate->above, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void update(struct plate *plate)
{
	double *swap = plate->now;

	for (int row = 1; row <= plate->rows; row++) {
		const double *up = row_of(plate->now, plate, row - 1);
		const double *here = row_of(plate->now, plate, row);
		const double *down = row_of(plate->now, plate, row + 1);
		double *out = row_of(plate->next, plate, row);
		int global_row = plate->first_row + row - 1;

		if (global_row == 0 || global_row == plate->size - 1)
			continue; /* the edge stays at 0 */
		for (int i = 1; i < plate->size - 1; i++)
			out[i] = here[i] +
				 RATE * (up[i] + down[i] + here[i - 1] + here[i + 1] - 4 * here[i]);
	}
	plate->now = plate->next;
	plate->next = swap;
}

static double total_heat(struct plate *plate)
{
	double sum = 0, total = 0;

	for (int row = 1; row <= plate->rows; row++) {
		for (int column = 0; column < plate->size; column++)
			sum += row_of(plate->now, plate, row)[column];
	}
	MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return total;
}

static void run(struct plate *plate, int steps)
{
	for (int step = 1; step <= steps; step++) {
		infprof_step_begin((uint64_t)step);

		infprof_range_push("exchange halo");
		exchange_halo(plate);
		infprof_range_pop();

		infprof_range_push("update");
		update(plate);
		infprof_range_pop();

		if (step % STEPS_BETWEEN_SUMS == 0) {
			infprof_range_push("sum up");
			infprof_counter("total heat", total_heat(plate));
			infprof_range_pop();
		}

		infprof_step_end((uint64_t)step);
	}
}

/* Largest difference from the known solution, of all ranks. */
static double largest_error(struct plate *plate, int steps)
{
	double half = sin(PI / (plate->size - 1) / 2);
	double factor = pow(1 - 8 * RATE * half * half, steps);
	double error = 0, largest = 0;

	for (int row = 1; row <= plate->rows; row++) {
		for (int column = 0; column < plate->size; column++) {
			double value = row_of(plate->now, plate, row)[column];
			double known = factor * start_value(plate, row, column);

			error = fmax(error, fabs(value - known));
		}
	}
	MPI_Allreduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return largest;
}

int main(int argc, char **argv)
{
	struct plate plate = {0};
	int size = argc > 1 ? atoi(argv[1]) : 512;
	int steps = argc > 2 ? atoi(argv[2]) : 200;
	int rank, ranks;
	double error;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (size < 3 || size < ranks || steps < 1) {
		if (rank == 0)
			fprintf(stderr, "usage: stencil [SIZE [STEPS]], a row or more per rank\n");
		MPI_Finalize();
		return 2;
	}
	if (make_plate(&plate, size, rank, ranks) != 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	run(&plate, steps);
	error = largest_error(&plate, steps);
	if (rank == 0)
		printf("%d x %d points, %d steps, %d ranks: largest error %.1e, %s\n", size, size,
			steps, ranks, error, error < TOLERANCE ? "right" : "WRONG");
	free(plate.now);
	free(plate.next);
	MPI_Finalize();
	return error < TOLERANCE ? 0 : 1;
}
