/* SPDX-License-Identifier: Apache-2.0 */
#include "format/manifest.h"

#include "base/array.h"
#include "base/civil_time.h"
#include "base/json_out.h"
#include "format/files_tsv.h"

#include <jansson.h>

#include <inttypes.h>
#include <stdlib.h>

#define FORMAT_NAME "domaindex-manifest"
#define ROOT_MEMBERS 6
#define CHECKSUM_KEY "\"checksum\""
#define SHARDS 1024
#define VERSION_NUMBERS 7 /* canon_version, domains, datasets, pairs, rows, urls, lake_files */
#define VERSION_MOTION 6  /* since format version 2: state, condemned ... file_ids */

/* Members that name files, and the files: fixed, so a path is either this one or refused. */
static const struct {
    const char *member;
    const char *file;
} paths[] = {
    { "domains_txt", DX_FILE_DOMAINS_TXT },
    { "domains_mphf", DX_FILE_DOMAINS_MPHF },
    { "domains_dict", DX_FILE_DOMAINS_DICT },
    { "d2d_roar", DX_FILE_MEMBERSHIP },
    { "domain_counts", DX_FILE_COUNTS },
    { "postings_idx", "postings/{shard}/postings.idx.zst" },
    { "postings_dat", "postings/{shard}/postings.dat.zst" },
    { "postings_dir", DX_FILE_POSTINGS_DIR },
    { "files_tsv", DX_FILE_FILES_TSV },
    { "pages", DX_FILE_PAGES },
    { "datasets_json", DX_FILE_DATASETS },
    { "psl", DX_FILE_PSL },
};

#define PATH_COUNT (sizeof paths / sizeof paths[0])

/* Since format version 3; a version has these members and files, or is older and has none. */
static const struct {
    const char *member;
    const char *file;
} later[] = {
    { "dataset_domains", DX_FILE_DATASET_DOMAINS },
    { "cold_dir", DX_FILE_COLD },
    { "facts", DX_FILE_FACTS },
    { "sketches", DX_FILE_SKETCHES },
    { "url_ids", DX_FILE_URL_IDS },
};

#define LATER_COUNT (sizeof later / sizeof later[0])
#define FIXED_FILES 10
/* version, sequence, published, build_id, psl_hash, parquet_root, files */
#define VERSION_MEMBERS_1 (7 + VERSION_NUMBERS + PATH_COUNT)
#define VERSION_MEMBERS (VERSION_MEMBERS_1 + VERSION_MOTION)

static const char *const state_names[] = {
    [DX_VERSION_LISTED] = "listed",
    [DX_VERSION_CONDEMNED] = "condemned",
    [DX_VERSION_DROPPED] = "dropped",
};

static const char *const fixed_files[FIXED_FILES] = {
    DX_FILE_DATASETS,     DX_FILE_COUNTS,      DX_FILE_MEMBERSHIP, DX_FILE_DOMAINS_DICT,
    DX_FILE_DOMAINS_MPHF, DX_FILE_DOMAINS_TXT, DX_FILE_FILES_TSV,  DX_FILE_PAGES,
    DX_FILE_POSTINGS_DIR, DX_FILE_PSL,
};

/* ---- names ---- */

bool dx_version_name_ok(struct dx_span name, uint32_t *sequence)
{
    static const char form[] = "dddddd-ddddddddTddddddZ";
    char time[] = "0000-00-00T00:00:00Z";
    static const uint8_t from[] = { 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21 };
    static const uint8_t to[] = { 0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18 };
    uint32_t number = 0;
    int64_t us;

    if (name.size != sizeof form - 1)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i];

        if (form[i] == 'd' ? c < '0' || c > '9' : c != (uint8_t)form[i])
            return false;
    }
    for (size_t i = 0; i < 6; i++)
        number = number * 10 + (uint32_t)(name.data[i] - '0');
    for (size_t i = 0; i < sizeof from; i++)
        time[to[i]] = (char)name.data[from[i]];
    if (number == 0 || !dx_civil_parse(dx_span_str(time), &us))
        return false;
    if (sequence != NULL)
        *sequence = number;
    return true;
}

bool dx_version_name_make(uint64_t sequence, int64_t published_us, char out[DX_VERSION_NAME])
{
    char time[DX_CIVIL_TEXT];
    size_t at = 6;

    if (sequence == 0 || sequence > DX_VERSION_SEQUENCE_MAX || published_us % 1000000 != 0)
        return false;
    if (dx_civil_text_us(published_us, time) != 20)
        return false;
    for (size_t i = 6; i-- > 0; sequence /= 10)
        out[i] = (char)('0' + sequence % 10);
    out[at++] = '-';
    for (size_t i = 0; i < 20; i++)
        if (time[i] != '-' && time[i] != ':')
            out[at++] = time[i];
    out[at] = '\0';
    return dx_version_name_ok(dx_span_of(out, at), NULL);
}

