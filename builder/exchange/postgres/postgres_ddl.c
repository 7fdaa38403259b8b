/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/postgres/postgres_ddl.h"

#include <assert.h>
#include <inttypes.h>

#include "builder/exchange/numbers/domain64_print.h"
#include "format/root/registry_json.h"

#define DDL_ROOM ((size_t)1 << 20) /* statements of one name */

bool dx_postgres_name_ok(const char *name, size_t max)
{
    return dx_dataset_text_ok(dx_span_str(name), max);
}

/* `mark` doubled inside. */
static void quoted(struct dx_span s, char mark, struct dx_buf *out)
{
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] == (uint8_t)mark)
            dx_buf_u8(out, s.data[i]);
        dx_buf_u8(out, s.data[i]);
    }
}

void dx_postgres_quote(const char *name, const char *suffix, struct dx_buf *out)
{
    dx_buf_u8(out, '"');
    quoted(dx_span_str(name), '"', out);
    dx_buf_str(out, suffix);
    dx_buf_u8(out, '"');
}

void dx_postgres_ddl_name(const struct dx_postgres_ddl *d, uint64_t number, int part,
                          const char *suffix, struct dx_buf *out)
{
    struct dx_domain64 n;

    assert(part < DX_PART_PATH); /* paths have no partitions */
    (void)dx_domain64_unpack(number, d->layout, &n, NULL);
    dx_buf_u8(out, '"');
    quoted(dx_span_str(d->table), '"', out);
    if (part >= DX_PART_TLD)
        dx_buf_fmt(out, "_%02" PRIx32, n.tld);
    if (part >= DX_PART_DOMAIN)
        dx_buf_fmt(out, "_%06" PRIx32, n.domain);
    if (part >= DX_PART_SUBDOMAIN)
        dx_buf_fmt(out, "_%0*" PRIx32, d->layout == DX_DOMAIN64_SUB8 ? 2 : 6, n.subdomain);
    dx_buf_str(out, suffix);
    dx_buf_u8(out, '"');
}

void dx_postgres_ddl_columns(const struct dx_postgres_ddl *d, struct dx_buf *out)
{
    dx_buf_str(out, "domain64, dataset_id, url, ts");
    for (size_t i = 0; i < d->column_count; i++) {
        dx_buf_str(out, ", ");
        dx_postgres_quote(d->column[i], "", out);
    }
}

void dx_postgres_ddl_table(const struct dx_postgres_ddl *d, struct dx_buf *out)
{
    dx_buf_str(out, "CREATE TABLE ");
    dx_postgres_quote(d->table, "", out);
    dx_buf_str(out, " (domain64 bigint NOT NULL, dataset_id integer NOT NULL, url text NOT NULL, "
                    "ts timestamptz");
    for (size_t i = 0; i < d->column_count; i++) {
        dx_buf_str(out, ", ");
        dx_postgres_quote(d->column[i], "", out);
        dx_buf_str(out, " text");
    }
    dx_buf_str(out, ") PARTITION BY RANGE (domain64);\nCREATE INDEX ON ");
    dx_postgres_quote(d->table, "", out);
    dx_buf_str(out, " (domain64);\nCREATE TABLE ");
    dx_postgres_quote(d->table, "_rest", out);
    dx_buf_str(out, " PARTITION OF ");
    dx_postgres_quote(d->table, "", out);
    dx_buf_str(out, " DEFAULT;\n");
}

void dx_postgres_ddl_datasets(const struct dx_postgres_ddl *d, struct dx_buf *out)
{
    dx_buf_str(out, "CREATE TABLE ");
    dx_postgres_quote(d->table, "_datasets", out);
    dx_buf_str(out, " (dataset_id integer PRIMARY KEY, name text NOT NULL, version text NOT NULL, "
                    "row_count bigint NOT NULL, left_out bigint NOT NULL, registry text NOT NULL, "
                    "fillings bigint NOT NULL, content text NOT NULL, "
                    "loaded timestamptz NOT NULL DEFAULT now());\n");
}

static void bound(uint64_t number, struct dx_buf *out)
{
    dx_buf_fmt(out, "%" PRId64, dx_domain64_signed(number));
}

static void values(const struct dx_postgres_ddl *d, uint64_t number, enum dx_domain64_part part,
                   struct dx_buf *out)
{
    struct dx_domain64_range r = { 0, 0 };
    struct dx_domain64 n;

