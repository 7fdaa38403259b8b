/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/postgres/postgres_export.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "builder/exchange/postgres/postgres.h"
#include "builder/exchange/postgres/postgres_domains.h"
#include "builder/exchange/postgres/postgres_table.h"
#include "builder/root/progress.h"
#include "builder/root/root.h"
#include "format/root/rules.h"
#include "loader/followed/suppressions_live.h"
#include "loader/version_parts.h"

#define SQL_ROOM ((size_t)1 << 20)

struct run {
    struct dx_postgres_export *e;
    struct dx_version *version;
    struct dx_domain64_registry *numbers;
    struct dx_postgres *db;
    struct dx_postgres_load load;
    struct dx_postgres_there there;
    struct dx_progress progress;
    struct dx_buf sql;
    uint64_t suppressed;  /* hash of the rules; 0: none */
    uint64_t rows_before; /* of the datasets that were loaded, for the progress */
    uint64_t bytes_before;
    uint64_t bytes_total;
    uint64_t bytes; /* of the dataset at hand */
    uint64_t rows;
};

/* A statement with the table's name where '%' stands, and that of its datasets for '#'. */
static const char *named(struct run *r, const char *sql)
{
    dx_buf_clear(&r->sql);
    for (; *sql != '\0'; sql++) {
        if (*sql != '%' && *sql != '#')
            dx_buf_u8(&r->sql, (uint8_t)*sql);
        else
            dx_postgres_quote(r->e->ddl.table, *sql == '#' ? "_datasets" : "", &r->sql);
    }
    dx_buf_u8(&r->sql, 0);
    return r->sql.failed ? "" : (const char *)r->sql.data;
}

/* ---- what a dataset is made of ---- */

struct made_of {
    char content[DX_HASH128_TEXT];
    uint64_t bytes; /* of its files */
};

static void add_number(struct dx_hash_state *st, uint64_t v)
{
    uint8_t bytes[8];

    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(v >> 8 * i);
    dx_hash_state_update(st, dx_span_of(bytes, sizeof bytes));
}

/* What is hidden follows from the rules, not from how many lines their log has. */
static int sum_rules(struct run *r, struct dx_error *err)
{
    const struct dx_rules *rules = dx_suppressions_live_pin(r->version->caches->suppressions);
    struct dx_hash_state *st = dx_hash_state_new();
    size_t count = rules == NULL ? 0 : rules->count;

    for (size_t i = 0; st != NULL && i < count; i++) {
        const struct dx_rule *rule = &rules->rules[i];
        const struct dx_span value[] = { rule->parts.scheme, rule->parts.host,
                                         rule->parts.path_query };

        add_number(st, rule->number);
        add_number(st, rule->kind);
        add_number(st, rule->policy);
        for (size_t k = 0; k < sizeof value / sizeof *value; k++) {
            add_number(st, value[k].size);
            dx_hash_state_update(st, value[k]);
        }
    }
    dx_suppressions_live_unpin(r->version->caches->suppressions, rules);
    if (st == NULL)
        return dx_no_memory(err, "export");
    if (count > 0) {
        const struct dx_hash128 hash = dx_hash_state_digest(st);

        r->suppressed = dx_load_u64(hash.bytes);
    }
    dx_hash_state_free(&st);
    return DX_OK;
}

static int look_at(const struct run *r, uint32_t dataset_id, struct made_of *of,
                   struct dx_error *err)
{
    struct dx_hash_state *st = dx_hash_state_new();
    struct dx_hash128 hash;
    const struct dx_part *part;
    struct dx_pages_file file;
    int rc = st == NULL ? dx_no_memory(err, "export") : DX_OK;

    of->bytes = 0;
    if (rc == DX_OK)
        add_number(st, r->suppressed);
    for (size_t i = 0; rc == DX_OK && i < r->e->ddl.column_count; i++) {
        struct dx_span name = dx_span_str(r->e->ddl.column[i]);

        add_number(st, name.size);
        dx_hash_state_update(st, name);
    }
    for (uint64_t i = 0; rc >= 0 && i < r->version->entry.file_ids; i++) {
        rc = dx_version_file(r->version, i, &part, &file, err);
        if (rc != 1 || file.dataset_id != dataset_id)
            continue;
        dx_hash_state_update(st, dx_span_of(file.hash.bytes, sizeof file.hash.bytes));
        of->bytes += file.size;
    }
    if (rc >= 0) {
        hash = dx_hash_state_digest(st);
        dx_hash128_text(&hash, of->content);
    }
    dx_hash_state_free(&st);
    return rc < 0 ? rc : DX_OK;
}

/* ---- a dataset ---- */

struct dataset {
    const struct dx_dataset *d;
    struct made_of of;
    char id[24];
    char fillings[24];
};

