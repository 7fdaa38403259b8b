/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/manifest.h"

#include "base/array.h"
#include "base/civil_time.h"
#include "base/json_in.h"
#include "base/search.h"
#include "format/version/files_tsv.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define FORMAT_NAME "domaindex-index"
#define DRAFT_NAME "domaindex-manifest" /* of the layouts before release 1.0, which ended at 3 */
#define FORMAT_WITH_TEXTS 1             /* each version has DX_FILE_DOMAINS_TXT */
#define DRAFT_SHARDS "/{shard}/"        /* in paths of such layouts, some of which have our name */
#define DRAFT_ADVICE                                                                           \
    "ingest the data into a new root: 'domaindex ingest --root NEW', then 'domaindex publish " \
    "--root NEW'"
#define ROOT_MEMBERS 6
#define LINES_MEMBER "suppressions" /* only of a root that has had some */
#define HASH_MEMBER "suppressions_hash"
#define ACCESS_MEMBER "access" /* only of a root whose access table is in force */
#define CHECKSUM_KEY "\"checksum\""
#define VERSION_NUMBERS 7 /* canon_version, domains, datasets, pairs, rows, urls, lake_files */
#define VERSION_STATES 6  /* state, condemned, superseded, base, cleansed, file_ids */

/* Members that name files, and the files: fixed, so a path is either this one or refused. */
static const struct {
    const char *member;
    const char *file;
} paths[] = {
    { "domains_mphf", DX_FILE_DOMAINS_MPHF },
    { "domains_dict", DX_FILE_DOMAINS_DICT },
    { "d2d_roar", DX_FILE_MEMBERSHIP },
    { "domain_counts", DX_FILE_COUNTS },
    { "postings_idx", DX_FILE_POSTINGS_IDX },
    { "postings_dat", DX_FILE_POSTINGS_DAT },
    { "postings_dir", DX_FILE_POSTINGS_DIR },
    { "files_tsv", DX_FILE_FILES_TSV },
    { "pages", DX_FILE_PAGES },
    { "datasets_json", DX_FILE_DATASETS },
    { "psl", DX_FILE_PSL },
    { "dataset_domains", DX_FILE_DATASET_DOMAINS },
    { "cold_dir", DX_FILE_COLD },
    { "facts", DX_FILE_FACTS },
    { "sketches", DX_FILE_SKETCHES },
    { "url_ids", DX_FILE_URL_IDS },
};

#define PATH_COUNT (sizeof paths / sizeof paths[0])

static const struct {
    const char *member;
    size_t at; /* in struct dx_manifest_part */
} part_numbers[] = {
    { "part_domains", offsetof(struct dx_manifest_part, domains) },
    { "part_pairs", offsetof(struct dx_manifest_part, pairs) },
    { "part_rows", offsetof(struct dx_manifest_part, rows) },
    { "part_urls", offsetof(struct dx_manifest_part, urls) },
    { "first_file", offsetof(struct dx_manifest_part, first_file) },
};

#define PART_NUMBERS (sizeof part_numbers / sizeof part_numbers[0])

static uint64_t *part_number(const struct dx_manifest_part *part, size_t i)
{
    return (uint64_t *)(uintptr_t)((const uint8_t *)part + part_numbers[i].at);
}

#define GONE_MEMBER "gone_files"        /* only of a version with parts, where files left */
#define MISSING_MEMBER "missing_files"  /* only of a version that lists that file */
#define PAGES_MEMBER "page_count"       /* only of a version with datasets of counts */
#define LEFT_OUT_MEMBER "rows_left_out" /* only of a version that leaves rows out */
#define PARTS_MEMBER "parts"            /* only of a version of several, as part_numbers */
#define PACK_MEMBER "pack"              /* only of a version whose files are in one object */
#define TEXT_MEMBER "domains_txt"       /* only of a version of format 1, which has that file */
#define FIXED_FILES 16
#define OPTIONAL_FILES 5 /* ETags, tags, missing lake files, dead domains, the text of domains */
/* version, sequence, published, build_id, psl_hash, parquet_root, files; MISSING_MEMBER,
 * LEFT_OUT_MEMBER, PARTS_MEMBER and part_numbers are more */
#define VERSION_MEMBERS (7 + VERSION_NUMBERS + VERSION_STATES + PATH_COUNT)

static const char *const state_names[] = {
    [DX_VERSION_LISTED] = "listed",
    [DX_VERSION_CONDEMNED] = "condemned",
    [DX_VERSION_DROPPED] = "dropped",
};

static const char *const fixed_files[FIXED_FILES] = {
    DX_FILE_DATASETS,     DX_FILE_COUNTS,          DX_FILE_MEMBERSHIP,   DX_FILE_DOMAINS_DICT,
    DX_FILE_DOMAINS_MPHF, DX_FILE_FILES_TSV,       DX_FILE_PAGES,        DX_FILE_POSTINGS_DIR,
    DX_FILE_PSL,          DX_FILE_DATASET_DOMAINS, DX_FILE_COLD,         DX_FILE_FACTS,
    DX_FILE_SKETCHES,     DX_FILE_URL_IDS,         DX_FILE_POSTINGS_IDX, DX_FILE_POSTINGS_DAT,
};

