/* SPDX-License-Identifier: Apache-2.0
 * json_in.h - a JSON document read member by member, with types, bounds and places in the error.
 *
 *   struct dx_json_in in;
 *   const struct dx_json_node *o = dx_json_in_open(&in, text, SIZE_MAX_OF_IT, name);
 *   struct dx_json_list l;
 *
 *   dx_json_in_members(&in, o, names, count, must);             these members and no others
 *   id = dx_json_in_u64(&in, o, "dataset_id", 1, UINT32_MAX);
 *   dx_json_in_list(&in, &l, o, "versions", 1000);              an array, or an object by its keys
 *   while ((item = dx_json_in_next(&in, &l)) != NULL)
 *       ... dx_json_in_str(&in, item, "name", 255) ...          l.key: of an object's entry
 *   if (in.rc == DX_OK && first > last)
 *       dx_json_in_fail(&in, DX_E_CORRUPT, "first %u is above last %u", first, last);
 *   return dx_json_in_close(&in, err);                          "NAME: versions[2]: 'name' is ..."
 *
 * The first thing that is wrong stays: what is read after it is 0, "" or NULL, lists are at their
 * end, and later failures are not noted. So a reader needs one look at the end, and one before it
 * uses a value where 0 or "" would do harm. A member that stands twice is refused by open, and so
 * is NUL in a text, and what is not an object.
 *
 * Texts are borrowed until close. One thread.
 */
#ifndef DX_BASE_JSON_IN_H
#define DX_BASE_JSON_IN_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/json_tree.h"

#define DX_JSON_IN_DEPTH 4 /* lists within lists */

struct dx_json_list {
    const char *member;
    const struct dx_json_node *of;
    const struct dx_json_node *next;
    const char *key; /* of the entry, where the list is an object */
    size_t at;       /* of the entry, from 0 on */
    size_t count;
};

struct dx_json_in {
    int rc;
    struct dx_error err;
    const char *name;
    struct dx_json_tree tree;
    unsigned depth;
    const struct dx_json_list *list[DX_JSON_IN_DEPTH]; /* that are being read, outermost first */
};

const struct dx_json_node *dx_json_in_open(struct dx_json_in *in, struct dx_span text,
                                           size_t size_max, const char *name);
int dx_json_in_close(struct dx_json_in *in, struct dx_error *err);

void dx_json_in_fail(struct dx_json_in *in, enum dx_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* For functions that fill in->err: if rc says so, that is what is wrong, at this place. True: rc >=
 * 0. */
bool dx_json_in_try(struct dx_json_in *in, int rc);

/* The first `must` of the names have to be there. */
void dx_json_in_members(struct dx_json_in *in, const struct dx_json_node *o,
                        const char *const *names, size_t count, size_t must);
size_t dx_json_in_count(const struct dx_json_node *o); /* members */
bool dx_json_in_has(const struct dx_json_node *o, const char *member);
bool dx_json_in_null(const struct dx_json_node *o, const char *member); /* it is there, and null */

uint64_t dx_json_in_u64(struct dx_json_in *in, const struct dx_json_node *o, const char *member,
                        uint64_t min, uint64_t max);
bool dx_json_in_bool(struct dx_json_in *in, const struct dx_json_node *o, const char *member);
const char *dx_json_in_str(struct dx_json_in *in, const struct dx_json_node *o, const char *member,
                           size_t size_max);
/* As dx_json_time_us writes it, in whole units of so many microseconds. */
int64_t dx_json_in_time(struct dx_json_in *in, const struct dx_json_node *o, const char *member,
                        int64_t unit_us);
/* Lower-case digits, two a byte. */
void dx_json_in_hex(struct dx_json_in *in, const struct dx_json_node *o, const char *member,
                    uint8_t *to, size_t size);

/* An array or an object of at most count_max entries. */
void dx_json_in_list(struct dx_json_in *in, struct dx_json_list *l, const struct dx_json_node *o,
                     const char *member, size_t count_max);
void dx_json_in_map(struct dx_json_in *in, struct dx_json_list *l, const struct dx_json_node *o,
                    const char *member, size_t count_max);
const struct dx_json_node *dx_json_in_next(struct dx_json_in *in, struct dx_json_list *l);

/* An entry that is itself a text or a number. */
const char *dx_json_in_entry_str(struct dx_json_in *in, const struct dx_json_node *entry,
                                 size_t size_max);
uint64_t dx_json_in_entry_u64(struct dx_json_in *in, const struct dx_json_node *entry, uint64_t min,
                              uint64_t max);

#endif