enum standing { ABSENT, OTHER, AS_BEFORE };

static int standing_of(struct run *r, const struct dataset *s, enum standing *standing,
                       struct dx_error *err)
{
    const char *values[] = { s->id, s->of.content, s->fillings };
    const char *cell;
    int rc;

    *standing = ABSENT;
    if (r->e->dry_run && !r->there.datasets)
        return DX_OK;
    rc = dx_postgres_ask(r->db,
                         named(r, "SELECT content = $2 AND (left_out = 0 OR fillings = $3), "
                                  "left_out > 0 FROM # WHERE dataset_id = $1"),
                         values, 3, err);

    if (rc < 0 || dx_postgres_rows(r->db) == 0)
        return rc;
    cell = dx_postgres_cell(r->db, 0, 0);
    *standing = cell != NULL && cell[0] == 't' ? AS_BEFORE : OTHER;
    cell = dx_postgres_cell(r->db, 0, 1);
    if (r->e->strict && cell != NULL && cell[0] == 't')
        *standing = OTHER; /* so that it is refused */
    return rc;
}

static int note_dataset(struct run *r, const struct dataset *s, struct dx_error *err)
{
    char rows[24];
    char left_out[24];
    const char *values[] = { s->id,       s->d->name,   dx_version_name(r->version),
                             rows,        left_out,     r->numbers->list.id,
                             s->fillings, s->of.content };

    assert(!r->e->dry_run);
    (void)snprintf(rows, sizeof rows, "%" PRIu64, r->load.n.rows);
    (void)snprintf(left_out, sizeof left_out, "%" PRIu64, dx_postgres_counts_left_out(&r->load.n));
    return dx_postgres_ask(
        r->db,
        named(r,
              "INSERT INTO # (dataset_id, name, version, row_count, left_out, registry, fillings, "
              "content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (dataset_id) DO "
              "UPDATE SET name = EXCLUDED.name, version = EXCLUDED.version, "
              "row_count = EXCLUDED.row_count, left_out = EXCLUDED.left_out, "
              "registry = EXCLUDED.registry, fillings = EXCLUDED.fillings, "
              "content = EXCLUDED.content, loaded = now()"),
        values, 8, err);
}

static int skip(struct run *r, const struct dataset *s, struct dx_error *err)
{
    const char *values[] = { s->id, s->d->name, dx_version_name(r->version) };

    assert(r->bytes_total >= s->of.bytes); /* each_dataset counted them */
    r->e->done.as_before++;
    r->bytes_total -= s->of.bytes;
    dx_progress_total(&r->progress, r->bytes_total, false);
    if (r->e->dry_run)
        return DX_OK;
    return dx_postgres_ask(r->db,
                           named(r, "UPDATE # SET name = $2, version = $3 WHERE dataset_id = $1"),
                           values, 3, err);
}

/* Two that load one table see what the other has committed, also where the lock of the table does
 * not hold. */
static int begin(struct run *r, const struct dataset *s, enum standing *standing,
                 struct dx_error *err)
{
    int rc = dx_postgres_run(r->db, "BEGIN", err);

    if (rc == DX_OK)
        rc = dx_postgres_run(r->db, named(r, "LOCK TABLE # IN SHARE ROW EXCLUSIVE MODE"), err);
    return rc == DX_OK ? standing_of(r, s, standing, err) : rc;
}

static int load_dataset(struct run *r, const struct dataset *s, struct dx_error *err)
{
    enum standing standing = ABSENT;
    const char *id = s->id;
    int rc = r->e->dry_run ? DX_OK : begin(r, s, &standing, err);

    if (rc == DX_OK && standing == AS_BEFORE) {
        rc = skip(r, s, err);
        return rc == DX_OK ? dx_postgres_run(r->db, "COMMIT", err) : rc;
    }
    if (rc == DX_OK && standing == OTHER)
        rc = dx_postgres_ask(r->db, named(r, "DELETE FROM % WHERE dataset_id = $1"), &id, 1, err);
    r->bytes = s->of.bytes;
    r->rows = s->d->rows;
    if (rc == DX_OK)
        rc = dx_postgres_load_rows(&r->load, s->d->dataset_id, err);
    if (rc == DX_OK && !r->e->dry_run)
        rc = note_dataset(r, s, err);
    if (rc == DX_OK && !r->e->dry_run)
        rc = dx_postgres_run(r->db, "COMMIT", err);
    if (rc < 0)
        return rc;
    r->e->done.loaded++;
    dx_postgres_counts_add(&r->e->done.n, &r->load.n);
    r->bytes_before += r->bytes;
    r->rows_before += r->load.seen;
    return DX_OK;
}

