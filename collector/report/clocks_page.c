/* SPDX-License-Identifier: Apache-2.0 */
/* infprof clock --html: of each measured clock its course, and how sure that is. */
#include "collector/report/clocks.h"

#include "collector/report/plot.h"
#include "core/cleanup.h"
#include "core/time.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A page with more plots is no longer looked at; the table holds every clock. */
#define MAX_CLOCKS 64

/* Points of a curve: between two exchanges the bound has its peak. */
#define SAMPLES 512

/* A curve's points are looked up at even distances. */
struct curve {
	struct ifp_plot_point middle[SAMPLES], low[SAMPLES], high[SAMPLES], bound[SAMPLES];
	struct ifp_plot_point *epochs; /* epoch_count */
	double least, most;	       /* of what is drawn beside the bound */
	double least_bound, most_bound;
};

/* The straight line from the first exchange to the last: what remains is what there is to see. */
struct baseline {
	int64_t at_ns, offset_ns;
	double rate;
};

static struct baseline baseline_of(const struct ifp_clock_map *map)
{
	struct ifp_clock_epoch first = ifp_clock_map_epoch(map, 0);
	struct ifp_clock_epoch last = ifp_clock_map_epoch(map, ifp_clock_map_epoch_count(map) - 1);
	struct baseline line = {first.at.ns, first.offset_ns, 0};

	if (last.at.ns > first.at.ns)
		line.rate = (double)(last.offset_ns - first.offset_ns) /
			    (double)(last.at.ns - first.at.ns);
	return line;
}

static double deviation_ns(const struct baseline *line, const struct ifp_clock_epoch *epoch)
{
	return (double)(epoch->offset_ns - line->offset_ns) -
	       line->rate * (double)(epoch->at.ns - line->at_ns);
}

static double seconds(const struct ifp_run *run, int64_t global_ns)
{
	return (double)(global_ns - ifp_run_base(run).ns) / (double)IFP_NS_PER_S;
}

static void take(double value, double *least, double *most)
{
	*least = value < *least ? value : *least;
	*most = value > *most ? value : *most;
}

static void sample_curve(const struct ifp_run *run, const struct ifp_clock_map *map,
	const struct baseline *line, int64_t length_ns, struct curve *curve)
{
	for (uint32_t k = 0; k < SAMPLES; k++) {
		ifp_global_ns at = {line->at_ns + (int64_t)((double)length_ns * k / (SAMPLES - 1))};
		struct ifp_clock_epoch here = ifp_clock_map_at(map, at);
		double x = seconds(run, at.ns), y = deviation_ns(line, &here);
		double bound = (double)ifp_clocks_bound(&here);

		curve->middle[k] = (struct ifp_plot_point){x, y};
		curve->low[k] = (struct ifp_plot_point){x, y - here.sigma_ns};
		curve->high[k] = (struct ifp_plot_point){x, y + here.sigma_ns};
		curve->bound[k] = (struct ifp_plot_point){x, bound < 1 ? 1 : bound};
		take(y - here.sigma_ns, &curve->least, &curve->most);
		take(y + here.sigma_ns, &curve->least, &curve->most);
		take(curve->bound[k].y, &curve->least_bound, &curve->most_bound);
	}
}

static int64_t mark_epochs(const struct ifp_run *run, const struct ifp_clock_map *map,
	const struct baseline *line, struct curve *curve)
{
	uint32_t count = ifp_clock_map_epoch_count(map);
	int64_t length_ns = 0;

	for (uint32_t k = 0; k < count; k++) {
		struct ifp_clock_epoch epoch = ifp_clock_map_epoch(map, k);

		curve->epochs[k] = (struct ifp_plot_point){
			seconds(run, epoch.at.ns), deviation_ns(line, &epoch)};
		take(curve->epochs[k].y, &curve->least, &curve->most);
		length_ns = epoch.at.ns - line->at_ns;
	}
	return length_ns;
}

static void draw(const struct curve *curve, uint32_t epoch_count, struct ifp_buf *out)
{
	double margin = (curve->most - curve->least) * 0.05;
	struct ifp_plot course = {"deviation from a straight line, and sigma", "deviation",
		curve->middle[0].x, curve->middle[SAMPLES - 1].x, curve->least - margin,
		curve->most + margin, false};
	struct ifp_plot bound = {"certified bound", "bound", curve->middle[0].x,
		curve->middle[SAMPLES - 1].x, curve->least_bound / 2, curve->most_bound * 2, true};

	ifp_plot_begin(&course, out);
	ifp_plot_band(&course, curve->low, curve->high, SAMPLES, out);
	ifp_plot_line(&course, curve->middle, SAMPLES, out);
	ifp_plot_dots(&course, curve->epochs, epoch_count, out);
	ifp_plot_end(out);
	ifp_plot_begin(&bound, out);
	ifp_plot_line(&bound, curve->bound, SAMPLES, out);
	ifp_plot_end(out);
}

