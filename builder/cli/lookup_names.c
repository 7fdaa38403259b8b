/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/cli/lookup_names.h"

#include <assert.h>

#include "builder/input/bytes/input.h"
#include "builder/root/progress.h"
#include "query/view/view.h"

#define OUT_MAX ((size_t)256 << 10) /* of one write */
#define ANSWER_MAX ((size_t)256 << 20)
#define WINDOW_MAX ((uint64_t)128 << 20) /* of a zstd frame */

static int failed(const struct dx_problem *problem, int code, struct dx_error *err)
{
    return dx_fail(err, code < 0 ? code : DX_E_INVALID, "%s: %s", problem->title, problem->detail);
}

static int flush(struct dx_lookup_names *l, struct dx_error *err)
{
    size_t size = l->text.size;

    dx_buf_clear(&l->text);
    if (fwrite(l->text.data, 1, size, l->out) != size)
        return dx_fail(err, DX_E_IO, "cannot write to standard output");
    return DX_OK;
}

static int write_batch(struct dx_lookup_names *l, struct dx_error *err)
{
    struct dx_problem problem;
    int rc;

    do {
        rc = dx_names_write(l->names, &l->text, OUT_MAX, &problem);
        if (rc < 0)
            return failed(&problem, rc, err);
        if (l->text.size >= OUT_MAX && flush(l, err) < 0)
            return (int)err->code;
    } while (rc == DX_NAMES_MORE);
    l->counts = dx_names_counts_of(l->names);
    if (l->progress != NULL)
        dx_progress_at(l->progress, l->bytes, l->counts.names);
    return DX_OK;
}

static int add(struct dx_lookup_names *l, const struct dx_name *name, struct dx_error *err)
{
    assert(l->names != NULL); /* dx_lookup_names_begin */
    while (!dx_names_add(l->names, name)) {
        int rc = write_batch(l, err);

        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

int dx_lookup_names_begin(struct dx_lookup_names *l, struct dx_error *err)
{
    struct dx_problem problem;
    int rc;

    dx_buf_init(&l->text, ANSWER_MAX);
    rc = dx_names_new(&l->names, DX_VIEW_ALL(l->version), &l->ask, &problem);
    if (rc != 1)
        return failed(&problem, rc, err);
    dx_names_begin(l->names, &l->text);
    return DX_OK;
}

int dx_lookup_names_one(struct dx_lookup_names *l, struct dx_span name, struct dx_error *err)
{
    const struct dx_name one = { .line = ++l->lines,
                                 .asked = name.size <= DX_NAME_LINE_MAX ? name : dx_span_str(""),
                                 .flaw = name.size <= DX_NAME_LINE_MAX ? DX_FLAW_NONE
                                                                       : DX_FLAW_TOO_LONG };

    return add(l, &one, err);
}

static int read_list(struct dx_lookup_names *l, struct dx_input *in, struct dx_name_list *list,
                     struct dx_error *err)
{
    bool ended = false;
    int rc = DX_OK;

    while (rc >= 0 && !ended) {
        struct dx_name name;
        size_t room;
        uint8_t *to = dx_name_list_room(list, &room);
        ssize_t n = dx_input_read(in, to, room, err);

        if (n < 0)
            return (int)n;
        ended = n == 0;
        l->bytes = dx_input_consumed(in);
        if (ended)
            dx_name_list_end(list);
        dx_name_list_put(list, (size_t)n);
        while (rc >= 0 && dx_name_list_next(list, &name))
            rc = add(l, &name, err);
    }
    return rc;
}

int dx_lookup_names_file(struct dx_lookup_names *l, const char *path, struct dx_error *err)
{
    struct dx_input *in = NULL;
    struct dx_name_list *list = NULL;
    int rc = dx_input_open(&in, path, WINDOW_MAX, err);

    if (rc == DX_OK && l->progress != NULL)
        dx_progress_total(l->progress, dx_input_file_size(in), false);
    if (rc == DX_OK)
        rc = dx_name_list_new(&list, l->input, err);
    if (rc == DX_OK)
        rc = read_list(l, in, list, err);
    dx_name_list_free(&list);
    dx_input_close(&in);
    return rc;
}

int dx_lookup_names_end(struct dx_lookup_names *l, struct dx_error *err)
{
    int rc = write_batch(l, err);

    if (rc < 0)
        return rc;
    dx_names_end(l->names, &l->text);
    rc = flush(l, err);
    if (rc == DX_OK && fflush(l->out) != 0)
        rc = dx_fail(err, DX_E_IO, "cannot write to standard output");
    return rc;
}

void dx_lookup_names_release(struct dx_lookup_names *l)
{
    dx_names_free(&l->names);
    dx_buf_release(&l->text);
}