/* ---- names ---- */

bool dx_version_name_formed(struct dx_span name)
{
    static const char form[] = "dddddd-ddddddddTddddddZ";

    if (name.size != sizeof form - 1)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i];

        if (form[i] == 'd' ? c < '0' || c > '9' : c != (uint8_t)form[i])
            return false;
    }
    return true;
}

bool dx_version_name_ok(struct dx_span name, uint32_t *sequence)
{
    char time[] = "0000-00-00T00:00:00Z";
    static const uint8_t from[] = { 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21 };
    static const uint8_t to[] = { 0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18 };
    uint32_t number = 0;
    int64_t us;

    if (!dx_version_name_formed(name))
        return false;
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

static bool file_name_ok(const char *name)
{
    for (size_t i = 0; i < FIXED_FILES; i++)
        if (strcmp(name, fixed_files[i]) == 0)
            return true;
    return strcmp(name, DX_FILE_ETAGS) == 0 || strcmp(name, DX_FILE_TAGS) == 0 ||
           strcmp(name, DX_FILE_MISSING) == 0 || strcmp(name, DX_FILE_DEAD) == 0 ||
           strcmp(name, DX_FILE_DOMAINS_TXT) == 0 || strcmp(name, DX_FILE_DATASETS_PLAIN) == 0 ||
           strcmp(name, DX_FILE_PSL_PLAIN) == 0;
}

/* The name that a file had in older versions, where it was not compressed; NULL: it had no other. */
static const char *plain_name(const char *name)
{
    if (strcmp(name, DX_FILE_DATASETS) == 0)
        return DX_FILE_DATASETS_PLAIN;
    return strcmp(name, DX_FILE_PSL) == 0 ? DX_FILE_PSL_PLAIN : NULL;
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

uint32_t dx_version_number_said(const char *said)
{
    uint32_t number = 0;
    size_t i = 0;

    for (; i <= 6 && said[i] >= '0' && said[i] <= '9'; i++)
        number = number * 10 + (uint32_t)(said[i] - '0');
    return i > 6 || said[i] != '\0' ? 0 : number;
}

const struct dx_manifest_version *dx_manifest_said(const struct dx_manifest *m, const char *said)
{
    uint32_t number = dx_version_number_said(said);

    for (size_t i = 0; number != 0 && i < m->version_count; i++)
        if (m->versions[i].sequence == number)
            return &m->versions[i];
    return dx_manifest_find(m, said);
}

const struct dx_manifest_version *dx_manifest_current(const struct dx_manifest *m)
{
    return dx_manifest_find(m, m->current);
}

struct sought {
    const struct dx_manifest_version *version;
    const char *name;
};

static int compare_file(const void *ctx, size_t i)
{
    const struct sought *s = ctx;

    return strcmp(s->version->files[i].name, s->name);
}

/* Where the name stands, or where it belongs. */
static bool find_file(const struct dx_manifest_version *v, const char *name, size_t *at)
{
    const struct sought s = { v, name };

    return dx_search(v->file_count, compare_file, &s, at);
}

const struct dx_manifest_file *dx_manifest_file(const struct dx_manifest_version *v,
                                                const char *name)
{
    const char *plain = plain_name(name);
    size_t at;

    return find_file(v, name, &at) || (plain != NULL && find_file(v, plain, &at)) ? &v->files[at]
                                                                                  : NULL;
}

/* Under which name the version has a file. */
static const char *listed_name(const struct dx_manifest_version *v, const char *name)
{
    const struct dx_manifest_file *f = dx_manifest_file(v, name);

    return f == NULL ? name : f->name;
}

/* Adding in order of the names (as parse does) costs no moves. */
int dx_manifest_file_add(struct dx_manifest_version *v, const char *name, uint64_t size,
                         const struct dx_hash128 *hash, struct dx_error *err)
{
    struct dx_manifest_file *files;
    size_t at;

    if (!file_name_ok(name) || size > INT64_MAX)
        return dx_fail(err, DX_E_INVALID, "manifest: '%.60s' is not a file of a version", name);
    if (find_file(v, name, &at))
        return dx_fail(err, DX_E_INVALID, "manifest: file '%s' is listed twice", name);
    files = dx_array_room(v->files, v->file_count, &v->file_capacity, sizeof *files);
    if (files == NULL)
        return dx_no_memory(err, "manifest");
    v->files = files;
    memmove(v->files + at + 1, v->files + at, (v->file_count - at) * sizeof *v->files);
    v->files[at] = (struct dx_manifest_file){ .size = size, .hash = *hash };
    memcpy(v->files[at].name, name, strlen(name));
    v->file_count++;
    return DX_OK;
}

void dx_manifest_file_path(const struct dx_manifest_version *v, const struct dx_manifest_file *f,
                           char out[DX_MANIFEST_FILE_PATH])
{
    dx_name_of_version(out, v->version, f->name);
}

size_t dx_manifest_object_count(const struct dx_manifest_version *v)
{
    return dx_manifest_packed(v) ? 1 : v->file_count;
}

const struct dx_manifest_file *dx_manifest_object(const struct dx_manifest_version *v, size_t i)
{
    assert(i < dx_manifest_object_count(v));
    return dx_manifest_packed(v) ? &v->pack : &v->files[i];
}

/* Where the i-th file begins in a pack, or where the one before the i-th ends if i is their number. */
static uint64_t pack_offset(const struct dx_manifest_version *v, size_t i)
{
    uint64_t at = 0;

    for (size_t k = 0; k < i; k++) {
        if (v->files[k].size > DX_PACK_MAX - at)
            return UINT64_MAX;
        at += v->files[k].size;
        if (k + 1 < v->file_count)
            at = (at + DX_PACK_ALIGN - 1) / DX_PACK_ALIGN * DX_PACK_ALIGN;
        if (at > DX_PACK_MAX)
            return UINT64_MAX;
    }
    return at;
}

void dx_manifest_place(const struct dx_manifest_version *v, const struct dx_manifest_file *f,
                       struct dx_manifest_place *place)
{
    bool packed = dx_manifest_packed(v);

    assert(f >= v->files && f < v->files + v->file_count);
    dx_manifest_file_path(v, packed ? &v->pack : f, place->object);
    place->at = packed ? pack_offset(v, (size_t)(f - v->files)) : 0;
    place->total = packed ? v->pack.size : f->size;
}

uint64_t dx_manifest_pack_size(const struct dx_manifest_version *v)
{
    return pack_offset(v, v->file_count);
}

int dx_manifest_pack_set(struct dx_manifest_version *v, const struct dx_hash128 *hash,
                         struct dx_error *err)
{
    uint64_t size = dx_manifest_pack_size(v);

    if (size > DX_PACK_MAX)
        return dx_fail(err, DX_E_LIMIT, "version %s: its files are too large for a pack",
                       v->version);
    v->pack = (struct dx_manifest_file){ .name = DX_FILE_PACK, .size = size, .hash = *hash };
    return DX_OK;
}

int dx_manifest_add(struct dx_manifest *m, const char *version, struct dx_manifest_version **out,
                    struct dx_error *err)
{
    struct dx_manifest_version *v;
    uint32_t sequence;

    if (!dx_version_name_ok(dx_span_str(version), &sequence))
        return dx_fail(err, DX_E_INVALID, "manifest: '%.60s' is not the name of a version",
                       version);
    if (m->version_count > 0 && m->versions[m->version_count - 1].sequence >= sequence)
        return dx_fail(err, DX_E_INVALID, "manifest: version %s does not come behind %s", version,
                       m->versions[m->version_count - 1].version);
    v = dx_array_room(m->versions, m->version_count, &m->version_capacity, sizeof *v);
    if (v == NULL)
        return dx_no_memory(err, "manifest");
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
            return dx_no_memory(err, "version %s", from->version);
        memcpy(files, from->files, from->file_count * sizeof *files);
    }
    *out = *from;
    out->files = files;
    out->file_capacity = from->file_count;
    return DX_OK;
}

bool dx_manifest_has_part(const struct dx_manifest_version *v, const char *version)
{
    for (size_t i = 0; i < v->part_count; i++)
        if (strcmp(v->parts[i], version) == 0)
            return true;
    return strcmp(v->version, version) == 0;
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
    for (size_t i = 0; i < FIXED_FILES; i++) {
        const char *plain = plain_name(fixed_files[i]);
        size_t at;

        if (dx_manifest_file(v, fixed_files[i]) == NULL)
            return dx_fail(err, DX_E_CORRUPT, "version %s: file '%s' is not listed", v->version,
                           fixed_files[i]);
        if (plain != NULL && find_file(v, fixed_files[i], &at) && find_file(v, plain, &at))
            return dx_fail(err, DX_E_CORRUPT, "version %s: lists '%s' and '%s'", v->version, plain,
                           fixed_files[i]);
    }
    if ((v->missing_files > 0) != (dx_manifest_file(v, DX_FILE_MISSING) != NULL))
        return dx_fail(err, DX_E_CORRUPT,
                       "version %s: '" MISSING_MEMBER "' and file '" DX_FILE_MISSING
                       "' do not agree",
                       v->version);
    if (v->gone_files > 0 && v->part_count == 0)
        return dx_fail(err, DX_E_CORRUPT,
                       "version %s: '" GONE_MEMBER "', and it has no older parts", v->version);
    if ((v->part_count > 0) != (dx_manifest_file(v, DX_FILE_DEAD) != NULL))
        return dx_fail(err, DX_E_CORRUPT,
                       "version %s: '" PARTS_MEMBER "' and file '" DX_FILE_DEAD "' do not agree",
                       v->version);
    return DX_OK;
}

/* Older ones, by sequence. */
static int check_parts(const struct dx_manifest_version *v, struct dx_error *err)
{
    const struct dx_manifest_part *p = &v->part;
    bool ordered = v->part_count < DX_PARTS_MAX;

    for (size_t i = 0; ordered && i < v->part_count; i++)
        ordered = dx_version_name_ok(dx_span_str(v->parts[i]), NULL) &&
                  strcmp(v->parts[i], i + 1 < v->part_count ? v->parts[i + 1] : v->version) < 0;
    if (!ordered)
        return dx_fail(err, DX_E_CORRUPT,
                       "version %s: '" PARTS_MEMBER "' are not older versions by their sequence",
                       v->version);
    if (v->part_count > 0 && (p->domains > v->domains || p->pairs > v->pairs || p->rows > v->rows ||
                              p->urls > v->urls || p->first_file > v->file_ids))
        return dx_fail(err, DX_E_CORRUPT, "version %s: its own part is larger than the version",
                       v->version);
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
    const uint64_t counts[] = { v->domains,       v->datasets,      v->pairs,      v->rows,
                                v->urls,          v->lake_files,    v->file_ids,   v->cleansed,
                                v->missing_files, v->rows_left_out, v->gone_files, v->pages };
    int rc;

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i] > INT64_MAX)
            return dx_fail(err, DX_E_CORRUPT, "version %s: a count is over 63 bits", v->version);
    if (v->published_us % 1000000 != 0 ||
        !dx_civil_parse(dx_span_of(time, dx_civil_text_us(v->published_us, time)), &back))
        return dx_fail(err, DX_E_CORRUPT,
                       "version %s: published is not a whole second of the years 0 to 9999",
                       v->version);
    if (!time_ok(v->condemned_us) || !time_ok(v->superseded_us))
        return dx_fail(err, DX_E_CORRUPT, "version %s: a time is not a whole second", v->version);
    if ((unsigned)v->state > DX_VERSION_DROPPED ||
        (v->condemned_us == DX_MANIFEST_NEVER) != (v->state == DX_VERSION_LISTED))
        return dx_fail(err, DX_E_CORRUPT, "version %s: state and 'condemned' contradict each other",
                       v->version);
    if (v->pages > v->rows || v->pages > v->urls)
        return dx_fail(err, DX_E_CORRUPT, "version %s: more pages than rows or URLs", v->version);
    if (v->lake_files > v->file_ids)
        return dx_fail(err, DX_E_CORRUPT, "version %s: more lake files than numbers for them",
                       v->version);
    if (!parquet_root_ok(v->parquet_root))
        return dx_fail(err, DX_E_CORRUPT,
                       "version %s: parquet_root is not a plain relative path with '/' behind it",
                       v->version);
    rc = check_parts(v, err);
    return rc == DX_OK ? check_files(v, err) : rc;
}

