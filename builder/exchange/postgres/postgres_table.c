/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/postgres/postgres_table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "builder/exchange/postgres/postgres.h"

#define SQL_ROOM ((size_t)1 << 20)
#define LOCK_CLASS "1685614631" /* "dxpg": so that locks of others are not ours */
#define LOCK_WAIT_MS 30000
#define LOCK_STEP_MS 200

static int run(struct dx_postgres *db, struct dx_buf *sql, struct dx_error *err)
{
    dx_buf_u8(sql, 0);
    return sql->failed ? dx_buf_fail(sql, err, "export: a statement")
                       : dx_postgres_run(db, (const char *)sql->data, err);
}

/* The first cell of the answer; value may be NULL. */
static int ask(struct dx_postgres *db, struct dx_buf *sql, const char *value, const char **cell,
               struct dx_error *err)
{
    int rc;

    dx_buf_u8(sql, 0);
    if (sql->failed)
        return dx_buf_fail(sql, err, "export: a statement");
    rc = dx_postgres_ask(db, (const char *)sql->data, &value, value == NULL ? 0 : 1, err);
    *cell = rc == DX_OK ? dx_postgres_cell(db, 0, 0) : NULL;
    return rc;
}

/* ---- one at a time ---- */

int dx_postgres_table_lock(struct dx_postgres *db, const struct dx_postgres_ddl *d,
                           bool (*stopped)(void), struct dx_error *err)
{
    const struct timespec step = { .tv_nsec = LOCK_STEP_MS * 1000000L };
    uint64_t until = dx_clock_ms() + LOCK_WAIT_MS;
    char key[16];
    const char *value = key;

    (void)snprintf(key, sizeof key, "%" PRId32,
                   (int32_t)(dx_hash64(dx_span_str(d->table)) & INT32_MAX));
    for (;;) {
        int rc = dx_postgres_ask(db, "SELECT pg_try_advisory_lock(" LOCK_CLASS ", $1::integer)",
                                 &value, 1, err);
        const char *got = rc == DX_OK ? dx_postgres_cell(db, 0, 0) : NULL;

        if (rc < 0 || (got != NULL && got[0] == 't'))
            return rc;
        if (stopped != NULL && stopped())
            return dx_fail(err, DX_E_IO, "interrupted");
        if (dx_clock_ms() >= until)
            return dx_fail(err, DX_E_BUSY,
                           "table \"%s\": another export is loading it, for %d s already", d->table,
                           LOCK_WAIT_MS / 1000);
        (void)nanosleep(&step, NULL);
    }
}

/* ---- what is there ---- */

struct column {
    const char *name;
    const char *type;
};

static const struct column own[] = { { "domain64", "bigint" },
                                     { "dataset_id", "integer" },
                                     { "url", "text" },
                                     { "ts", "timestamp with time zone" } };
static const struct column datasets[] = {
    { "dataset_id", "integer" }, { "name", "text" },       { "version", "text" },
    { "row_count", "bigint" },   { "left_out", "bigint" }, { "registry", "text" },
    { "fillings", "bigint" },    { "content", "text" },    { "loaded", "timestamp with time zone" }
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Of the answer that has names and types. */
static int has_column(const struct dx_postgres *db, const char *table, const struct column *c,
                      struct dx_error *err)
{
    for (size_t i = 0; i < dx_postgres_rows(db); i++) {
        const char *name = dx_postgres_cell(db, i, 0);
        const char *type = dx_postgres_cell(db, i, 1);

        if (name == NULL || type == NULL || strcmp(name, c->name) != 0)
            continue;
        if (strcmp(type, c->type) == 0)
            return DX_OK;
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "table \"%s\": it is there, but its column %s is %s, not %s", table, c->name,
                       type, c->type);
    }
    return dx_fail(err, DX_E_UNSUPPORTED, "table \"%s\": it is there, but has no column \"%s\"",
                   table, c->name);
}

static int list_columns(struct dx_postgres *db, const char *quoted, struct dx_error *err)
{
    return dx_postgres_ask(db,
                           "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                           "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
                           &quoted, 1, err);
}