static bool shard_file(const char *name)
{
    static const char form[] = "postings/hhh/postings.";
    size_t n = sizeof form - 1;

    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        bool ok = form[i] == 'h' && i < 12 && i >= 9
                      ? (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')
                      : c == form[i];

        if (!ok)
            return false;
    }
    return name[9] <= '3' && (strcmp(name + n, "idx.zst") == 0 || strcmp(name + n, "dat.zst") == 0);
}

static bool file_name_ok(const char *name)
{
    for (size_t i = 0; i < FIXED_FILES; i++)
        if (strcmp(name, fixed_files[i]) == 0)
            return true;
    for (size_t i = 0; i < LATER_COUNT; i++)
        if (strcmp(name, later[i].file) == 0)
            return true;
    return strcmp(name, DX_FILE_ETAGS) == 0 || strcmp(name, DX_FILE_TAGS) == 0 || shard_file(name);
}

static bool parquet_root_ok(const char *root)
{
    size_t n = strlen(root);

    return n >= 2 && n <= DX_PARQUET_ROOT_MAX && root[n - 1] == '/' &&
           dx_lake_path_ok(dx_span_of(root, n - 1));
}

/* ---- lists ---- */

void dx_manifest_release(struct dx_manifest *m)
{
    for (size_t i = 0; i < m->version_count; i++)
        free(m->versions[i].files);
    free(m->versions);
    *m = (struct dx_manifest)DX_MANIFEST_INIT;
}

const struct dx_manifest_version *dx_manifest_find(const struct dx_manifest *m, const char *version)
{
    for (size_t i = 0; i < m->version_count; i++)
        if (strcmp(m->versions[i].version, version) == 0)
            return &m->versions[i];
    return NULL;
}

const struct dx_manifest_version *dx_manifest_current(const struct dx_manifest *m)
{
    return dx_manifest_find(m, m->current);
}

/* Where the name stands, or where it belongs. */
static bool find_file(const struct dx_manifest_version *v, const char *name, size_t *at)
{
    size_t lo = 0;
    size_t hi = v->file_count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(v->files[mid].name, name);

        if (c == 0) {
            *at = mid;
            return true;
        }
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *at = lo;
    return false;
}

const struct dx_manifest_file *dx_manifest_file(const struct dx_manifest_version *v,
                                                const char *name)
{
    size_t at;

    return find_file(v, name, &at) ? &v->files[at] : NULL;
}

bool dx_manifest_aggregates(const struct dx_manifest_version *v)
{
    return dx_manifest_file(v, later[0].file) != NULL;
}

/* Adding in order of the names (as parse does) costs no moves. */
int dx_manifest_file_refer(struct dx_manifest_version *v, const char *name, uint64_t size,
                           const struct dx_hash128 *hash, const char *in, struct dx_error *err)
{
    struct dx_manifest_file *files;
    uint32_t sequence = 0;
    size_t at;

    if (in[0] != '\0' && (!shard_file(name) || !dx_version_name_ok(dx_span_str(in), &sequence) ||
                          sequence >= v->sequence))
        return dx_fail(err, DX_E_INVALID, "manifest: file '%.60s' cannot be that of '%.60s'", name,
                       in);
    if (!file_name_ok(name) || size > INT64_MAX)
        return dx_fail(err, DX_E_INVALID, "manifest: '%.60s' is no file of a version", name);
    if (find_file(v, name, &at))
        return dx_fail(err, DX_E_INVALID, "manifest: file '%s' is listed twice", name);
    files = dx_array_room(v->files, v->file_count, &v->file_capacity, sizeof *files);
    if (files == NULL)
        return dx_fail(err, DX_E_NOMEM, "out of memory for a manifest");
    v->files = files;
    memmove(v->files + at + 1, v->files + at, (v->file_count - at) * sizeof *v->files);
    v->files[at] = (struct dx_manifest_file){ .size = size, .hash = *hash };
    memcpy(v->files[at].name, name, strlen(name));
    memcpy(v->files[at].in, in, strlen(in));
    v->file_count++;
    return DX_OK;
}

int dx_manifest_file_add(struct dx_manifest_version *v, const char *name, uint64_t size,
                         const struct dx_hash128 *hash, struct dx_error *err)
{
    return dx_manifest_file_refer(v, name, size, hash, "", err);
}