/* The i-th part of v is what it was in its own version: the newest, on the same older ones. */
static bool part_fits(const struct dx_manifest_version *v, size_t i,
                      const struct dx_manifest_version *part, const struct dx_manifest *m)
{
    const struct dx_manifest_version *next = i + 1 < v->part_count
                                                 ? dx_manifest_find(m, v->parts[i + 1])
                                                 : v;

    return part->part_count == i && memcmp(part->parts, v->parts, i * sizeof v->parts[0]) == 0 &&
           (next == NULL || part->file_ids == next->part.first_file) &&
           part->canon_version == v->canon_version &&
           dx_hash128_equal(&part->psl_hash, &v->psl_hash) &&
           strcmp(part->parquet_root, v->parquet_root) == 0;
}

/* A version that can be opened needs the files of its parts. */
static int check_parts_listed(const struct dx_manifest *m, const struct dx_manifest_version *v,
                              struct dx_error *err)
{
    for (size_t i = 0; v->state != DX_VERSION_DROPPED && i < v->part_count; i++) {
        const struct dx_manifest_version *part = dx_manifest_find(m, v->parts[i]);

        if (part == NULL || part->state == DX_VERSION_DROPPED)
            return dx_fail(err, DX_E_CORRUPT, "version %s: its part %s is %s", v->version,
                           v->parts[i], part == NULL ? "not listed" : "dropped");
        if (!part_fits(v, i, part, m))
            return dx_fail(err, DX_E_CORRUPT,
                           "version %s: its part %s has other parts, file numbers, suffix list or "
                           "lake than it needs",
                           v->version, v->parts[i]);
    }
    return DX_OK;
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