static int one_dataset(struct run *r, const struct dx_dataset *d, struct dx_error *err)
{
    struct dataset s = { .d = d };
    enum standing standing = ABSENT;
    int rc = look_at(r, d->dataset_id, &s.of, err);

    (void)snprintf(s.id, sizeof s.id, "%" PRIu32, d->dataset_id);
    (void)snprintf(s.fillings, sizeof s.fillings, "%" PRIu32,
                   dx_domain64_manifest_last(&r->numbers->list));
    if (rc == DX_OK)
        rc = standing_of(r, &s, &standing, err);
    if (rc == DX_OK)
        rc = standing == AS_BEFORE ? skip(r, &s, err) : load_dataset(r, &s, err);
    return rc < 0 ? dx_fail_in(err, "dataset %" PRIu32 " (%.60s)", d->dataset_id, d->name) : DX_OK;
}

/* ---- datasets that went ---- */

static int remove_one(struct run *r, const char *id, struct dx_error *err)
{
    int rc;

    if (r->e->dry_run) {
        r->e->done.removed++;
        return DX_OK;
    }
    rc = dx_postgres_run(r->db, "BEGIN", err);
    if (rc == DX_OK)
        rc = dx_postgres_ask(r->db, named(r, "DELETE FROM % WHERE dataset_id = $1"), &id, 1, err);
    if (rc == DX_OK)
        rc = dx_postgres_ask(r->db, named(r, "DELETE FROM # WHERE dataset_id = $1"), &id, 1, err);
    if (rc == DX_OK)
        rc = dx_postgres_run(r->db, "COMMIT", err);
    r->e->done.removed += rc == DX_OK;
    return rc;
}

/* An answer lives until the next statement, so one is asked for at a time. */
static int remove_gone(struct run *r, struct dx_error *err)
{
    char last[24] = "0";
    char id[24];
    int rc;

    for (;;) {
        const char *value = last;
        const char *cell;

        rc = dx_postgres_ask(r->db,
                             named(r, "SELECT dataset_id FROM # WHERE dataset_id > $1 "
                                      "ORDER BY dataset_id LIMIT 1"),
                             &value, 1, err);
        cell = rc == DX_OK ? dx_postgres_cell(r->db, 0, 0) : NULL;
        if (cell == NULL)
            return rc;
        (void)snprintf(last, sizeof last, "%s", cell);
        (void)snprintf(id, sizeof id, "%s", cell);
        if (dx_registry_by_id(&r->version->registry, (uint32_t)strtoul(id, NULL, 10)) == NULL)
            rc = remove_one(r, id, err);
        if (rc < 0)
            return rc;
    }
}

/* ---- all of it ---- */

/* Rows say how far the dataset is, files how large it is beside the others. */
static void report_rows(void *ctx, uint64_t rows)
{
    struct run *r = ctx;
    double share = r->rows == 0 || rows >= r->rows ? 1 : (double)rows / (double)r->rows;

    dx_progress_at(&r->progress, r->bytes_before + (uint64_t)(share * (double)r->bytes),
                   r->rows_before + rows);
}

static int open_numbers(struct run *r, struct dx_error *err)
{
    struct dx_root remote = DX_ROOT_INIT;
    int rc = dx_root_open(&remote, r->e->root, DX_ROOT_READ, err);

    if (rc == DX_OK)
        rc = dx_domain64_registry_open(&r->numbers, r->e->root, remote.source, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_NOT_FOUND,
                     "%s: it has no domain64 registry; 'domaindex domain64 init' makes one, and "
                     "'fill' gives the numbers",
                     r->e->root);
    dx_root_close(&remote);
    return rc == 1 ? DX_OK : rc;
}

static int ready_table(struct run *r, struct dx_error *err)
{
    struct dx_postgres_domains domains = { .version = r->version,
                                           .numbers = r->numbers,
                                           .dataset_id = r->e->dataset_id,
                                           .rows_min = r->e->partition_rows,
                                           .stopped = r->e->stopped };
    int rc = r->e->dry_run ? dx_postgres_run(r->db, "SET default_transaction_read_only = on", err)
                           : dx_postgres_table_lock(r->db, &r->e->ddl, r->e->stopped, err);

    if (rc == DX_OK)
        rc = dx_postgres_table_ready(r->db, &r->e->ddl, r->numbers->list.id, r->e->dry_run,
                                     &r->there, err);
    if (rc >= 0)
        rc = dx_postgres_domains_find(&domains, err);
    if (rc == DX_OK)
        rc = dx_postgres_table_partitions(r->db, &r->e->ddl, r->numbers, &domains, r->e->dry_run,
                                          &r->e->done.partitions, err);
    r->e->done.domains = domains.found;
    dx_postgres_domains_release(&domains);
    return rc;
}