void dx_manifest_file_path(const struct dx_manifest_version *v, const struct dx_manifest_file *f,
                           char out[DX_MANIFEST_FILE_PATH])
{
    (void)snprintf(out, DX_MANIFEST_FILE_PATH, "index/%s/%s", f->in[0] == '\0' ? v->version : f->in,
                   f->name);
}

int dx_manifest_add(struct dx_manifest *m, const char *version, struct dx_manifest_version **out,
                    struct dx_error *err)
{
    struct dx_manifest_version *v;
    uint32_t sequence;

    if (!dx_version_name_ok(dx_span_str(version), &sequence))
        return dx_fail(err, DX_E_INVALID, "manifest: '%.60s' is no name of a version", version);
    if (m->version_count > 0 && m->versions[m->version_count - 1].sequence >= sequence)
        return dx_fail(err, DX_E_INVALID, "manifest: version %s does not come behind %s", version,
                       m->versions[m->version_count - 1].version);
    v = dx_array_room(m->versions, m->version_count, &m->version_capacity, sizeof *v);
    if (v == NULL)
        return dx_fail(err, DX_E_NOMEM, "out of memory for a manifest");
    m->versions = v;
    v = &m->versions[m->version_count++];
    *v = (struct dx_manifest_version){ .sequence = sequence,
                                       .condemned_us = DX_MANIFEST_NEVER,
                                       .superseded_us = DX_MANIFEST_NEVER };
    memcpy(v->version, version, DX_VERSION_NAME);
    *out = v;
    return DX_OK;
}

int dx_manifest_remove(struct dx_manifest *m, const char *version, struct dx_error *err)
{
    const struct dx_manifest_version *v = dx_manifest_find(m, version);
    size_t at;

    if (v == NULL)
        return dx_fail(err, DX_E_NOT_FOUND, "manifest: version '%.60s' is not listed", version);
    if (strcmp(version, m->current) == 0)
        return dx_fail(err, DX_E_INVALID, "manifest: version %s is the current one", version);
    at = (size_t)(v - m->versions);
    free(m->versions[at].files);
    memmove(m->versions + at, m->versions + at + 1,
            (m->version_count - at - 1) * sizeof *m->versions);
    m->version_count--;
    return DX_OK;
}

int dx_manifest_version_copy(const struct dx_manifest_version *from,
                             struct dx_manifest_version *out, struct dx_error *err)
{
    struct dx_manifest_file *files = NULL;

    if (from->file_count > 0) {
        files = malloc(from->file_count * sizeof *files);
        if (files == NULL)
            return dx_fail(err, DX_E_NOMEM, "version %s: out of memory", from->version);
        memcpy(files, from->files, from->file_count * sizeof *files);
    }
    *out = *from;
    out->files = files;
    out->file_capacity = from->file_count;
    return DX_OK;
}

static struct dx_manifest_version *find_mutable(struct dx_manifest *m, const char *version)
{
    const struct dx_manifest_version *v = dx_manifest_find(m, version);

    return v == NULL ? NULL : &m->versions[v - m->versions];
}

int dx_manifest_flip(struct dx_manifest *m, const char *version, uint64_t sequence, int64_t now_us,
                     struct dx_error *err)
{
    struct dx_manifest_version *to = find_mutable(m, version);
    struct dx_manifest_version *from = find_mutable(m, m->current);

    if (to == NULL || to->state == DX_VERSION_DROPPED)
        return dx_fail(err, DX_E_NOT_FOUND, "version %.60s is %s", version,
                       to == NULL ? "not in the manifest" : "being removed");
    if (sequence <= m->sequence)
        return dx_fail(err, DX_E_INVALID, "sequence %" PRIu64 " does not come behind %" PRIu64,
                       sequence, m->sequence);
    if (from != NULL)
        from->superseded_us = now_us - now_us % 1000000;
    to->state = DX_VERSION_LISTED;
    to->condemned_us = DX_MANIFEST_NEVER;
    to->superseded_us = DX_MANIFEST_NEVER;
    memcpy(m->current, to->version, sizeof m->current);
    m->sequence = sequence;
    return DX_OK;
}

const char *dx_version_state_name(enum dx_version_state state)
{
    return (unsigned)state < sizeof state_names / sizeof state_names[0] ? state_names[state]
                                                                        : "unknown";
}

/* ---- what must hold of a whole manifest ---- */

