/* SPDX-License-Identifier: Apache-2.0
 * adopt_list.h - which files are to become files of the lake: the text that `domaindex adopt` reads.
 *
 *   struct dx_adopt_list l = DX_ADOPT_LIST_INIT;
 *   rc = dx_adopt_list_parse(&l, text, "files.tsv", &err);
 *   l.file[i].dataset, .path, .size, .first, .last       in the order of the text
 *   dx_adopt_list_release(&l);
 *
 * A line a file: its size, the range of domain prefixes of its rows ("3a", "00-ff"), its dataset and
 * its path, with tabs between. The path is the rest of the line. Pure; one thread at a time.
 */
#ifndef DX_BUILDER_LAKE_ADOPT_LIST_H
#define DX_BUILDER_LAKE_ADOPT_LIST_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_ADOPT_TEXT_MAX ((size_t)256 << 20)

struct dx_adopt_file {
    char *dataset;
    char *path;
    uint64_t size;
    uint8_t first, last;
};

struct dx_adopt_list {
    struct dx_adopt_file *file;
    size_t count;
    size_t capacity;
};

#define DX_ADOPT_LIST_INIT \
    {                      \
        NULL, 0, 0         \
    }

int dx_adopt_list_parse(struct dx_adopt_list *l, struct dx_span text, const char *name,
                        struct dx_error *err);
void dx_adopt_list_release(struct dx_adopt_list *l);

#endif
