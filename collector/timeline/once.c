/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/once.h"

#include "core/array.h"

#include <stdlib.h>

void ifp_once_take(struct ifp_once *once, unsigned int table, struct ifp_str text, uint64_t bytes)
{
	struct ifp_once_table *t = &once->tables[table];
	uint32_t before = t->texts.count, id;
	int err = IFP_ARRAY_RESERVE(t->items, t->capacity, before, 1, "texts");

	if (!err)
		err = ifp_intern(&t->texts, text, &id);
	if (err)
		once->err = once->err ? once->err : err;
	else if (id == before)
		t->items[id] = (struct ifp_once_text){bytes, once->level};
	else if (once->level < t->items[id].level)
		t->items[id].level = once->level;
}

int ifp_once_add(const struct ifp_once *once, struct ifp_plan *plan)
{
	for (unsigned int k = 0; k < IFP_ONCE_TABLES; k++)
		for (uint32_t i = 0; i < once->tables[k].texts.count; i++) {
			const struct ifp_once_text *item = &once->tables[k].items[i];

			ifp_plan_add(plan, item->level, IFP_LEVEL_COUNT,
				(struct ifp_size){(int64_t)item->bytes, 0});
		}
	return once->err;
}

void ifp_once_free(struct ifp_once *once)
{
	for (unsigned int k = 0; k < IFP_ONCE_TABLES; k++) {
		ifp_intern_free(&once->tables[k].texts);
		free(once->tables[k].items);
	}
	*once = (struct ifp_once){0};
}
