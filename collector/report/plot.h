/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line plots as SVG, for pages of HTML: one plot at a time, its axes first, then what lies in them.
 * Colours and strokes are those of the page's classes line, band, dot, tick, grid, axis.
 */
#pragma once

#include "core/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_plot {
	const char *title;  /* above it; plain text */
	const char *y_name; /* along the axis; x is the time of the timeline */
	double left, right; /* x: seconds */
	double bottom, top; /* y: nanoseconds */
	bool logarithmic;   /* y; then bottom > 0 */
};

struct ifp_plot_point {
	double x, y;
};

/* Axes with round ticks. Ranges that are empty are widened in *plot. */
void ifp_plot_begin(struct ifp_plot *plot, struct ifp_buf *out);
void ifp_plot_line(const struct ifp_plot *plot, const struct ifp_plot_point *points, uint32_t count,
	struct ifp_buf *out);
/* The area between two lines over the same x. */
void ifp_plot_band(const struct ifp_plot *plot, const struct ifp_plot_point *low,
	const struct ifp_plot_point *high, uint32_t count, struct ifp_buf *out);
void ifp_plot_dots(const struct ifp_plot *plot, const struct ifp_plot_point *points, uint32_t count,
	struct ifp_buf *out);
void ifp_plot_end(struct ifp_buf *out);
