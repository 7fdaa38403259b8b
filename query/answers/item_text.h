/* SPDX-License-Identifier: Apache-2.0
 * item_text.h - rows of a URL listing as JSON.
 *
 *   struct dx_item_text t;
 *   dx_item_text_init(&t, &json, fields, v);         json: inside the array of the items
 *   rc = dx_item_text_write(&t, &row, &err);         for each row, or
 *   rc = dx_item_text_stretch(&t, &stretch, &err);   1 written; 0 not: write its rows one by one
 *   rc = dx_item_text_members(&t, &row, &err);       those of one row, into an object that was just begun
 *   dx_item_text_dataset(&t, dataset_id);            rows from here on end in this member
 *   dx_item_text_release(&t);
 *
 * The members that `fields` (DX_FIELD_...) names, in the order of those bits. A row whose URL
 * stands in JSON as it is, which is every URL that is canonical, is written in one piece into the
 * answer, and hashed there; with the usual fields this is done for a stretch of rows at a time,
 * without a look at what a page says for all of them. Any other one goes through base/json_out.h,
 * and the text is the same (tests/unit/query/answers/test_item_text.c). Extras called title,
 * content_type, tags and locator may be members of their own: null where the row has none; tags are an
 * array, and null where the text is not an array of strings. One thread at a time.
 */
#ifndef DX_QUERY_ANSWERS_ITEM_TEXT_H
#define DX_QUERY_ANSWERS_ITEM_TEXT_H

#include "base/buf.h"
#include "base/error.h"
#include "query/suppression/shown_request.h"

struct dx_json;
struct dx_listing_row;
struct dx_listing_stretch;
struct dx_version;

struct dx_item_text {
    struct dx_json *json;
    unsigned fields;
    struct dx_buf url; /* scratch of rows that are written piece by piece */
    struct dx_buf tag; /* and of their tags */
    bool has_dataset;
    uint32_t dataset_id;
    uint8_t dataset[32]; /* the member as text, with a comma before it */
    size_t dataset_size;

    struct dx_shown_request shown;
};

/* v: whose suppressions hold, NULL: none do. Of a row that was requested by a URL which they hide,
 * raw_url and locator are null, and requested_url and locator are left out of extras. */
void dx_item_text_init(struct dx_item_text *t, struct dx_json *json, unsigned fields,
                       struct dx_version *v);
void dx_item_text_release(struct dx_item_text *t);
/* Of rows that dx_item_text_write and dx_item_text_stretch write. */
void dx_item_text_dataset(struct dx_item_text *t, uint32_t dataset_id);
int dx_item_text_write(struct dx_item_text *t, const struct dx_listing_row *row,
                       struct dx_error *err);
int dx_item_text_members(struct dx_item_text *t, const struct dx_listing_row *row,
                         struct dx_error *err);
int dx_item_text_stretch(struct dx_item_text *t, const struct dx_listing_stretch *s,
                         struct dx_error *err);

#endif