static int check_files(const struct dx_manifest_version *v, struct dx_error *err)
{
    for (size_t i = 0; i < FIXED_FILES; i++)
        if (dx_manifest_file(v, fixed_files[i]) == NULL)
            return dx_fail(err, DX_E_CORRUPT, "version %s: file '%s' is not listed", v->version,
                           fixed_files[i]);
    for (size_t i = 1; i < LATER_COUNT; i++)
        if ((dx_manifest_file(v, later[0].file) == NULL) !=
            (dx_manifest_file(v, later[i].file) == NULL))
            return dx_fail(err, DX_E_CORRUPT, "version %s: '%s' and '%s': one is listed alone",
                           v->version, later[0].file, later[i].file);
    for (size_t i = 0; i < v->file_count; i++) {
        char other[DX_MANIFEST_FILE_NAME];
        const char *name = v->files[i].name;

        if (!shard_file(name))
            continue;
        memcpy(other, name, sizeof other);
        memcpy(other + 22, name[22] == 'i' ? "dat" : "idx", 3);
        if (dx_manifest_file(v, other) == NULL)
            return dx_fail(err, DX_E_CORRUPT, "version %s: '%s' is listed without '%s'", v->version,
                           name, other);
    }
    return DX_OK;
}

static bool time_ok(int64_t us)
{
    char time[DX_CIVIL_TEXT];
    int64_t back;

    return us == DX_MANIFEST_NEVER ||
           (us % 1000000 == 0 &&
            dx_civil_parse(dx_span_of(time, dx_civil_text_us(us, time)), &back));
}

static int check_version(const struct dx_manifest_version *v, struct dx_error *err)
{
    char time[DX_CIVIL_TEXT];
    int64_t back;
    const uint64_t counts[] = { v->domains, v->datasets,   v->pairs,    v->rows,
                                v->urls,    v->lake_files, v->file_ids, v->cleansed };

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i] > INT64_MAX)
            return dx_fail(err, DX_E_CORRUPT, "version %s: a count is over 63 bits", v->version);
    if (v->published_us % 1000000 != 0 ||
        !dx_civil_parse(dx_span_of(time, dx_civil_text_us(v->published_us, time)), &back))
        return dx_fail(err, DX_E_CORRUPT,
                       "version %s: published is not a whole second of the years 0 to 9999",
                       v->version);
    if (!time_ok(v->condemned_us) || !time_ok(v->superseded_us))
        return dx_fail(err, DX_E_CORRUPT, "version %s: a time is no whole second", v->version);
    if ((unsigned)v->state > DX_VERSION_DROPPED ||
        (v->condemned_us == DX_MANIFEST_NEVER) != (v->state == DX_VERSION_LISTED))
        return dx_fail(err, DX_E_CORRUPT, "version %s: state and 'condemned' contradict each other",
                       v->version);
    if (v->lake_files > v->file_ids)
        return dx_fail(err, DX_E_CORRUPT, "version %s: more lake files than numbers for them",
                       v->version);
    if (!parquet_root_ok(v->parquet_root))
        return dx_fail(err, DX_E_CORRUPT,
                       "version %s: parquet_root is not a plain relative path with '/' behind it",
                       v->version);
    return check_files(v, err);
}

static int check_manifest(const struct dx_manifest *m, struct dx_error *err)
{
    if (m->version_count == 0)
        return dx_fail(err, DX_E_CORRUPT, "no version is listed");
    if (m->sequence > INT64_MAX || m->sequence < m->versions[m->version_count - 1].sequence)
        return dx_fail(err, DX_E_CORRUPT, "sequence %" PRIu64 " is below that of version %s",
                       m->sequence, m->versions[m->version_count - 1].version);
    for (size_t i = 0; i < m->version_count; i++) {
        int rc = check_version(&m->versions[i], err);

        if (rc < 0)
            return rc;
    }
    if (dx_manifest_current(m) == NULL)
        return dx_fail(err, DX_E_CORRUPT, "current_version '%.60s' is not listed", m->current);
    if (dx_manifest_current(m)->state != DX_VERSION_LISTED)
        return dx_fail(err, DX_E_CORRUPT, "current_version %s is %s", m->current,
                       dx_version_state_name(dx_manifest_current(m)->state));
    return DX_OK;
}

/* ---- writing ---- */

static void write_hex(struct dx_buf *b, const char *member, const uint8_t bytes[16])
{
    struct dx_hash128 h;
    char text[DX_HASH128_TEXT];

    memcpy(h.bytes, bytes, sizeof h.bytes);
    dx_hash128_text(&h, text);
    dx_buf_fmt(b, "      \"%s\": \"%s\",\n", member, text);
}

static void write_files(struct dx_buf *b, const struct dx_manifest_version *v)
{
    dx_buf_str(b, "      \"files\": {");
    for (size_t i = 0; i < v->file_count; i++) {
        char text[DX_HASH128_TEXT];

        dx_hash128_text(&v->files[i].hash, text);
        dx_buf_fmt(b, "%s\n        \"%s\": {\"size\": %" PRIu64 ", \"hash\": \"%s\"",
                   i == 0 ? "" : ",", v->files[i].name, v->files[i].size, text);
        if (v->files[i].in[0] != '\0')
            dx_buf_fmt(b, ", \"in\": \"%s\"", v->files[i].in);
        dx_buf_str(b, "}");
    }
    dx_buf_str(b, "\n      }\n");
}

