/* SPDX-License-Identifier: Apache-2.0 */
/* An outlet that notes what the parts of a session say and store, for tests to look at. */
#pragma once

#include "collector/receive/outlet.h"
#include "trace/wire/document.h"

#include "test.h"

#define RECORD_MAX 512

struct record_entry {
	enum ifp_message_type message; /* 0 = a frame */
	enum ifp_frame_type frame;     /* 0 = a message */
	uint32_t rank;
	cJSON *document; /* NULL for empty payloads and those that are no JSON */
};

struct record {
	struct ifp_outlet outlet;
	struct record_entry entries[RECORD_MAX];
	size_t count;
	struct ifp_buf last_payload; /* of the last frame */
};

static inline struct record_entry *record_add(struct record *record)
{
	assert_true(record->count < RECORD_MAX);
	return &record->entries[record->count++];
}

static inline void record_send(
	void *context, uint32_t rank, enum ifp_message_type type, const cJSON *document)
{
	struct record_entry *entry = record_add(context);

	*entry = (struct record_entry){.message = type, .rank = rank};
	entry->document = cJSON_Duplicate(document, true);
}

static inline void record_store(void *context, enum ifp_frame_type type, uint32_t rank,
	const void *payload, size_t payload_bytes)
{
	struct record *record = context;
	struct record_entry *entry = record_add(record);

	*entry = (struct record_entry){.frame = type, .rank = rank};
	entry->document = cJSON_ParseWithLength(payload, payload_bytes);
	ifp_buf_clear(&record->last_payload);
	ifp_buf_append(&record->last_payload, payload, payload_bytes);
}

static inline void record_init(struct record *record)
{
	*record = (struct record){0};
	record->outlet = (struct ifp_outlet){record_send, record_store, record};
}

static inline void record_free(struct record *record)
{
	for (size_t i = 0; i < record->count; i++)
		cJSON_Delete(record->entries[i].document);
	ifp_buf_free(&record->last_payload);
	record->count = 0;
}

/* The next message of this type to this rank that was not looked at yet; NULL = none. */
static inline const cJSON *record_message(
	struct record *record, enum ifp_message_type type, uint32_t rank)
{
	static const cJSON empty;

	for (size_t i = 0; i < record->count; i++) {
		struct record_entry *entry = &record->entries[i];

		if (entry->message != type || entry->rank != rank)
			continue;
		entry->message = 0;
		entry->rank = UINT32_MAX - 1;
		return entry->document ? entry->document : &empty;
	}
	return NULL;
}

/* How many rows of the ledger have this word, for this rank. */
static inline size_t record_rows(const struct record *record, uint32_t rank, const char *what)
{
	size_t rows = 0;

	for (size_t i = 0; i < record->count; i++) {
		const struct record_entry *entry = &record->entries[i];
		const cJSON *row;

		if (entry->frame != IFP_FRAME_LEDGER || entry->rank != rank)
			continue;
		cJSON_ArrayForEach(row, cJSON_GetObjectItem(entry->document, "rows")) rows +=
			strcmp(ifp_document_get_text(row, "what"), what) == 0;
	}
	return rows;
}

static inline size_t record_frames(
	const struct record *record, enum ifp_frame_type type, uint32_t rank)
{
	size_t frames = 0;

	for (size_t i = 0; i < record->count; i++)
		frames += record->entries[i].frame == type && record->entries[i].rank == rank;
	return frames;
}

/* A document from JSON with ' for ". Freed by the caller. */
static inline cJSON *document_from(const char *text)
{
	char json[1024];
	cJSON *document;

	snprintf(json, sizeof(json), "%s", text);
	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	document = cJSON_Parse(json);
	assert_non_null(document);
	return document;
}
