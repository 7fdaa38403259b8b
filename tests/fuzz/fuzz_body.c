/* SPDX-License-Identifier: Apache-2.0
 * Bodies of requests: no cut into reads changes what comes out or where it ends; and what comes
 * out, read as a list of names in each of its formats, does not depend on the cuts either. Input: a
 * byte of options, the body.
 */
#include "format/text/name_list.h"
#include "server/http/body.h"
#include "server/http/request_head.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    enum dx_body_verdict verdict;
    size_t used;
    size_t size;
    uint64_t names;
    uint64_t sum; /* of what the names say */
};

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void take_names(struct dx_name_list *l, struct outcome *o)
{
    struct dx_name name;

    while (dx_name_list_next(l, &name)) {
        o->names++;
        must(name.asked.size <= DX_NAME_LINE_MAX &&
             (name.flaw == DX_FLAW_NONE || name.asked.size == 0));
        o->sum = o->sum * 31 + name.line * 7 + (uint64_t)name.flaw;
        for (size_t i = 0; i < name.asked.size; i++)
            o->sum = o->sum * 31 + name.asked.data[i];
    }
}

static void put(struct dx_name_list *l, struct dx_span bytes, struct outcome *o)
{
    o->size += bytes.size;
    while (bytes.size > 0) {
        size_t room;
        uint8_t *to = dx_name_list_room(l, &room);
        size_t n = bytes.size < room ? bytes.size : room;

        must(room >= DX_NAME_LIST_ROOM);
        memcpy(to, bytes.data, n);
        dx_name_list_put(l, n);
        bytes = (struct dx_span){ bytes.data + n, bytes.size - n };
        take_names(l, o);
    }
}

static struct outcome run(uint8_t options, const uint8_t *data, size_t size, size_t step)
{
    struct dx_error err;
    struct dx_name_list *l;
    struct outcome o = { .verdict = DX_BODY_MORE };
    struct dx_body b;
    size_t end = 0;

    must(dx_name_list_new(&l, (enum dx_name_list_format)((options >> 1) % 4), &err) == DX_OK);
    dx_body_begin(&b, (options & 1) == 0, options >> 3);
    do {
        end = end + step < size ? end + step : size;
        do {
            struct dx_span out = { NULL, 0 };
            size_t used;

            o.verdict = dx_body_next(&b, dx_span_of(data + o.used, end - o.used), step, &used,
                                     &out);
            o.used += used;
            must(o.used <= end);
            if (o.verdict == DX_BODY_DATA)
                put(l, out, &o);
        } while (o.verdict == DX_BODY_DATA);
    } while (o.verdict == DX_BODY_MORE && end < size);
    if (o.verdict == DX_BODY_REJECT)
        must(b.reject_status >= 400 && b.reject_reason != NULL);
    dx_name_list_end(l);
    take_names(l, &o);
    dx_name_list_free(&l);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = { 1, 2, 3, 7, 100, 5000 };
    struct outcome whole;

    if (size == 0)
        return 0;
    whole = run(data[0], data + 1, size - 1, size);
    must(whole.used <= size - 1 && whole.size <= whole.used);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct outcome cut;

        if (size / steps[i] > 4000)
            continue; /* keep it fast */
        cut = run(data[0], data + 1, size - 1, steps[i]);
        must(cut.verdict == whole.verdict && cut.size == whole.size);
        must(cut.names == whole.names && cut.sum == whole.sum);
        must(cut.verdict == DX_BODY_REJECT || cut.used == whole.used);
    }
    return 0;
}