/* 1 there is one and it is fit, 0 there is none. */
static int fit_table(struct dx_postgres *db, const struct dx_postgres_ddl *d, const char *quoted,
                     struct dx_error *err)
{
    const char *by;
    int rc = dx_postgres_ask(
        db,
        "SELECT pg_get_partkeydef(oid), relispartition FROM pg_class WHERE oid = to_regclass($1)",
        &quoted, 1, err);

    if (rc < 0 || dx_postgres_rows(db) == 0)
        return rc;
    by = dx_postgres_cell(db, 0, 0);
    if (by == NULL || strcmp(by, "RANGE (domain64)") != 0)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "table \"%s\": it is there, but not partitioned by RANGE (domain64)",
                       d->table);
    by = dx_postgres_cell(db, 0, 1);
    if (by == NULL || by[0] != 'f')
        return dx_fail(err, DX_E_UNSUPPORTED, "table \"%s\": it is a partition of another table",
                       d->table);
    rc = list_columns(db, quoted, err);
    for (size_t i = 0; rc == DX_OK && i < COUNT(own); i++)
        rc = has_column(db, d->table, &own[i], err);
    for (size_t i = 0; rc == DX_OK && i < d->column_count; i++) {
        const struct column c = { d->column[i], "text" };

        rc = has_column(db, d->table, &c, err);
    }
    return rc < 0 ? rc : 1;
}

static int fit_datasets(struct dx_postgres *db, const struct dx_postgres_ddl *d, const char *quoted,
                        struct dx_error *err)
{
    char name[DX_POSTGRES_TABLE_MAX + 16];
    int rc = list_columns(db, quoted, err);

    if (rc < 0 || dx_postgres_rows(db) == 0)
        return rc;
    (void)snprintf(name, sizeof name, "%s_datasets", d->table);
    for (size_t i = 0; rc == DX_OK && i < COUNT(datasets); i++)
        rc = has_column(db, name, &datasets[i], err);
    return rc < 0 ? rc : 1;
}

/* ---- made ---- */

/* A record of rows that are not there, since the table was dropped or emptied, does not count. */
static int make_tables(struct dx_postgres *db, const struct dx_postgres_ddl *d,
                       struct dx_postgres_there there, struct dx_error *err)
{
    struct dx_buf sql = DX_BUF_INIT(SQL_ROOM);
    int rc;

    dx_buf_str(&sql, "BEGIN;\n");
    if (!there.table)
        dx_postgres_ddl_table(d, &sql);
    if (!there.datasets)
        dx_postgres_ddl_datasets(d, &sql);
    dx_buf_str(&sql, "DELETE FROM ");
    dx_postgres_quote(d->table, "_datasets", &sql);
    dx_buf_str(&sql, " WHERE NOT EXISTS (SELECT FROM ");
    dx_postgres_quote(d->table, "", &sql);
    dx_buf_str(&sql, ");\nCOMMIT;\n");
    rc = run(db, &sql, err);
    dx_buf_release(&sql);
    return rc;
}

/* Rows without a record, or numbers that mean something else. */
static int check_origin(struct dx_postgres *db, const struct dx_postgres_ddl *d,
                        const char *registry, struct dx_error *err)
{
    struct dx_buf sql = DX_BUF_INIT(SQL_ROOM);
    const char *cell;
    int rc;

    dx_buf_str(&sql, "SELECT EXISTS (SELECT FROM ");
    dx_postgres_quote(d->table, "_datasets", &sql);
    dx_buf_str(&sql, " WHERE registry <> $1), EXISTS (SELECT FROM ");
    dx_postgres_quote(d->table, "", &sql);
    dx_buf_str(&sql, ") AND NOT EXISTS (SELECT FROM ");
    dx_postgres_quote(d->table, "_datasets", &sql);
    dx_buf_str(&sql, ")");
    rc = ask(db, &sql, registry, &cell, err);
    dx_buf_release(&sql);
    if (rc < 0)
        return rc;
    if (cell == NULL || cell[0] == 't')
        return dx_fail(err, DX_E_CONFLICT,
                       "table \"%s\": it has numbers of another registry; take another --table",
                       d->table);
    cell = dx_postgres_cell(db, 0, 1);
    if (cell == NULL || cell[0] == 't')
        return dx_fail(err, DX_E_CONFLICT,
                       "table \"%s\": it has rows, but \"%s_datasets\" does not say of what; take "
                       "another --table, or empty it",
                       d->table, d->table);
    return DX_OK;
}