static int each_dataset(struct run *r, struct dx_error *err)
{
    const struct dx_registry *registry = &r->version->registry;
    const struct dx_part *part;
    struct dx_pages_file file;
    int rc = DX_OK;

    for (uint64_t i = 0; rc >= 0 && i < r->version->entry.file_ids; i++) {
        rc = dx_version_file(r->version, i, &part, &file, err);
        if (rc == 1 && (r->e->dataset_id == 0 || r->e->dataset_id == file.dataset_id))
            r->bytes_total += file.size;
    }
    dx_progress_phase(&r->progress, "loading", "rows", r->bytes_total);
    for (size_t i = 0; rc >= 0 && i < registry->count; i++)
        if (registry->datasets[i].kind == DX_DATASET_URLS &&
            (r->e->dataset_id == 0 || r->e->dataset_id == registry->datasets[i].dataset_id))
            rc = one_dataset(r, &registry->datasets[i], err);
    if (rc >= 0 && r->e->dataset_id == 0 && (!r->e->dry_run || r->there.datasets))
        rc = remove_gone(r, err);
    if (rc >= 0 && !r->e->dry_run && r->e->done.loaded + r->e->done.removed > 0) {
        dx_progress_phase(&r->progress, "analyzing", "rows", 0);
        rc = dx_postgres_run(r->db, named(r, "ANALYZE %"), err);
    }
    dx_progress_end(&r->progress);
    return rc < 0 ? rc : DX_OK;
}

int dx_postgres_export_run(struct dx_postgres_export *e, struct dx_error *err)
{
    struct run r = { .e = e, .version = e->opened->version, .sql = DX_BUF_INIT(SQL_ROOM) };
    int rc = open_numbers(&r, err);

    dx_progress_init(&r.progress, e->quiet ? -1 : STDERR_FILENO);
    if (rc == DX_OK) {
        e->ddl.layout = r.numbers->layout;
        rc = dx_postgres_open(&r.db, e->dsn, e->stopped, err);
    }
    if (rc == DX_OK) {
        (void)snprintf(e->done.where, sizeof e->done.where, "%s", dx_postgres_shown(r.db));
        rc = ready_table(&r, err);
    }
    r.load = (struct dx_postgres_load){ .db = r.db,
                                        .ddl = &e->ddl,
                                        .version = r.version,
                                        .numbers = r.numbers,
                                        .tmp = e->tmp,
                                        .strict = e->strict,
                                        .dry_run = e->dry_run,
                                        .stopped = e->stopped,
                                        .progress = report_rows,
                                        .ctx = &r };
    if (rc == DX_OK)
        rc = sum_rules(&r, err);
    if (rc == DX_OK)
        rc = each_dataset(&r, err);
    dx_postgres_load_release(&r.load);
    dx_postgres_close(&r.db);
    dx_domain64_registry_close(&r.numbers);
    dx_buf_release(&r.sql);
    return rc;
}

void dx_postgres_export_summary(const struct dx_postgres_export *e, FILE *out)
{
    const struct dx_postgres_counts *n = &e->done.n;
    const struct {
        const char *what;
        uint64_t count;
        bool always;
    } lines[] = { { "partitions made", e->done.partitions, true },
                  { "datasets loaded", e->done.loaded, true },
                  { "datasets as before", e->done.as_before, true },
                  { "datasets removed", e->done.removed, true },
                  { "rows loaded", n->rows, true },
                  { "left out: suppressed", n->hidden, true },
                  { "left out: TLD unknown", n->unnumbered[DX_PART_TLD], true },
                  { "left out: domain unknown", n->unnumbered[DX_PART_DOMAIN], true },
                  { "left out: subdomain unknown", n->unnumbered[DX_PART_SUBDOMAIN], true },
                  { "left out: path unknown", n->unnumbered[DX_PART_PATH], true },
                  { "left out: no TLD", n->one_label, false },
                  { "left out: URL no text", n->not_text, false },
                  { "texts mended", n->mended, false },
                  { "times out of range", n->times, false } };

    (void)fprintf(out, "table \"%s\": %s%s\n", e->ddl.table, e->done.where,
                  e->dry_run ? "; dry run: nothing is written, these would be" : "");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i].always || lines[i].count > 0)
            (void)fprintf(out, "  %-28s %14" PRIu64 "\n", lines[i].what, lines[i].count);
    if (e->done.domains > DX_POSTGRES_DOMAINS_MAX)
        (void)fprintf(out,
                      "%" PRIu64 " domains have %" PRIu64
                      " rows or more; the largest %d got a partition\n",
                      e->done.domains, e->partition_rows, DX_POSTGRES_DOMAINS_MAX);
}
