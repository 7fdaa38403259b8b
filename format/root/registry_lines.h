/* SPDX-License-Identifier: Apache-2.0
 * registry_lines.h - datasets.json read line by line, as format/root/registry_json.h writes it.
 *
 *   struct dx_registry_lines l;
 *   struct dx_registry_line line;
 *
 *   dx_registry_lines_open(&l, text);
 *   while (dx_registry_lines_next(&l, &line))
 *       while (dx_registry_line_meta(&line, &key, &value)) ...          false at the end; line.metadata.size > 0: other form
 *   whole = dx_registry_lines_whole(&l);
 *
 * A fifth of the instructions that a tree of JSON takes, for what is the largest part of opening a version with many datasets. It
 * knows one order of members and no space between them, texts without escapes and times without fractions. All else, be it
 * valid JSON or damage, is not whole: then the reader of JSON reads the text, or says what is wrong with it. Numbers and times are
 * what they have to be by themselves; order of ids, names and times are for the caller. Spans are of the text. One thread.
 */
#ifndef DX_FORMAT_ROOT_REGISTRY_LINES_H
#define DX_FORMAT_ROOT_REGISTRY_LINES_H

#include "base/bytes.h"

struct dx_registry_lines {
    const uint8_t *at;
    const uint8_t *end;
    bool first;
    bool failed;
};

struct dx_registry_line {
    uint32_t dataset_id;
    struct dx_span name;
    bool plain_name;                     /* printable ASCII */
    bool of_counts;                      /* "kind":"counts" */
    struct dx_span metadata;             /* what is left of it */
    uint64_t files, rows, urls, domains; /* below 10^18 */
    bool has_ts;
    int64_t first_us, last_us;
};

void dx_registry_lines_open(struct dx_registry_lines *l, struct dx_span text);
bool dx_registry_lines_next(struct dx_registry_lines *l, struct dx_registry_line *line);
bool dx_registry_line_meta(struct dx_registry_line *line, struct dx_span *key,
                           struct dx_span *value);
/* Behind the last line the text ended as it should. */
bool dx_registry_lines_whole(const struct dx_registry_lines *l);

#endif
