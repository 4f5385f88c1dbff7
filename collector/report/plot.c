/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/report/plot.h"

#include "collector/report/words.h"
#include "core/cleanup.h"

#include <math.h>

/* Of the picture, in the units of its viewBox. */
#define WIDTH 520
#define HEIGHT 206
#define LEFT_EDGE 84
#define RIGHT_EDGE (WIDTH - 12)
#define TOP_EDGE 24
#define BOTTOM_EDGE (HEIGHT - 42)

/* At most so many steps from one end of an axis to the other, and more than a third of that: there
 * are two ticks at least. */
#define STEPS 6

static double share(const struct ifp_plot *plot, double y)
{
	if (!plot->logarithmic)
		return (y - plot->bottom) / (plot->top - plot->bottom);
	y = y < plot->bottom ? plot->bottom : y;
	return log(y / plot->bottom) / log(plot->top / plot->bottom);
}

static double place_x(const struct ifp_plot *plot, double x)
{
	return LEFT_EDGE + (x - plot->left) / (plot->right - plot->left) * (RIGHT_EDGE - LEFT_EDGE);
}

static double place_y(const struct ifp_plot *plot, double y)
{
	return BOTTOM_EDGE - share(plot, y) * (BOTTOM_EDGE - TOP_EDGE);
}

/* 1, 2 or 5 times a power of ten. */
static double round_step(double range)
{
	double least = range / STEPS, power = pow(10, floor(log10(least)));

	return least <= power	    ? power
	       : least <= 2 * power ? 2 * power
	       : least <= 5 * power ? 5 * power
				    : 10 * power;
}

static void tick_x(const struct ifp_plot *plot, double x, double step, struct ifp_buf *out)
{
	int digits = step < 1 ? (int)ceil(-log10(step)) : 0;

	ifp_buf_printf(out,
		"<text class=\"tick\" text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">%.*f s</text>\n",
		place_x(plot, x), BOTTOM_EDGE + 16, digits, x);
}

static void tick_y(const struct ifp_plot *plot, double y, struct ifp_buf *out)
{
	double at = place_y(plot, y);

	ifp_buf_printf(out,
		"<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
		"<text class=\"tick\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">",
		LEFT_EDGE, RIGHT_EDGE, at, at, LEFT_EDGE - 6, at + 4);
	ifp_words_duration(out, llround(y));
	ifp_buf_append_text(out, "</text>\n");
}

/* 1, 2 and 5 times each power of ten where there are few of these. */
static void ticks_of_powers(const struct ifp_plot *plot, struct ifp_buf *out)
{
	static const int factors[] = {1, 2, 5};
	size_t count = plot->top < 100 * plot->bottom ? IFP_ARRAY_SIZE(factors) : 1;

	for (double power = pow(10, floor(log10(plot->bottom))); power <= plot->top; power *= 10) {
		for (size_t i = 0; i < count; i++) {
			double y = factors[i] * power;

			if (y >= plot->bottom && y <= plot->top)
				tick_y(plot, y, out);
		}
	}
}

static void name_axes(const struct ifp_plot *plot, struct ifp_buf *out)
{
	int x = (LEFT_EDGE + RIGHT_EDGE) / 2, y = (TOP_EDGE + BOTTOM_EDGE) / 2;

	ifp_buf_printf(out,
		"<text text-anchor=\"middle\" x=\"%d\" y=\"%d\">time of the timeline</text>\n"
		"<text text-anchor=\"middle\" transform=\"translate(14,%d) "
		"rotate(-90)\">%s</text>\n",
		x, HEIGHT - 6, y, plot->y_name);
}

static void ticks_y(const struct ifp_plot *plot, struct ifp_buf *out)
{
	if (plot->logarithmic) {
		ticks_of_powers(plot, out);
		return;
	}
	double step = round_step(plot->top - plot->bottom);

	for (double i = ceil(plot->bottom / step); i * step <= plot->top; i++)
		tick_y(plot, i * step, out);
}

void ifp_plot_begin(struct ifp_plot *plot, struct ifp_buf *out)
{
	double step;

	if (!(plot->right > plot->left))
		plot->right = plot->left + 1;
	if (plot->logarithmic && !(plot->top >= 10 * plot->bottom))
		plot->top = 10 * plot->bottom;
	if (!plot->logarithmic && !(plot->top - plot->bottom >= 4)) {
		plot->top += 2;
		plot->bottom -= 2;
	}
	ifp_buf_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>%s</title>\n", WIDTH,
		HEIGHT, plot->title);
	ifp_buf_printf(
		out, "<text class=\"name\" x=\"%d\" y=\"14\">%s</text>\n", LEFT_EDGE, plot->title);
	name_axes(plot, out);
	ticks_y(plot, out);
	step = round_step(plot->right - plot->left);
	for (double i = ceil(plot->left / step); i * step <= plot->right; i++)
		tick_x(plot, i * step, step, out);
	ifp_buf_printf(out, "<rect class=\"axis\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
		LEFT_EDGE, TOP_EDGE, RIGHT_EDGE - LEFT_EDGE, BOTTOM_EDGE - TOP_EDGE);
}

static void append_point(
	const struct ifp_plot *plot, const struct ifp_plot_point *point, struct ifp_buf *out)
{
	ifp_buf_printf(out, "%.1f,%.1f ", place_x(plot, point->x), place_y(plot, point->y));
}

void ifp_plot_line(const struct ifp_plot *plot, const struct ifp_plot_point *points, uint32_t count,
	struct ifp_buf *out)
{
	ifp_buf_append_text(out, "<polyline class=\"line\" points=\"");
	for (uint32_t i = 0; i < count; i++)
		append_point(plot, points + i, out);
	ifp_buf_append_text(out, "\"/>\n");
}

void ifp_plot_band(const struct ifp_plot *plot, const struct ifp_plot_point *low,
	const struct ifp_plot_point *high, uint32_t count, struct ifp_buf *out)
{
	ifp_buf_append_text(out, "<polygon class=\"band\" points=\"");
	for (uint32_t i = 0; i < count; i++)
		append_point(plot, low + i, out);
	for (uint32_t i = count; i > 0; i--)
		append_point(plot, high + i - 1, out);
	ifp_buf_append_text(out, "\"/>\n");
}

void ifp_plot_dots(const struct ifp_plot *plot, const struct ifp_plot_point *points, uint32_t count,
	struct ifp_buf *out)
{
	for (uint32_t i = 0; i < count; i++)
		ifp_buf_printf(out, "<circle class=\"dot\" r=\"2\" cx=\"%.1f\" cy=\"%.1f\"/>\n",
			place_x(plot, points[i].x), place_y(plot, points[i].y));
}

void ifp_plot_end(struct ifp_buf *out)
{
	ifp_buf_append_text(out, "</svg>\n");
}