static int append_clock(struct ifp_buf *out, const struct ifp_run *run, uint32_t i)
{
	const struct ifp_run_rank *rank = ifp_run_rank(run, i);
	uint32_t count = ifp_clock_map_epoch_count(rank->map);
	IFP_CLEANUP_FREE struct curve *curve = calloc(1, sizeof(*curve));
	IFP_CLEANUP_FREE struct ifp_plot_point *epochs = calloc(count, sizeof(*epochs));
	struct baseline line = baseline_of(rank->map);
	int64_t length_ns;

	if (!curve || !epochs)
		return -ENOMEM;
	curve->epochs = epochs;
	curve->least_bound = INFINITY;
	length_ns = mark_epochs(run, rank->map, &line, curve);
	sample_curve(run, rank->map, &line, length_ns, curve);
	ifp_buf_append_text(out, "<h2>");
	ifp_clocks_readers(run, i, out);
	ifp_buf_append_text(out, "</h2>\n<div class=\"plots\">\n");
	draw(curve, count, out);
	ifp_buf_append_text(out, "</div>\n");
	return 0;
}

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<style>\n"
	":root{color-scheme:light dark;--ink:light-dark(#222,#ddd);--faint:light-dark(#ddd,#444);"
	"--line:light-dark(#1f6feb,#79b8ff);--alarm:light-dark(#c00,#f66)}\n"
	"body{font:15px/1.4 system-ui,sans-serif;margin:2em;color:var(--ink)}\n"
	"pre{font-size:13px;overflow-x:auto}\n"
	".alarm{color:var(--alarm)}\n"
	".plots{display:flex;flex-wrap:wrap;gap:1em}svg{width:520px;max-width:100%}\n"
	"svg text{fill:var(--ink);font-size:11px}svg .name{font-weight:600}\n"
	".axis{fill:none;stroke:var(--ink)}.grid{stroke:var(--faint)}\n"
	".line{fill:none;stroke:var(--line);stroke-width:1.5}"
	".band{fill:var(--line);opacity:.2}.dot{fill:var(--line)}\n"
	"</style>\n";

static const char caption[] =
	"<p>Left: by how much a clock's offset leaves the straight line from its first point to "
	"its last; blue band: +- sigma; dots: exchanges, or collectives. Right: the certified "
	"bound, on a logarithmic scale.</p>\n";

static void append_escaped(struct ifp_buf *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (strchr("<>&", *c))
			ifp_buf_printf(out, "&#%d;", *c);
		else
			ifp_buf_append_u8(out, (uint8_t)*c);
	}
}

/* "Clocks of train.py, run 3f2a": pages of several runs lie open side by side. */
static void append_title(struct ifp_buf *out, const struct ifp_run *run)
{
	const cJSON *document = ifp_run_document(run);
	const char *program = document ? ifp_document_get_text(document, "program") : NULL;
	const char *id = document ? ifp_document_get_text(document, "run_id") : NULL;

	ifp_buf_append_text(out, "Clocks");
	if (program) {
		ifp_buf_append_text(out, " of ");
		append_escaped(out, program);
	}
	if (id) {
		ifp_buf_append_text(out, program ? ", run " : " of run ");
		append_escaped(out, id);
	}
}

static void append_head(struct ifp_buf *out, const struct ifp_run *run)
{
	ifp_buf_append_text(out, head);
	ifp_buf_append_text(out, "<title>");
	append_title(out, run);
	ifp_buf_append_text(out, "</title></head><body>\n<h1>");
	append_title(out, run);
	ifp_buf_append_text(out, "</h1>\n<pre>\n");
}

void ifp_clocks_page(const struct ifp_run *run, struct ifp_buf *out)
{
	uint32_t drawn = 0, left_out = 0;

	append_head(out, run);
	ifp_clocks_text(run, IFP_CLOCKS_PAGE, false, out);
	ifp_buf_append_text(out, "</pre>\n");
	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++) {
		if (!ifp_run_leads_clock(run, i))
			continue;
		if (drawn == MAX_CLOCKS) {
			left_out++;
			continue;
		}
		if (!drawn)
			ifp_buf_append_text(out, caption);
		if (append_clock(out, run, i)) {
			out->failed = true;
			return;
		}
		drawn++;
	}
	if (!drawn)
		ifp_buf_append_text(
			out, "<p>No clock was measured against another: there is no plot.</p>\n");
	if (left_out)
		ifp_buf_printf(out, "<p>%u further clocks are in the table only.</p>\n", left_out);
	ifp_buf_append_text(out, "</body></html>\n");
}
