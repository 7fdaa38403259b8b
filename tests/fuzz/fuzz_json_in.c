/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a JSON document that is read member by member: what is read keeps its bounds, and
 * after the first failure everything is 0, "" or at its end.
 */
#include "base/json_in.h"

#include <stdio.h>
#include <stdlib.h>

#define SIZE_MOST 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "%s\n", what);
        abort();
    }
}

static void read_values(struct dx_json_in *in, const struct dx_json_node *o)
{
    uint8_t hex[3] = { 0 };
    uint64_t n = dx_json_in_u64(in, o, "n", 3, 5);
    const char *text;
    int64_t us;

    need(in->rc == DX_OK ? n >= 3 && n <= 5 : n == 0, "a number");
    text = dx_json_in_str(in, o, "s", 6);
    need(strlen(text) <= (in->rc == DX_OK ? 6 : 0), "a text");
    us = dx_json_in_time(in, o, "t", 1000000);
    need(us % 1000000 == 0 && (in->rc == DX_OK || us == 0), "a time");
    need(!dx_json_in_bool(in, o, "b") || in->rc == DX_OK, "a truth");
    dx_json_in_hex(in, o, "h", hex, sizeof hex);
}

static void read_level(struct dx_json_in *in, const struct dx_json_node *o, unsigned depth)
{
    static const char *const names[] = { "n", "s", "t", "b", "h", "l", "m" };
    const struct dx_json_node *entry;
    struct dx_json_list l;
    size_t seen = 0;

    dx_json_in_members(in, o, names, 7, 0);
    if (dx_json_in_has(o, "n") && !dx_json_in_null(o, "n"))
        read_values(in, o);
    if (depth == DX_JSON_IN_DEPTH)
        return;
    if (dx_json_in_has(o, "l")) {
        dx_json_in_list(in, &l, o, "l", 4);
        for (; (entry = dx_json_in_next(in, &l)) != NULL; seen++)
            read_level(in, entry, depth + 1);
        need(seen <= 4, "a long list");
    }
    if (dx_json_in_has(o, "m")) {
        dx_json_in_map(in, &l, o, "m", 4);
        while ((entry = dx_json_in_next(in, &l)) != NULL)
            need(l.key != NULL && dx_json_in_entry_u64(in, entry, 0, 9) <= 9 && l.at < 4, "a map");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_json_in in;
    const struct dx_json_node *root = dx_json_in_open(&in, dx_span_of(data, size), SIZE_MOST, "F");

    need((root == NULL) == (in.rc < 0), "neither a document nor an error");
    read_level(&in, root, 0);
    need(in.rc < 0 || in.depth == 0, "a list that is not left");
    if (dx_json_in_close(&in, &err) < 0)
        need(strncmp(err.text, "F: ", 3) == 0 && strlen(err.text) > 3, "an error without words");
    return 0;
}