/* As make_tables would leave it: records of rows that are not there do not count. */
static int look_only(struct dx_postgres *db, const char *table, struct dx_postgres_there *there,
                     struct dx_error *err)
{
    struct dx_buf sql = DX_BUF_INIT(SQL_ROOM);
    const char *cell = NULL;
    int rc = DX_OK;

    if (there->table && there->datasets) {
        dx_buf_fmt(&sql, "SELECT EXISTS (SELECT FROM %s)", table);
        rc = ask(db, &sql, NULL, &cell, err);
    }
    there->datasets = there->datasets && cell != NULL && cell[0] == 't';
    dx_buf_release(&sql);
    return rc;
}

int dx_postgres_table_ready(struct dx_postgres *db, const struct dx_postgres_ddl *d,
                            const char *registry, bool dry_run, struct dx_postgres_there *there,
                            struct dx_error *err)
{
    struct dx_buf table = DX_BUF_INIT(SQL_ROOM);
    struct dx_buf names = DX_BUF_INIT(SQL_ROOM);
    int rc;

    *there = (struct dx_postgres_there){ false, false };
    dx_postgres_quote(d->table, "", &table);
    dx_buf_u8(&table, 0);
    dx_postgres_quote(d->table, "_datasets", &names);
    dx_buf_u8(&names, 0);
    rc = table.failed || names.failed ? dx_buf_fail(&table, err, "export: a name")
                                      : fit_table(db, d, (const char *)table.data, err);
    there->table = rc == 1;
    if (rc >= 0)
        rc = fit_datasets(db, d, (const char *)names.data, err);
    there->datasets = rc == 1;
    if (rc >= 0)
        rc = dry_run ? look_only(db, (const char *)table.data, there, err)
                     : make_tables(db, d, *there, err);
    if (rc == DX_OK && (!dry_run || there->datasets))
        rc = check_origin(db, d, registry, err);
    dx_buf_release(&table);
    dx_buf_release(&names);
    return rc;
}

/* ---- partitions ---- */

struct making {
    struct dx_postgres *db;
    const struct dx_postgres_ddl *d;
    const struct dx_domain64_registry *numbers;
    struct dx_buf sql;
    struct dx_buf name;
    bool dry_run;
    uint64_t made;
};

/* A table of that name that is not a partition of ours does not count: the server will say that it
 * is in the way. */
static int is_there(struct making *m, uint64_t number, enum dx_domain64_part part,
                    struct dx_error *err)
{
    struct dx_buf quoted = DX_BUF_INIT(SQL_ROOM);
    struct dx_buf parent = DX_BUF_INIT(SQL_ROOM);
    const char *values[2];
    const char *cell;
    int rc;

    dx_postgres_ddl_name(m->d, number, (int)part, "", &quoted);
    dx_buf_u8(&quoted, 0);
    dx_postgres_ddl_name(m->d, number, (int)part - 1, "", &parent);
    dx_buf_u8(&parent, 0);
    values[0] = (const char *)quoted.data;
    values[1] = (const char *)parent.data;
    rc = quoted.failed || parent.failed
             ? dx_buf_fail(&quoted, err, "export: a name")
             : dx_postgres_ask(m->db,
                               "SELECT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = "
                               "to_regclass($1) AND inhparent = to_regclass($2))",
                               values, 2, err);
    cell = rc == DX_OK ? dx_postgres_cell(m->db, 0, 0) : NULL;
    dx_buf_release(&quoted);
    dx_buf_release(&parent);
    return rc < 0 ? rc : cell != NULL && cell[0] == 't';
}

