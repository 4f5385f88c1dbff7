/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/median.h"

static void swap(double *a, double *b)
{
	double kept = *a;

	*a = *b;
	*b = kept;
}

/* The middle one of three: no order of the input that occurs makes selection quadratic. */
static double pivot(double a, double b, double c)
{
	double low = a < b ? a : b, high = a < b ? b : a;

	return c < low ? low : c > high ? high : c;
}

double ifp_select_median(double *values, uint32_t count)
{
	int64_t left = 0, right = (int64_t)count - 1, middle = count / 2;

	while (left < right) {
		double p = pivot(values[left], values[middle], values[right]);
		int64_t i = left, j = right;

		while (i <= j) {
			while (values[i] < p)
				i++;
			while (values[j] > p)
				j--;
			if (i <= j)
				swap(values + i++, values + j--);
		}
		if (j < middle)
			left = i;
		if (i > middle)
			right = j;
	}
	return count ? values[middle] : 0;
}