static void write_time(struct dx_buf *b, const char *member, int64_t us)
{
    char time[DX_CIVIL_TEXT];

    if (us == DX_MANIFEST_NEVER)
        dx_buf_fmt(b, "      \"%s\": null,\n", member);
    else
        dx_buf_fmt(b, "      \"%s\": \"%.*s\",\n", member, (int)dx_civil_text_us(us, time), time);
}

static void write_motion(struct dx_buf *b, const struct dx_manifest_version *v)
{
    dx_buf_fmt(b, "      \"state\": \"%s\",\n", dx_version_state_name(v->state));
    write_time(b, "condemned", v->condemned_us);
    write_time(b, "superseded", v->superseded_us);
    if (v->base[0] == '\0')
        dx_buf_str(b, "      \"base\": null,\n");
    else
        dx_buf_fmt(b, "      \"base\": \"%s\",\n", v->base);
    dx_buf_fmt(b, "      \"cleansed\": %" PRIu64 ",\n", v->cleansed);
    dx_buf_fmt(b, "      \"file_ids\": %" PRIu64 ",\n", v->file_ids);
}

static void write_version(struct dx_buf *b, const struct dx_manifest_version *v)
{
    dx_buf_str(b, "    {\n");
    dx_buf_fmt(b, "      \"version\": \"%s\",\n", v->version);
    dx_buf_fmt(b, "      \"sequence\": %" PRIu32 ",\n", v->sequence);
    write_time(b, "published", v->published_us);
    write_motion(b, v);
    write_hex(b, "build_id", v->build.bytes);
    dx_buf_fmt(b, "      \"canon_version\": %" PRIu32 ",\n", v->canon_version);
    dx_buf_fmt(b, "      \"domains\": %" PRIu64 ",\n", v->domains);
    dx_buf_fmt(b, "      \"datasets\": %" PRIu64 ",\n", v->datasets);
    dx_buf_fmt(b, "      \"pairs\": %" PRIu64 ",\n", v->pairs);
    dx_buf_fmt(b, "      \"rows\": %" PRIu64 ",\n", v->rows);
    dx_buf_fmt(b, "      \"urls\": %" PRIu64 ",\n", v->urls);
    dx_buf_fmt(b, "      \"lake_files\": %" PRIu64 ",\n", v->lake_files);
    for (size_t i = 0; i < PATH_COUNT; i++)
        dx_buf_fmt(b, "      \"%s\": \"index/%s/%s\",\n", paths[i].member, v->version,
                   paths[i].file);
    for (size_t i = 0; i < LATER_COUNT; i++)
        if (dx_manifest_file(v, later[i].file) != NULL)
            dx_buf_fmt(b, "      \"%s\": \"index/%s/%s\",\n", later[i].member, v->version,
                       later[i].file);
    write_hex(b, "psl_hash", v->psl_hash.bytes);
    dx_buf_fmt(b, "      \"parquet_root\": \"%s\",\n", v->parquet_root);
    write_files(b, v);
    dx_buf_str(b, "    }");
}

int dx_manifest_write(const struct dx_manifest *m, struct dx_buf *out, struct dx_error *err)
{
    size_t front = out->size;
    struct dx_hash128 sum;
    char text[DX_HASH128_TEXT];
    int rc = check_manifest(m, err);

    if (rc < 0)
        return rc;
    dx_buf_str(out, "{\n  \"format\": \"" FORMAT_NAME "\",\n");
    dx_buf_fmt(out, "  \"format_version\": %d,\n", DX_MANIFEST_FORMAT_VERSION);
    dx_buf_fmt(out, "  \"sequence\": %" PRIu64 ",\n", m->sequence);
    dx_buf_fmt(out, "  \"current_version\": \"%s\",\n", m->current);
    dx_buf_str(out, "  \"versions\": [\n");
    for (size_t i = 0; i < m->version_count; i++) {
        dx_buf_str(out, i == 0 ? "" : ",\n");
        write_version(out, &m->versions[i]);
    }
    dx_buf_str(out, "\n  ],\n  ");
    if (out->failed)
        return dx_buf_fail(out, err, "manifest");
    sum = dx_hash128_of(dx_span_of(out->data + front, out->size - front));
    dx_hash128_text(&sum, text);
    dx_buf_fmt(out, CHECKSUM_KEY ": \"%s\"\n}\n", text);
    if (out->failed)
        return dx_buf_fail(out, err, "manifest");
    if (out->size - front > DX_MANIFEST_MAX)
        return dx_fail(err, DX_E_LIMIT, "manifest of %zu bytes, at most %u are read",
                       out->size - front, DX_MANIFEST_MAX);
    return DX_OK;
}