        if (rc >= 0)
            rc = check_parts_listed(m, &m->versions[i], err);
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

/* The lowest that says what the manifest has. */
static int format_of(const struct dx_manifest *m)
{
    for (size_t i = 0; i < m->version_count; i++)
        if (dx_manifest_file(&m->versions[i], DX_FILE_DOMAINS_TXT) == NULL)
            return DX_MANIFEST_FORMAT_VERSION;
    return FORMAT_WITH_TEXTS;
}

/* ---- writing ---- */

static void write_path(struct dx_buf *b, const struct dx_manifest_version *v, const char *member,
                       const char *file)
{
    dx_buf_fmt(b, "      \"%s\": \"" DX_INDEX_DIR "/%s/%s\",\n", member, v->version, file);
}

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
        dx_buf_fmt(b, "%s\n        \"%s\": {\"size\": %" PRIu64 ", \"hash\": \"%s\"}",
                   i == 0 ? "" : ",", v->files[i].name, v->files[i].size, text);
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

static void write_states(struct dx_buf *b, const struct dx_manifest_version *v)
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

static void write_parts(struct dx_buf *b, const struct dx_manifest_version *v)
{
    dx_buf_str(b, "      \"" PARTS_MEMBER "\": [");
    for (size_t i = 0; i < v->part_count; i++)
        dx_buf_fmt(b, "%s\"%s\"", i == 0 ? "" : ", ", v->parts[i]);
    dx_buf_str(b, "],\n");
    for (size_t i = 0; i < PART_NUMBERS; i++)
        dx_buf_fmt(b, "      \"%s\": %" PRIu64 ",\n", part_numbers[i].member,
                   *part_number(&v->part, i));
}

static void write_version(struct dx_buf *b, const struct dx_manifest_version *v)
{
    dx_buf_str(b, "    {\n");
    dx_buf_fmt(b, "      \"version\": \"%s\",\n", v->version);
    dx_buf_fmt(b, "      \"sequence\": %" PRIu32 ",\n", v->sequence);
    write_time(b, "published", v->published_us);
    write_states(b, v);
    write_hex(b, "build_id", v->build.bytes);
    dx_buf_fmt(b, "      \"canon_version\": %" PRIu32 ",\n", v->canon_version);
    dx_buf_fmt(b, "      \"domains\": %" PRIu64 ",\n", v->domains);
    dx_buf_fmt(b, "      \"datasets\": %" PRIu64 ",\n", v->datasets);
    dx_buf_fmt(b, "      \"pairs\": %" PRIu64 ",\n", v->pairs);
    dx_buf_fmt(b, "      \"rows\": %" PRIu64 ",\n", v->rows);
    dx_buf_fmt(b, "      \"urls\": %" PRIu64 ",\n", v->urls);
    dx_buf_fmt(b, "      \"lake_files\": %" PRIu64 ",\n", v->lake_files);
    if (v->missing_files > 0)
        dx_buf_fmt(b, "      \"" MISSING_MEMBER "\": %" PRIu64 ",\n", v->missing_files);
    if (v->gone_files > 0)
        dx_buf_fmt(b, "      \"" GONE_MEMBER "\": %" PRIu64 ",\n", v->gone_files);
    if (v->pages > 0)
        dx_buf_fmt(b, "      \"" PAGES_MEMBER "\": %" PRIu64 ",\n", v->pages);
    if (v->rows_left_out > 0)
        dx_buf_fmt(b, "      \"" LEFT_OUT_MEMBER "\": %" PRIu64 ",\n", v->rows_left_out);
    if (v->part_count > 0)
        write_parts(b, v);
    if (dx_manifest_file(v, DX_FILE_DOMAINS_TXT) != NULL)
        write_path(b, v, TEXT_MEMBER, DX_FILE_DOMAINS_TXT);
    for (size_t i = 0; i < PATH_COUNT; i++)
        write_path(b, v, paths[i].member, listed_name(v, paths[i].file));
    write_hex(b, "psl_hash", v->psl_hash.bytes);
    dx_buf_fmt(b, "      \"parquet_root\": \"%s\",\n", v->parquet_root);
    if (dx_manifest_packed(v))
        write_hex(b, PACK_MEMBER, v->pack.hash.bytes);
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
    dx_buf_fmt(out, "  \"format_version\": %d,\n", format_of(m));
    dx_buf_fmt(out, "  \"sequence\": %" PRIu64 ",\n", m->sequence);
    dx_buf_fmt(out, "  \"current_version\": \"%s\",\n", m->current);
    if (m->suppressions > 0) {
        dx_hash128_text(&m->suppressions_hash, text);
        dx_buf_fmt(out, "  \"" LINES_MEMBER "\": %" PRIu64 ",\n", m->suppressions);
        dx_buf_fmt(out, "  \"" HASH_MEMBER "\": \"%s\",\n", text);
    }
    if (m->access > 0)
        dx_buf_fmt(out, "  \"" ACCESS_MEMBER "\": %" PRIu64 ",\n", m->access);
    dx_buf_str(out, "  \"versions\": [\n");
    for (size_t i = 0; i < m->version_count; i++) {
        dx_buf_str(out, i == 0 ? "" : ",\n");
        write_version(out, &m->versions[i]);
    }
    dx_buf_str(out, "\n  ],\n  ");
    if (out->failed)
        return dx_buf_fail(out, err, "manifest");
    sum = dx_hash128_of(dx_buf_from(out, front));
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

static void read_path(struct dx_json_in *in, const struct dx_json_node *o, const char *version,
                      const char *member, const char *file)
{
    char want[DX_MANIFEST_FILE_PATH];
    const char *path = dx_json_in_str(in, o, member, sizeof want - 1);

    dx_name_of_version(want, version, file);
    if (strcmp(path, want) != 0)
        dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is '%.80s', expected '%s'", member, path, want);
}

static void read_paths(struct dx_json_in *in, const struct dx_json_node *o,
                       const struct dx_manifest_version *v)
{
    if (dx_json_in_has(o, TEXT_MEMBER))
        read_path(in, o, v->version, TEXT_MEMBER, DX_FILE_DOMAINS_TXT);
    for (size_t i = 0; i < PATH_COUNT; i++)
        read_path(in, o, v->version, paths[i].member, listed_name(v, paths[i].file));
}

/* Before the files are read, which are others there. */
static void refuse_shards(struct dx_json_in *in, const struct dx_json_node *o, const char *version)
{
    for (size_t i = 0; i < PATH_COUNT; i++) {
        const char *path = dx_json_in_str(in, o, paths[i].member, DX_MANIFEST_FILE_PATH - 1);

        if (strstr(path, DRAFT_SHARDS) != NULL)
            dx_json_in_fail(in, DX_E_UNSUPPORTED,
                            "'%s' of version %s is '%.80s': a program before release 1.0 wrote the "
                            "index; " DRAFT_ADVICE,
                            paths[i].member, version, path);
    }
}

static void read_file(struct dx_json_in *in, const struct dx_json_node *o, const char *name,
                      struct dx_manifest_version *v)
{
    struct dx_hash128 hash;
    uint64_t size;

    if (dx_json_in_count(o) != 2)
        dx_json_in_fail(in, DX_E_CORRUPT, "not an object of size and hash");
    size = dx_json_in_u64(in, o, "size", 0, INT64_MAX);
    dx_json_in_hex(in, o, "hash", hash.bytes, sizeof hash.bytes);
    if (in->rc == DX_OK)
        (void)dx_json_in_try(in, dx_manifest_file_add(v, name, size, &hash, &in->err));
}

static void read_files(struct dx_json_in *in, const struct dx_json_node *o,
                       struct dx_manifest_version *v)
{
    const struct dx_json_node *file;
    struct dx_json_list l;

    dx_json_in_map(in, &l, o, "files", FIXED_FILES + OPTIONAL_FILES);
    while ((file = dx_json_in_next(in, &l)) != NULL)
        read_file(in, file, l.key, v);
}

static void read_pack(struct dx_json_in *in, const struct dx_json_node *o,
                      struct dx_manifest_version *v)
{
    struct dx_hash128 hash;

    if (!dx_json_in_has(o, PACK_MEMBER))
        return;
    dx_json_in_hex(in, o, PACK_MEMBER, hash.bytes, sizeof hash.bytes);
    if (in->rc == DX_OK)
        (void)dx_json_in_try(in, dx_manifest_pack_set(v, &hash, &in->err));
}

static void read_counts(struct dx_json_in *in, const struct dx_json_node *o,
                        struct dx_manifest_version *v)
{
    const struct {
        const char *member;
        uint64_t *to;
    } numbers[] = {
        { "domains", &v->domains },   { "datasets", &v->datasets },
        { "pairs", &v->pairs },       { "rows", &v->rows },
        { "urls", &v->urls },         { "lake_files", &v->lake_files },
        { "cleansed", &v->cleansed }, { "file_ids", &v->file_ids },
    };

    v->canon_version = (uint32_t)dx_json_in_u64(in, o, "canon_version", 0, UINT32_MAX);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        *numbers[i].to = dx_json_in_u64(in, o, numbers[i].member, 0, INT64_MAX);
    /* Only a version that lists the file has the member: check_files. */
    if (dx_json_in_has(o, MISSING_MEMBER))
        v->missing_files = dx_json_in_u64(in, o, MISSING_MEMBER, 1, INT64_MAX);
    if (dx_json_in_has(o, GONE_MEMBER))
        v->gone_files = dx_json_in_u64(in, o, GONE_MEMBER, 1, INT64_MAX);
    if (dx_json_in_has(o, PAGES_MEMBER))
        v->pages = dx_json_in_u64(in, o, PAGES_MEMBER, 1, INT64_MAX);
    if (dx_json_in_has(o, LEFT_OUT_MEMBER))
        v->rows_left_out = dx_json_in_u64(in, o, LEFT_OUT_MEMBER, 1, INT64_MAX);
}

static int64_t time_or_never(struct dx_json_in *in, const struct dx_json_node *o,
                             const char *member)
{
    return dx_json_in_null(o, member) ? DX_MANIFEST_NEVER : dx_json_in_time(in, o, member, 1);
}

/* What may happen to a version once it is published. */
static void read_states(struct dx_json_in *in, const struct dx_json_node *o,
                        struct dx_manifest_version *v)
{
    const char *state = dx_json_in_str(in, o, "state", 16);
    size_t n = 0;

    while (n < sizeof state_names / sizeof state_names[0] && strcmp(state, state_names[n]) != 0)
        n++;
    if (n == sizeof state_names / sizeof state_names[0])
        dx_json_in_fail(in, DX_E_CORRUPT, "'state' is not listed, condemned or dropped");
    v->state = (enum dx_version_state)n;
    v->condemned_us = time_or_never(in, o, "condemned");
    v->superseded_us = time_or_never(in, o, "superseded");
}

static void read_base(struct dx_json_in *in, const struct dx_json_node *o,
                      struct dx_manifest_version *v)
{
    uint32_t sequence = 0;
    const char *base;

    if (dx_json_in_null(o, "base"))
        return;
    base = dx_json_in_str(in, o, "base", DX_VERSION_NAME - 1);
    if (!dx_version_name_ok(dx_span_str(base), &sequence) || sequence >= v->sequence)
        dx_json_in_fail(in, DX_E_CORRUPT, "'base' is not the name of an older version");
    if (in->rc == DX_OK)
        memcpy(v->base, base, DX_VERSION_NAME);
}

static void read_parts(struct dx_json_in *in, const struct dx_json_node *o,
                       struct dx_manifest_version *v)
{
    const struct dx_json_node *name;
    struct dx_json_list l;

    v->part = (struct dx_manifest_part){ v->domains, v->pairs, v->rows, v->urls, 0 };
    if (!dx_json_in_has(o, PARTS_MEMBER))
        return;
    dx_json_in_list(in, &l, o, PARTS_MEMBER, DX_PARTS_MAX - 1);
    while ((name = dx_json_in_next(in, &l)) != NULL) {
        const char *text = dx_json_in_entry_str(in, name, DX_VERSION_NAME - 1);

        if (strlen(text) == DX_VERSION_NAME - 1)
            memcpy(v->parts[v->part_count], text, DX_VERSION_NAME);
        v->part_count++;
    }
    if (v->part_count == 0)
        dx_json_in_fail(in, DX_E_CORRUPT, "'" PARTS_MEMBER "' is empty");
    for (size_t i = 0; i < PART_NUMBERS; i++)
        *part_number(&v->part, i) = dx_json_in_u64(in, o, part_numbers[i].member, 0, INT64_MAX);
}

static void read_version(struct dx_json_in *in, const struct dx_json_node *o, struct dx_manifest *m)
{
    size_t members = VERSION_MEMBERS + dx_json_in_has(o, MISSING_MEMBER) +
                     dx_json_in_has(o, GONE_MEMBER) + dx_json_in_has(o, PAGES_MEMBER) +
                     dx_json_in_has(o, LEFT_OUT_MEMBER) + dx_json_in_has(o, PACK_MEMBER) +
                     dx_json_in_has(o, TEXT_MEMBER) +
                     (dx_json_in_has(o, PARTS_MEMBER) ? 1 + PART_NUMBERS : 0);
    struct dx_manifest_version *v = NULL;
    const char *name;
    const char *root;

    if (dx_json_in_count(o) != members)
        dx_json_in_fail(in, DX_E_CORRUPT, "a version has %zu members, expected %zu",
                        dx_json_in_count(o), members);
    name = dx_json_in_str(in, o, "version", DX_VERSION_NAME - 1);
    root = dx_json_in_str(in, o, "parquet_root", DX_PARQUET_ROOT_MAX);
    if (!parquet_root_ok(root))
        dx_json_in_fail(in, DX_E_CORRUPT,
                        "'parquet_root' is not a plain relative path with '/' behind it");
    if (in->rc < 0 || !dx_json_in_try(in, dx_manifest_add(m, name, &v, &in->err)))
        return;
    memcpy(v->parquet_root, root, strlen(root));
    if (dx_json_in_u64(in, o, "sequence", 0, DX_VERSION_SEQUENCE_MAX) != v->sequence)
        dx_json_in_fail(in, DX_E_CORRUPT, "'sequence' is not that of the version's name");
    v->published_us = dx_json_in_time(in, o, "published", 1);
    dx_json_in_hex(in, o, "build_id", v->build.bytes, sizeof v->build.bytes);
    dx_json_in_hex(in, o, "psl_hash", v->psl_hash.bytes, sizeof v->psl_hash.bytes);
    read_counts(in, o, v);
    read_parts(in, o, v);
    read_states(in, o, v);
    read_base(in, o, v);
    refuse_shards(in, o, v->version);
    read_files(in, o, v);
    read_paths(in, o, v);
    if (dx_json_in_has(o, TEXT_MEMBER) != (dx_manifest_file(v, DX_FILE_DOMAINS_TXT) != NULL))
        dx_json_in_fail(in, DX_E_CORRUPT,
                        "'" TEXT_MEMBER "' and file '" DX_FILE_DOMAINS_TXT "' do not agree");
    read_pack(in, o, v);
}

static int check_format(struct dx_json_in *in, const struct dx_json_node *root)
{
    const char *format = dx_json_in_has(root, "format") ? dx_json_in_str(in, root, "format", 64)
                                                        : "";
    uint64_t version;

    if (strcmp(format, FORMAT_NAME) != 0 && strcmp(format, DRAFT_NAME) != 0)
        dx_json_in_fail(in, DX_E_UNSUPPORTED, "'format' is not '" FORMAT_NAME "'");
    version = dx_json_in_u64(in, root, "format_version", 0, INT64_MAX);
    if (strcmp(format, DRAFT_NAME) == 0)
        dx_json_in_fail(in, DX_E_UNSUPPORTED,
                        "format '%s' version %" PRIu64
                        " is of a program before release 1.0, this one reads "
                        "'" FORMAT_NAME "' version %d; " DRAFT_ADVICE,
                        format, version, DX_MANIFEST_FORMAT_VERSION);
    if (version < FORMAT_WITH_TEXTS || version > DX_MANIFEST_FORMAT_VERSION)
        dx_json_in_fail(in, DX_E_UNSUPPORTED,
                        "format_version is %" PRIu64 ", this program reads %d and %d%s", version,
                        FORMAT_WITH_TEXTS, DX_MANIFEST_FORMAT_VERSION,
                        version > DX_MANIFEST_FORMAT_VERSION ? ": a newer one wrote it" : "");
    return (int)version;
}

/* As read_access, it returns how many members it has read. */
static size_t read_suppressions(struct dx_json_in *in, const struct dx_json_node *root,
                                struct dx_manifest *m)
{
    if (!dx_json_in_has(root, LINES_MEMBER))
        return 0;
    m->suppressions = dx_json_in_u64(in, root, LINES_MEMBER, 1, DX_MANIFEST_SUPPRESSIONS_MAX);
    dx_json_in_hex(in, root, HASH_MEMBER, m->suppressions_hash.bytes,
                   sizeof m->suppressions_hash.bytes);
    return 2;
}

static size_t read_access(struct dx_json_in *in, const struct dx_json_node *root,
                          struct dx_manifest *m)
{
    if (!dx_json_in_has(root, ACCESS_MEMBER))
        return 0;
    m->access = dx_json_in_u64(in, root, ACCESS_MEMBER, 1, INT64_MAX);
    return 1;
}

static void read_root(struct dx_json_in *in, const struct dx_json_node *root, struct dx_manifest *m)
{
    const struct dx_json_node *o;
    struct dx_json_list l;
    const char *current;
    int format = check_format(in, root);

    if (dx_json_in_count(root) !=
        ROOT_MEMBERS + read_suppressions(in, root, m) + read_access(in, root, m))
        dx_json_in_fail(in, DX_E_CORRUPT, "has other members than a manifest");
    m->sequence = dx_json_in_u64(in, root, "sequence", 0, INT64_MAX);
    dx_json_in_list(in, &l, root, "versions", SIZE_MAX);
    while ((o = dx_json_in_next(in, &l)) != NULL)
        read_version(in, o, m);
    current = dx_json_in_str(in, root, "current_version", DX_VERSION_NAME - 1);
    if (!dx_version_name_ok(dx_span_str(current), NULL))
        dx_json_in_fail(in, DX_E_CORRUPT, "'current_version' is not the name of a version");
    if (in->rc < 0)
        return;
    memcpy(m->current, current, DX_VERSION_NAME);
    if (format != format_of(m))
        dx_json_in_fail(in, DX_E_CORRUPT, "format_version is %d, and its versions are of %d",
                        format, format_of(m));
    if (in->rc == DX_OK)
        (void)dx_json_in_try(in, check_manifest(m, &in->err));
}

/* The tail is `"checksum": "<32 hex>"\n}\n` byte for byte, so no flipped bit hides in it. */
static int check_sum(struct dx_span text, const char *name, struct dx_error *err)
{
    char want[sizeof CHECKSUM_KEY + DX_HASH128_TEXT + 8];
    struct dx_hash128 sum;
    char hex[DX_HASH128_TEXT];
    size_t tail = sizeof CHECKSUM_KEY - 1 + 4 + 32 + 3;
    size_t front;

    if (text.size < tail)
        return dx_fail(err, DX_E_TRUNCATED, "%s: %zu bytes are not a manifest", name, text.size);
    front = text.size - tail;
    if (memcmp(text.data + front, CHECKSUM_KEY, sizeof CHECKSUM_KEY - 1) != 0)
        return dx_fail(err, DX_E_TRUNCATED, "%s: does not end in its checksum: cut or damaged",
                       name);
    sum = dx_hash128_of(dx_span_of(text.data, front));
    dx_hash128_text(&sum, hex);
    (void)snprintf(want, sizeof want, CHECKSUM_KEY ": \"%s\"\n}\n", hex);
    if (memcmp(text.data + front, want, tail) != 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: checksum does not fit: damaged, or edited by hand",
                       name);
    return DX_OK;
}

int dx_manifest_parse(struct dx_span text, const char *name, struct dx_manifest *m,
                      struct dx_error *err)
{
    const struct dx_json_node *root;
    struct dx_json_in in;
    int rc;

    *m = (struct dx_manifest)DX_MANIFEST_INIT;
    if (text.size > DX_MANIFEST_MAX)
        return dx_fail(err, DX_E_LIMIT, "%s: %zu bytes, at most %u are read", name, text.size,
                       DX_MANIFEST_MAX);
    rc = check_sum(text, name, err);
    if (rc < 0)
        return rc;
    root = dx_json_in_open(&in, text, DX_MANIFEST_MAX, name);
    read_root(&in, root, m);
    if (in.rc < 0)
        dx_manifest_release(m);
    return dx_json_in_close(&in, err);
}