static int make_partition(struct making *m, uint64_t number, enum dx_domain64_part part, bool split,
                          struct dx_error *err)
{
    int rc;

    if (m->dry_run) {
        m->made++;
        return DX_OK;
    }
    dx_buf_clear(&m->sql);
    rc = dx_postgres_ddl_partition(m->d, m->numbers, number, part, split, &m->sql, err);
    if (rc == DX_OK)
        rc = run(m->db, &m->sql, err);
    dx_buf_clear(&m->sql);
    m->made += rc == DX_OK;
    return rc;
}

static int ready_tlds(struct making *m, struct dx_error *err)
{
    int rc = DX_OK;

    for (uint64_t tld = 1; tld <= dx_domain64_most(m->d->layout, DX_PART_TLD); tld++) {
        dx_buf_clear(&m->name);
        rc = dx_domain64_registry_name(m->numbers, tld << 56, &m->name, err);
        if (rc < 1)
            return rc; /* they are given in order, without gaps */
        rc = is_there(m, tld << 56, DX_PART_TLD, err);
        if (rc == 0)
            rc = make_partition(m, tld << 56, DX_PART_TLD, true, err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

/* Whether domains of the TLD may be parted: it has a partition for its rest, and that is empty. */
static int may_part(struct making *m, uint64_t number, struct dx_error *err)
{
    struct dx_buf rest = DX_BUF_INIT(SQL_ROOM);
    const char *cell = NULL;
    int rc = m->dry_run ? is_there(m, number, DX_PART_TLD, err) : 1;

    if (rc < 1)
        return rc < 0 ? rc : 1; /* it would be made now, with an empty rest */
    dx_postgres_ddl_name(m->d, number, DX_PART_TLD, "_rest", &rest);
    dx_buf_clear(&m->sql);
    dx_buf_str(&m->sql, "SELECT to_regclass($1)");
    dx_buf_u8(&rest, 0);
    rc = rest.failed ? dx_buf_fail(&rest, err, "export: a name")
                     : ask(m->db, &m->sql, (const char *)rest.data, &cell, err);
    if (rc == DX_OK && cell != NULL) {
        dx_buf_clear(&m->sql);
        dx_buf_fmt(&m->sql, "SELECT NOT EXISTS (SELECT FROM %s)", (const char *)rest.data);
        rc = ask(m->db, &m->sql, NULL, &cell, err);
    }
    dx_buf_release(&rest);
    return rc < 0 ? rc : cell != NULL && cell[0] == 't';
}

static int ready_domains(struct making *m, const struct dx_postgres_domains *domains,
                         struct dx_error *err)
{
    uint64_t tld = 0;
    int empty = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc >= 0 && i < domains->count; i++) {
        uint64_t number = domains->at[i].number;

        assert(number >> 56 >= tld); /* they ascend: a TLD is asked about once */
        if (number >> 56 != tld) {
            tld = number >> 56;
            empty = may_part(m, number, err);
            rc = empty < 0 ? empty : rc;
        }
        if (empty == 1)
            rc = is_there(m, number, DX_PART_DOMAIN, err);
        if (empty == 1 && rc == 0)
            rc = make_partition(m, number, DX_PART_DOMAIN, false, err);
    }
    return rc < 0 ? rc : DX_OK;
}

int dx_postgres_table_partitions(struct dx_postgres *db, const struct dx_postgres_ddl *d,
                                 const struct dx_domain64_registry *numbers,
                                 const struct dx_postgres_domains *domains, bool dry_run,
                                 uint64_t *made, struct dx_error *err)
{
    struct making m = { .db = db,
                        .d = d,
                        .numbers = numbers,
                        .dry_run = dry_run,
                        .sql = DX_BUF_INIT(SQL_ROOM),
                        .name = DX_BUF_INIT(SQL_ROOM) };
    int rc = ready_tlds(&m, err);

    if (rc == DX_OK)
        rc = ready_domains(&m, domains, err);
    *made = m.made;
    dx_buf_release(&m.sql);
    dx_buf_release(&m.name);
    return rc;
}