/* ---- parsing ---- */

static const char *text_of(const json_t *o, const char *member)
{
    const char *s = json_string_value(json_object_get(o, member));

    return s == NULL ? "" : s; /* jansson refuses NUL in a string: nothing is cut */
}

static bool number_of(const json_t *o, const char *member, uint64_t max, uint64_t *out)
{
    const json_t *v = json_object_get(o, member);

    if (!json_is_integer(v) || json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) > max)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

static int read_number(const json_t *o, const char *member, uint64_t max, uint64_t *out,
                       struct dx_error *err)
{
    return number_of(o, member, max, out)
               ? DX_OK
               : dx_fail(err, DX_E_CORRUPT, "'%s' is not a number in 0..%" PRIu64, member, max);
}

static int read_hex(const json_t *o, const char *member, uint8_t to[16], struct dx_error *err)
{
    struct dx_hash128 h;

    if (!dx_hash128_parse(dx_span_str(text_of(o, member)), &h))
        return dx_fail(err, DX_E_CORRUPT, "'%s' is not 32 hex digits", member);
    memcpy(to, h.bytes, sizeof h.bytes);
    return DX_OK;
}

static int read_path(const json_t *o, const char *version, const char *member, const char *file,
                     struct dx_error *err)
{
    char want[128];

    (void)snprintf(want, sizeof want, "index/%s/%s", version, file);
    return strcmp(text_of(o, member), want) == 0
               ? DX_OK
               : dx_fail(err, DX_E_CORRUPT, "'%s' is '%.80s', expected '%s'", member,
                         text_of(o, member), want);
}

static int read_paths(const json_t *o, const char *version, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; i < PATH_COUNT && rc == DX_OK; i++)
        rc = read_path(o, version, paths[i].member, paths[i].file, err);
    for (size_t i = 0; i < LATER_COUNT && rc == DX_OK; i++)
        if (json_object_get(o, later[i].member) != NULL)
            rc = read_path(o, version, later[i].member, later[i].file, err);
    return rc;
}

/* How many of the later members a version has. */
static size_t later_members(const json_t *o)
{
    size_t n = 0;

    for (size_t i = 0; i < LATER_COUNT; i++)
        n += json_object_get(o, later[i].member) != NULL;
    return n;
}

/* A path is named if, and only if, the file is listed; that all are or none, check_files says. */
static int check_later(const json_t *o, const struct dx_manifest_version *v, struct dx_error *err)
{
    for (size_t i = 0; i < LATER_COUNT; i++)
        if ((json_object_get(o, later[i].member) != NULL) !=
            (dx_manifest_file(v, later[i].file) != NULL))
            return dx_fail(err, DX_E_CORRUPT, "'%s' and file '%s': one is there without the other",
                           later[i].member, later[i].file);
    return DX_OK;
}

static int read_file(const json_t *o, const char *name, struct dx_manifest_version *v,
                     struct dx_error *err)
{
    const char *in = text_of(o, "in");
    size_t members = json_object_get(o, "in") == NULL ? 2 : 3;
    struct dx_hash128 hash;
    uint64_t size;
    int rc;

    if (json_object_size(o) != members || (members == 3 && in[0] == '\0'))
        return dx_fail(err, DX_E_CORRUPT, "file '%.60s' has not size and hash", name);
    rc = read_number(o, "size", INT64_MAX, &size, err);
    if (rc >= 0)
        rc = read_hex(o, "hash", hash.bytes, err);
    if (rc < 0)
        return dx_fail_in(err, "file '%.60s'", name);
    if (!file_name_ok(name))
        return dx_fail(err, DX_E_CORRUPT, "'%.60s' is no file of a version", name);
    if (members == 3 && !dx_version_name_ok(dx_span_str(in), NULL))
        return dx_fail(err, DX_E_CORRUPT, "file '%.60s': 'in' is no name of a version", name);
    return dx_manifest_file_refer(v, name, size, &hash, in, err);
}

