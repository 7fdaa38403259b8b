/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/cli/ingest_json.h"

#include "base/json_out.h"
#include "builder/root/root.h"

#define TEXT_MAX (1u << 20)

/* NULL writes null. */
static void put_name(struct dx_json *j, const char *member, const char *name)
{
    dx_json_key(j, member);
    name != NULL ? dx_json_str(j, name) : dx_json_null(j);
}

static void put_examples(struct dx_json *j, const struct dx_ingest_stats *s, int why)
{
    dx_json_key(j, "examples");
    dx_json_array(j);
    for (size_t i = 0; i < s->samples.reject_count[why]; i++) {
        const struct dx_reject_sample *sample = &s->samples.reject[why][i];

        dx_json_object(j);
        dx_json_key(j, "input");
        dx_json_str(j, sample->input);
        dx_json_key_u64(j, "line", sample->line);
        dx_json_key(j, "text");
        dx_json_str(j, sample->text);
        dx_json_end(j);
    }
    dx_json_end(j);
}

static void put_rejects(struct dx_json *j, const struct dx_ingest_stats *s)
{
    dx_json_key(j, "rejected");
    dx_json_object(j);
    dx_json_key_u64(j, "total", s->rejected_total);
    dx_json_key(j, "reasons");
    dx_json_array(j);
    for (int why = 1; why < DX_ROW_REJECT_COUNT; why++) {
        if (s->rejected[why] == 0)
            continue;
        dx_json_object(j);
        dx_json_key(j, "reason");
        dx_json_str(j, dx_row_reject_name(why));
        dx_json_key_u64(j, "count", s->rejected[why]);
        put_examples(j, s, why);
        dx_json_end(j);
    }
    dx_json_end(j);
    put_name(j, "file", s->rejects_path);
    dx_json_key_u64(j, "not_in_file", s->rejects_unlisted);
    dx_json_end(j);
}

static void put_lacking(struct dx_json *j, const char *column, const struct dx_ingest_lacking *e)
{
    dx_json_object(j);
    dx_json_key(j, "column");
    dx_json_str(j, column);
    dx_json_key_u64(j, "inputs", e->inputs);
    put_name(j, "first", e->first);
    dx_json_key_u64(j, "records", e->records);
    dx_json_key(j, "has_value");
    dx_json_bool(j, e->has_value);
    dx_json_end(j);
}

static bool is_lacking(const struct dx_ingest_lacking *e)
{
    return e->inputs > 0 || !e->has_value;
}

/* Columns that are not in every input, or without a value in any record. */
static void put_columns(struct dx_json *j, const struct dx_ingest_options *o,
                        const struct dx_ingest_stats *s)
{
    dx_json_key(j, "time_lacking");
    if (o->want.ts != NULL && is_lacking(&s->time))
        put_lacking(j, o->want.ts, &s->time);
    else
        dx_json_null(j);
    dx_json_key(j, "extras_lacking");
    dx_json_array(j);
    for (size_t i = 0; i < o->want.extra_count; i++)
        if (is_lacking(&s->extra[i]))
            put_lacking(j, o->want.extra[i], &s->extra[i]);
    dx_json_end(j);
}

static void put_inputs(struct dx_json *j, const struct dx_ingest_stats *s)
{
    dx_json_key_u64(j, "empty_inputs", s->empty);
    put_name(j, "first_empty", s->empty_input);
    dx_json_key_u64(j, "inputs_without_urls", s->without_urls);
    dx_json_key(j, "first_without_urls");
    dx_json_array(j);
    for (size_t i = 0; i < s->without_urls && i < DX_INGEST_INPUTS_NAMED; i++)
        dx_json_str(j, s->without_urls_input[i]);
    dx_json_end(j);
    dx_json_key_u64(j, "without_time", s->untimed);
    put_name(j, "first_without_time", s->untimed_input);
}

static void put_run(struct dx_json *j, const struct dx_ingest_options *o,
                    const struct dx_ingest_stats *s, const struct dx_error *failure)
{
    bool is_stored = (failure->code == DX_OK || s->left_out > 0) && !o->dry_run;
    char shown[DX_ROOT_SHOWN];

    dx_json_object(j);
    dx_json_key(j, "root");
    dx_json_str(j, dx_root_shown(o->root, shown));
    dx_json_key(j, "dry_run");
    dx_json_bool(j, o->dry_run);
    dx_json_key_u64(j, "inputs", o->input_count);
    dx_json_key_u64(j, "records", s->records);
    dx_json_key_u64(j, "accepted", s->accepted);
    dx_json_key_u64(j, "rows_stored", is_stored ? s->stored : 0);
    dx_json_key_u64(j, "duplicates", is_stored ? s->accepted - s->left_out - s->stored : 0);
    dx_json_key_u64(j, "rows_left_out", s->left_out);
    put_rejects(j, s);
    dx_json_key_u64(j, "invalid_times_dropped", s->ts_dropped);
    dx_json_key_u64(j, "texts_repaired", s->repaired);
    dx_json_key_u64(j, "lines_with_blanks", s->with_blanks);
    dx_json_key_u64(j, "canonical_refused", s->canonical_refused);
    dx_json_key_u64(j, "not_located", s->unlocated);
    put_inputs(j, s);
    put_columns(j, o, s);
    dx_json_key_u64(j, "datasets", s->datasets);
    dx_json_key_u64(j, "datasets_new", s->datasets_new);
    dx_json_key_u64(j, "files_added", is_stored ? s->files : 0);
    dx_json_key_u64(j, "bytes_added", is_stored ? s->file_bytes : 0);
    dx_json_key_u64(j, "spilled_bytes", s->spilled_bytes);
    dx_json_key(j, "seconds");
    dx_json_double(j, s->total_seconds);
    if (failure->code != DX_OK) {
        dx_json_key(j, "error");
        dx_json_str(j, failure->text);
    }
    dx_json_end(j);
}

int dx_ingest_json_print(FILE *to, const struct dx_ingest_options *options,
                         const struct dx_ingest_stats *stats, const struct dx_error *failure,
                         struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(TEXT_MAX);
    struct dx_json j;
    int rc = DX_OK;

    dx_json_open(&j, &text);
    put_run(&j, options, stats, failure);
    dx_buf_u8(&text, '\n');
    if (text.failed)
        rc = dx_buf_fail(&text, err, "summary");
    else if (fwrite(text.data, 1, text.size, to) != text.size || fflush(to) != 0)
        rc = dx_fail(err, DX_E_IO, "standard output: cannot write the summary");
    dx_buf_release(&text);
    return rc;
}
