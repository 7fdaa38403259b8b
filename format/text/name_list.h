/* SPDX-License-Identifier: Apache-2.0
 * name_list.h - names out of a text, CSV, NDJSON or JSON that comes in pieces of any size.
 *
 *   rc = dx_name_list_new(&l, DX_NAME_LIST_TEXT, &err);
 *   for (;;) {
 *       while (dx_name_list_next(l, &name))                name.asked: valid until the next call
 *           ...
 *       if (no more bytes)  break;                         after dx_name_list_end and a last round
 *       room = dx_name_list_room(l, &size);                at least DX_NAME_LIST_ROOM
 *       dx_name_list_put(l, bytes_written_into_room);      or dx_name_list_end(l)
 *   }
 *   dx_name_list_free(&l);
 *
 * Text has a name a line. CSV (RFC 4180) has it in the column that its first record calls domain,
 * host or url (the first of these that is there, in any case), else in the first column, and then
 * the first record is a name too. NDJSON has on each line a string, or an object with a member
 * domain, host or url that is one. JSON is an array of such, or an object whose one member
 * "domains" is it; a name's line is then its place in the array, and a text that is something else,
 * or goes on behind it, ends with one name that is DX_FLAW_MALFORMED. Empty lines are left out, a
 * byte order mark at the front is dropped, lines end with LF or CRLF.
 *
 * A record over DX_NAME_LINE_MAX bytes is a name with flaw DX_FLAW_TOO_LONG, one in which no name
 * can be read is DX_FLAW_MALFORMED: `asked` is then empty, and reading goes on behind it. Memory is
 * bounded by constants. One thread at a time.
 */
#ifndef DX_FORMAT_TEXT_NAME_LIST_H
#define DX_FORMAT_TEXT_NAME_LIST_H

#include "base/error.h"
#include "format/text/record_cut.h"

#define DX_NAME_LINE_MAX 8192     /* bytes of a record: a URL of the longest that is one */
#define DX_NAME_LIST_ROOM 16384   /* bytes that can be put when no name is left to take */
#define DX_NAME_CSV_COLUMN_MAX 64 /* columns in which a name is looked for */

enum dx_name_list_format {
    DX_NAME_LIST_TEXT,
    DX_NAME_LIST_CSV,
    DX_NAME_LIST_NDJSON,
    DX_NAME_LIST_JSON
};

struct dx_name {
    uint64_t line; /* its first, from 1; of JSON its place */
    struct dx_span asked;
    enum dx_record_flaw flaw;
};

struct dx_name_list;

int dx_name_list_new(struct dx_name_list **l, enum dx_name_list_format format,
                     struct dx_error *err);
void dx_name_list_free(struct dx_name_list **l);

uint8_t *dx_name_list_room(struct dx_name_list *l, size_t *size);
void dx_name_list_put(struct dx_name_list *l, size_t size);
void dx_name_list_end(struct dx_name_list *l); /* nothing comes any more */

/* False: no name is complete; after the end, there are no more. */
bool dx_name_list_next(struct dx_name_list *l, struct dx_name *name);

#endif