static int read_files(json_t *o, struct dx_manifest_version *v, struct dx_error *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(o) || json_object_size(o) > FIXED_FILES + LATER_COUNT + 1 + 2 * SHARDS)
        return dx_fail(err, DX_E_CORRUPT, "'files' is not an object of files");
    json_object_foreach(o, name, value)
    {
        int rc = read_file(value, name, v, err);

        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

static int read_counts(const json_t *o, struct dx_manifest_version *v, struct dx_error *err)
{
    uint64_t canon = 0;
    const struct {
        const char *member;
        uint64_t max;
        uint64_t *to;
    } numbers[VERSION_NUMBERS] = {
        { "canon_version", UINT32_MAX, &canon },
        { "domains", INT64_MAX, &v->domains },
        { "datasets", INT64_MAX, &v->datasets },
        { "pairs", INT64_MAX, &v->pairs },
        { "rows", INT64_MAX, &v->rows },
        { "urls", INT64_MAX, &v->urls },
        { "lake_files", INT64_MAX, &v->lake_files },
    };

    for (size_t i = 0; i < VERSION_NUMBERS; i++) {
        int rc = read_number(o, numbers[i].member, numbers[i].max, numbers[i].to, err);

        if (rc < 0)
            return rc;
    }
    v->canon_version = (uint32_t)canon;
    return DX_OK;
}

static int read_time(const json_t *o, const char *member, bool or_null, int64_t *us,
                     struct dx_error *err)
{
    struct dx_span text = dx_span_str(text_of(o, member));
    char again[DX_CIVIL_TEXT];

    *us = DX_MANIFEST_NEVER;
    if (or_null && json_is_null(json_object_get(o, member)))
        return DX_OK;
    if (!dx_civil_parse(text, us) ||
        !dx_span_equal(text, dx_span_of(again, dx_civil_text_us(*us, again))))
        return dx_fail(err, DX_E_CORRUPT, "'%s' is no time like 2026-11-21T10:30:00Z", member);
    return DX_OK;
}

static int read_state(const json_t *o, struct dx_manifest_version *v, struct dx_error *err)
{
    for (size_t i = 0; i < sizeof state_names / sizeof state_names[0]; i++)
        if (strcmp(text_of(o, "state"), state_names[i]) == 0) {
            v->state = (enum dx_version_state)i;
            return DX_OK;
        }
    return dx_fail(err, DX_E_CORRUPT, "'state' is not listed, condemned or dropped");
}

static int read_base(const json_t *o, struct dx_manifest_version *v, struct dx_error *err)
{
    const char *base = text_of(o, "base");
    uint32_t sequence = 0;

    if (json_is_null(json_object_get(o, "base")))
        return DX_OK;
    if (!dx_version_name_ok(dx_span_str(base), &sequence) || sequence >= v->sequence)
        return dx_fail(err, DX_E_CORRUPT, "'base' is no name of an older version");
    memcpy(v->base, base, DX_VERSION_NAME);
    return DX_OK;
}

/* What format version 1 does not have. */
static int read_motion(const json_t *o, struct dx_manifest_version *v, struct dx_error *err)
{
    int rc = read_state(o, v, err);

    if (rc >= 0)
        rc = read_time(o, "condemned", true, &v->condemned_us, err);
    if (rc >= 0)
        rc = read_time(o, "superseded", true, &v->superseded_us, err);
    if (rc >= 0)
        rc = read_base(o, v, err);
    if (rc >= 0)
        rc = read_number(o, "cleansed", INT64_MAX, &v->cleansed, err);
    return rc >= 0 ? read_number(o, "file_ids", INT64_MAX, &v->file_ids, err) : rc;
}

static int read_version(const json_t *o, uint64_t format, struct dx_manifest *m,
                        struct dx_error *err)
{
    bool motion = format > 1;
    size_t members = (motion ? VERSION_MEMBERS : VERSION_MEMBERS_1) +
                     (format > 2 ? later_members(o) : 0);
    struct dx_manifest_version *v = NULL;
    const char *root = text_of(o, "parquet_root");
    uint64_t sequence;
    int rc;

    if (!json_is_object(o) || json_object_size(o) != members)
        return dx_fail(err, DX_E_CORRUPT, "a version has %zu members, expected %zu",
                       json_object_size(o), members);
    rc = dx_manifest_add(m, text_of(o, "version"), &v, err);
    if (rc < 0)
        return rc;
    if (!number_of(o, "sequence", DX_VERSION_SEQUENCE_MAX, &sequence) || sequence != v->sequence)
        return dx_fail(err, DX_E_CORRUPT, "'sequence' is not that of the version's name");
    rc = read_time(o, "published", false, &v->published_us, err);
    if (rc >= 0)
        rc = read_hex(o, "build_id", v->build.bytes, err);
    if (rc >= 0)
        rc = read_hex(o, "psl_hash", v->psl_hash.bytes, err);
    if (rc >= 0)
        rc = read_counts(o, v, err);
    v->file_ids = v->lake_files;
    if (rc >= 0 && motion)
        rc = read_motion(o, v, err);
    if (rc >= 0)
        rc = read_paths(o, v->version, err);
    if (rc >= 0 && !parquet_root_ok(root))
        rc = dx_fail(err, DX_E_CORRUPT,
                     "'parquet_root' is not a plain relative path with '/' behind it");
    if (rc < 0)
        return rc;
    memcpy(v->parquet_root, root, strlen(root));
    rc = read_files(json_object_get(o, "files"), v, err);
    return rc < 0 ? rc : check_later(o, v, err);
}

static int read_root(const json_t *root, struct dx_manifest *m, struct dx_error *err)
{
    const json_t *list = json_object_get(root, "versions");
    const char *current = text_of(root, "current_version");
    uint64_t format_version;
    int rc;

    if (!json_is_object(root) || strcmp(text_of(root, "format"), FORMAT_NAME) != 0)
        return dx_fail(err, DX_E_UNSUPPORTED, "'format' is not '" FORMAT_NAME "'");
    rc = read_number(root, "format_version", INT64_MAX, &format_version, err);
    if (rc < 0)
        return rc;
    if (format_version < 1 || format_version > DX_MANIFEST_FORMAT_VERSION)
        return dx_fail(err, DX_E_UNSUPPORTED, "format_version is %" PRIu64 ", this reads 1 to %d",
                       format_version, DX_MANIFEST_FORMAT_VERSION);
    if (json_object_size(root) != ROOT_MEMBERS || !json_is_array(list))
        return dx_fail(err, DX_E_CORRUPT, "has other members than a manifest");
    rc = read_number(root, "sequence", INT64_MAX, &m->sequence, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < json_array_size(list); i++) {
        rc = read_version(json_array_get(list, i), format_version, m, err);
        if (rc < 0)
            return dx_fail_in(err, "version %zu of %zu", i, json_array_size(list));
    }
    if (!dx_version_name_ok(dx_span_str(current), NULL))
        return dx_fail(err, DX_E_CORRUPT, "'current_version' is no name of a version");
    memcpy(m->current, current, DX_VERSION_NAME);
    return check_manifest(m, err);
}

/* The tail is `"checksum": "<32 hex>"\n}\n` byte for byte, so no flipped bit hides in it. */
static int check_sum(struct dx_span text, struct dx_error *err)
{
    char want[sizeof CHECKSUM_KEY + DX_HASH128_TEXT + 8];
    struct dx_hash128 sum;
    char hex[DX_HASH128_TEXT];
    size_t tail = sizeof CHECKSUM_KEY - 1 + 4 + 32 + 3;
    size_t front;

    if (text.size < tail)
        return dx_fail(err, DX_E_TRUNCATED, "%zu bytes are no manifest", text.size);
    front = text.size - tail;
    if (memcmp(text.data + front, CHECKSUM_KEY, sizeof CHECKSUM_KEY - 1) != 0)
        return dx_fail(err, DX_E_TRUNCATED, "does not end in its checksum: cut or damaged");
    sum = dx_hash128_of(dx_span_of(text.data, front));
    dx_hash128_text(&sum, hex);
    (void)snprintf(want, sizeof want, CHECKSUM_KEY ": \"%s\"\n}\n", hex);
    if (memcmp(text.data + front, want, tail) != 0)
        return dx_fail(err, DX_E_CORRUPT, "checksum does not fit: damaged, or edited by hand");
    return DX_OK;
}

static int parse_text(struct dx_span text, struct dx_manifest *m, struct dx_error *err)
{
    json_error_t where;
    json_t *root;
    int rc;

    if (text.size > DX_MANIFEST_MAX)
        return dx_fail(err, DX_E_LIMIT, "%zu bytes, at most %u are read", text.size,
                       DX_MANIFEST_MAX);
    rc = check_sum(text, err);
    if (rc < 0)
        return rc;
    root = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL)
        return dx_fail(err, DX_E_CORRUPT, "line %d, column %d: %s", where.line, where.column,
                       where.text);
    rc = read_root(root, m, err);
    json_decref(root);
    return rc;
}

int dx_manifest_parse(struct dx_span text, const char *name, struct dx_manifest *m,
                      struct dx_error *err)
{
    struct dx_error local = DX_ERROR_INIT; /* so that there is a text to put the name before */
    int rc;

    *m = (struct dx_manifest)DX_MANIFEST_INIT;
    rc = parse_text(text, m, &local);
    if (rc >= 0)
        return rc;
    dx_manifest_release(m);
    (void)dx_fail_in(&local, "%s", name);
    if (err != NULL)
        *err = local;
    return rc;
}