    (void)dx_domain64_unpack(number, d->layout, &n, NULL);
    (void)dx_domain64_range(&n, part, d->layout, &r, NULL);
    dx_buf_str(out, " FOR VALUES FROM (");
    bound(r.from, out);
    dx_buf_str(out, ") TO (");
    if (r.to == UINT64_C(1) << 63) /* above all that is positive as a bigint */
        dx_buf_str(out, "MAXVALUE");
    else
        bound(r.to, out);
    dx_buf_u8(out, ')');
}

/* The TLD or host that the number is of. */
static int name_of(const struct dx_domain64_registry *numbers, uint64_t number,
                   enum dx_domain64_part part, struct dx_buf *out, struct dx_error *err)
{
    int rc = part == DX_PART_TLD ? dx_domain64_registry_name(numbers, number, out, err)
                                 : dx_domain64_registry_names(numbers, number, out, err);

    if (rc == 0)
        return dx_fail(err, DX_E_CORRUPT, "domain64: 0x%016" PRIx64 " has no name", number);
    if (rc == 1 && part != DX_PART_TLD)
        out->size--; /* the '/' before a path */
    return rc < 0 ? rc : DX_OK;
}

static void comment(const struct dx_postgres_ddl *d, uint64_t number, enum dx_domain64_part part,
                    struct dx_span name, struct dx_buf *out)
{
    struct dx_buf text = DX_BUF_INIT(out->max);

    quoted(name, '\\', &text);
    dx_buf_str(out, "COMMENT ON TABLE ");
    dx_postgres_ddl_name(d, number, (int)part, "", out);
    dx_buf_str(out, " IS E'");
    quoted(dx_span_of(text.data, text.size), '\'', out);
    dx_buf_str(out, "';\n");
    out->failed = out->failed || text.failed;
    out->no_memory = out->no_memory || text.no_memory;
    dx_buf_release(&text);
}

int dx_postgres_ddl_partition(const struct dx_postgres_ddl *d,
                              const struct dx_domain64_registry *numbers, uint64_t number,
                              enum dx_domain64_part part, bool split, struct dx_buf *out,
                              struct dx_error *err)
{
    struct dx_buf name = DX_BUF_INIT(out->max);
    int rc = name_of(numbers, number, part, &name, err);

    dx_buf_str(out, "CREATE TABLE ");
    dx_postgres_ddl_name(d, number, (int)part, "", out);
    dx_buf_str(out, " PARTITION OF ");
    dx_postgres_ddl_name(d, number, (int)part - 1, "", out);
    values(d, number, part, out);
    dx_buf_str(out, split ? " PARTITION BY RANGE (domain64);\n" : ";\n");
    comment(d, number, part, dx_span_of(name.data, name.size), out);
    if (split) {
        dx_buf_str(out, "CREATE TABLE ");
        dx_postgres_ddl_name(d, number, (int)part, "_rest", out);
        dx_buf_str(out, " PARTITION OF ");
        dx_postgres_ddl_name(d, number, (int)part, "", out);
        dx_buf_str(out, " DEFAULT;\n");
    }
    dx_buf_release(&name);
    return rc == DX_OK && out->failed ? dx_buf_fail(out, err, "partitions") : rc;
}

static void put_statements(struct dx_buf *text, FILE *out)
{
    if (text->size > 0)
        (void)fwrite(text->data, 1, text->size, out);
    dx_buf_clear(text);
}

int dx_postgres_ddl_print(const struct dx_domain64_registry *n, const char *name,
                          enum dx_domain64_part part, FILE *out, struct dx_error *err)
{
    const struct dx_postgres_ddl d = { .table = name, .layout = n->layout };
    struct dx_buf text = DX_BUF_INIT(DDL_ROOM);
    struct dx_domain64_registry_walk w;
    int rc = dx_domain64_registry_walk_open(&w, n, 0, err);

    dx_postgres_ddl_table(&d, &text);
    dx_postgres_ddl_datasets(&d, &text);
    if (rc >= 0 && text.failed)
        rc = dx_buf_fail(&text, err, "statements");
    put_statements(&text, out);
    while (rc >= 0 && !ferror(out) && (rc = dx_domain64_next_above(&w, part, err)) == 1) {
        rc = dx_postgres_ddl_partition(&d, n, w.number, w.part, w.part < part, &text, err);
        if (rc == DX_OK)
            put_statements(&text, out);
    }
    dx_domain64_registry_walk_close(&w);
    dx_buf_release(&text);
    return rc < 0 ? rc : DX_OK;
}
