/* SPDX-License-Identifier: Apache-2.0
 * Three files in no order of each other: tombstone, index and tags go through one sort by key, so
 * that all that is known of a page comes together and a store of any size needs a fixed memory.
 */
#include "builder/exchange/filestore/file_store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/crypto/sha256.h"
#include "base/file.h"
#include "base/json_out.h"
#include "builder/input/bytes/gzip_lines.h"
#include "builder/input/records/input_json.h"
#include "builder/input/records/input_records.h"
#include "builder/sort/spill_sort.h"
#include "format/version/store_index.h"

#define TEXT_MAX ((uint64_t)1 << 36)      /* of index and tombstone */
#define TAGS_TEXT_MAX ((uint64_t)4 << 30) /* unpacked: a thousandth of it may be a file */
#define STORAGE_MAX ((uint64_t)256 << 20) /* unpacked */
#define PAYLOAD_MAX (8u << 20)            /* a record of JSON must hold it */
#define TAGS_COLUMN_MAX (48u << 10)       /* below what a row may hold of extras */
#define SORT_MIN ((uint64_t)16 << 20)
#define REPORTED_MAX 20 /* of a kind */

enum kind { TOMBSTONE, ENTRY, TAG }; /* as they sort behind their key */

enum report { REPORT_LINE, REPORT_TAGS, REPORT_STORAGE, REPORT_KINDS };

struct reading {
    const struct dx_file_store_options *o;
    struct dx_file_store_counts *n;
    int dir;
    struct dx_spill_sort *sort;
    struct dx_file_out out, dead, live;
    bool out_open, dead_open, live_open;
    uint64_t reported[REPORT_KINDS];
    struct dx_buf sort_key;
    struct dx_buf decoded; /* a key out of a tag's array */
    /* the page that the sort is at */
    struct dx_buf key, line, tags, last_tag;
    bool tombstoned;
    uint64_t lines;
    uint64_t tag_count;
    struct dx_json tags_json;
    struct dx_buf head, record, scratch;
};

static void tell(struct reading *r, enum report kind, const char *text)
{
    r->reported[kind]++;
    if (r->o->say != NULL && r->reported[kind] <= REPORTED_MAX)
        r->o->say(text);
    if (r->o->say != NULL && r->reported[kind] == REPORTED_MAX + 1)
        r->o->say("more of the same are counted only");
}

static int interrupted(const struct reading *r, struct dx_error *err)
{
    return r->o->stopped != NULL && r->o->stopped()
               ? dx_fail(err, DX_E_IO, "interrupted; nothing was added to the lake")
               : DX_OK;
}

/* ---- into the sort ---- */

static int put(struct reading *r, struct dx_span key, enum kind kind, struct dx_span name,
               struct dx_span value, struct dx_error *err)
{
    dx_buf_clear(&r->sort_key);
    dx_buf_append(&r->sort_key, key.data, key.size);
    dx_buf_u8(&r->sort_key, 0);
    dx_buf_u8(&r->sort_key, (uint8_t)kind);
    dx_buf_append(&r->sort_key, name.data, name.size);
    if (r->sort_key.failed)
        return dx_buf_fail(&r->sort_key, err, "file store");
    return dx_spill_sort_add(r->sort, 0, dx_span_of(r->sort_key.data, r->sort_key.size), value,
                             err);
}

static const struct dx_span nothing = { (const uint8_t *)"", 0 };

static int take_tombstone(struct reading *r, struct dx_span line, const struct dx_gzip_lines *l,
                          struct dx_error *err)
{
    struct dx_span key;

    (void)l;
    if (dx_store_tombstone_parse(line, &key) != DX_STORE_SOUND)
        return DX_OK; /* a key that no line of the index can have */
    return put(r, key, TOMBSTONE, nothing, nothing, err);
}

static bool is_hash_of(struct dx_span key, struct dx_span hash)
{
    uint8_t sum[DX_SHA256_SIZE];
    char hex[DX_SHA256_HEX];

    if (!dx_sha256(key, sum))
        return false;
    dx_sha256_hex(sum, hex);
    return dx_span_equal(hash, dx_span_of(hex, DX_SHA256_HEX - 1));
}

static int take_entry(struct reading *r, struct dx_span line, const struct dx_gzip_lines *l,
                      struct dx_error *err)
{
    struct dx_store_entry e;
    enum dx_store_flaw flaw;
    char text[128];
    int rc = r->n->lines % 4096 == 0 ? interrupted(r, err) : DX_OK;

    if (line.size == 0 || rc < 0)
        return rc;
    r->n->lines++;
    flaw = l->too_long ? DX_STORE_FIELDS : dx_store_entry_parse(line, &e);
    if (flaw == DX_STORE_SOUND && is_hash_of(e.key, e.hash))
        return put(r, e.key, ENTRY, nothing,
                   dx_span_of(e.hash.data, (size_t)(line.data + line.size - e.hash.data)), err);
    if (flaw == DX_STORE_SOUND)
        r->n->hash_mismatches++;
    else
        r->n->malformed++;
    (void)snprintf(text, sizeof text, "index, line %llu: %s", (unsigned long long)l->line_number,
                   flaw == DX_STORE_SOUND ? "the hash is not that of the key"
                   : l->too_long          ? "too long"
                                          : dx_store_flaw_name(flaw));
    tell(r, REPORT_LINE, text);
    return DX_OK;
}

/* 0: an array of strings to its end. */
static int walk_tags(struct reading *r, struct dx_bytes keys)
{
    int more;

    while ((more = dx_store_tag_next(&keys, &r->decoded)) == 1)
        ;
    return more;
}

static int put_tags(struct reading *r, struct dx_span tag, struct dx_bytes keys,
                    struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && dx_store_tag_next(&keys, &r->decoded) == 1) {
        struct dx_span key = dx_span_of(r->decoded.data, r->decoded.size);

        if (key.size > 0 && key.size <= DX_STORE_LINE_MAX && memchr(key.data, 0, key.size) == NULL)
            rc = put(r, key, TAG, tag, nothing, err);
        else
            r->n->tags_of_nothing++;
    }
    return rc == DX_OK && r->decoded.no_memory ? dx_buf_fail(&r->decoded, err, "tags") : rc;
}

/* Twice over the line: one that breaks off is not half taken. */
static int take_tags(struct reading *r, struct dx_span line, const struct dx_gzip_lines *l,
                     struct dx_error *err)
{
    enum dx_store_flaw flaw;
    struct dx_bytes keys;
    struct dx_span tag;
    char text[128];
    int rc = interrupted(r, err);

    if (line.size == 0 || rc < 0)
        return rc;
    r->n->tag_lines++;
    flaw = l->too_long ? DX_STORE_FIELDS : dx_store_tag_parse(line, &tag, &keys);
    if (flaw == DX_STORE_SOUND && walk_tags(r, keys) != 0)
        flaw = DX_STORE_ARRAY;
    if (r->decoded.no_memory)
        return dx_buf_fail(&r->decoded, err, "tags");
    if (flaw == DX_STORE_SOUND)
        return put_tags(r, tag, keys, err);
    r->n->tag_lines_malformed++;
    (void)snprintf(text, sizeof text, "tags, line %llu: %s", (unsigned long long)l->line_number,
                   l->too_long ? "too long" : dx_store_flaw_name(flaw));
    tell(r, REPORT_TAGS, text);
    return DX_OK;
}

/* A file that is damaged is an error: half an index would look like a whole store. */
static int take_file(struct reading *r, const char *name, const struct dx_gzip_limits *limits,
                     int (*take)(struct reading *r, struct dx_span line,
                                 const struct dx_gzip_lines *l, struct dx_error *err),
                     struct dx_error *err)
{
    struct dx_gzip_lines l = DX_GZIP_LINES_INIT;
    struct dx_span line;
    int there = dx_gzip_lines_open(&l, r->dir, name, limits, err);
    int rc = there;

    while (rc == 1 && (rc = dx_gzip_lines_next(&l, &line, err)) == 1) {
        int taken = take(r, line, &l, err);

        rc = taken < 0 ? taken : 1;
    }
    dx_gzip_lines_close(&l);
    return rc < 0 ? dx_fail_in(err, "%s", r->o->dir) : there;
}

static int sort_all(struct reading *r, struct dx_error *err)
{
    const struct dx_gzip_limits text = { .line_max = DX_STORE_LINE_MAX, .bytes_max = TEXT_MAX };
    const struct dx_gzip_limits tags = { .packed = true,
                                         .line_max = DX_STORE_TAG_LINE_MAX,
                                         .bytes_max = TAGS_TEXT_MAX };
    int rc = take_file(r, "index.tomb", &text, take_tombstone, err);

    if (rc >= 0)
        rc = take_file(r, "index", &text, take_entry, err);
    if (rc == 0)
        return dx_fail(err, DX_E_NOT_FOUND, "%s: has no file 'index': is it a file store?",
                       r->o->dir);
    if (rc >= 0)
        rc = take_file(r, "tags", &tags, take_tags, err);
    return rc < 0 ? rc : dx_spill_sort_finish(r->sort, err);
}

/* ---- a storage file ---- */

/* store/aa/bb, each part without following links; -1 with errno. */
static int open_folder(const struct reading *r, const char hash[DX_STORE_HASH_SIZE + 1])
{
    const char first[3] = { hash[0], hash[1], '\0' };
    const char second[3] = { hash[2], hash[3], '\0' };
    const char *parts[] = { "store", first, second };
    int at = r->dir;

    for (size_t i = 0; i < 3; i++) {
        int next = openat(at, parts[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int e = errno;

        if (at != r->dir)
            (void)close(at);
        errno = e;
        if (next < 0)
            return -1;
        at = next;
    }
    return at;
}

static void set_aside(struct reading *r, int folder, const char *hash)
{
    char to[DX_STORE_HASH_SIZE + 16];
    char text[256];

    (void)snprintf(to, sizeof to, "%s.invalid", hash);
    if (renameat2(folder, hash, folder, to, RENAME_NOREPLACE) == 0) {
        r->n->set_aside++;
        return;
    }
    (void)snprintf(text, sizeof text, "%s: cannot be renamed to .invalid: %s", hash,
                   strerror(errno));
    tell(r, REPORT_STORAGE, text);
}

/* What the file says against itself; NULL: it is sound. */
static const char *check_headers(struct reading *r, struct dx_span hash, size_t *payload)
{
    struct dx_store_header h;

    if (dx_store_header_parse(dx_span_of(r->head.data, r->head.size), &h) != DX_STORE_SOUND)
        return "its headers are malformed";
    if (!dx_span_equal(h.key, dx_span_of(r->key.data, r->key.size)))
        return "its KEY is another one";
    if (!dx_span_equal(h.hash, hash))
        return "its HASH is another one";
    *payload = h.size;
    return NULL;
}

/* What the file itself is; others are the disk's, rights, or what this process may have open. */
static bool is_its_own(int rc)
{
    return rc == DX_E_CORRUPT || rc == DX_E_LIMIT || rc == DX_E_UNSUPPORTED;
}

/* Reads it to its end: its checksum is there. r->head holds the beginning. DX_E_CORRUPT; or
 * DX_E_IO: it cannot be read, which says nothing of it. */
static int look_at_storage(struct reading *r, int folder, const char *hash, size_t *payload,
                           char why[256], struct dx_error *err)
{
    const struct dx_gzip_limits limits = { .packed = true, .bytes_max = STORAGE_MAX };
    struct dx_gzip_lines l = DX_GZIP_LINES_INIT;
    struct dx_error e = DX_ERROR_INIT;
    const char *flaw = NULL;
    int rc = dx_gzip_lines_open(&l, folder, hash, &limits, &e);

    if (rc == 1) {
        size_t max = DX_STORE_HEADER_MAX + (r->o->payload ? PAYLOAD_MAX : 0);
        int read = dx_gzip_head_read(&l, max, &r->head, &e);

        rc = read < 0 ? read : 1;
    }
    dx_gzip_lines_close(&l);
    if (rc == DX_E_NOMEM) {
        *err = e;
        return rc;
    }
    if (rc == 1)
        flaw = check_headers(r, dx_span_of(hash, DX_STORE_HASH_SIZE), payload);
    if (flaw != NULL)
        (void)snprintf(why, 256, "%s: %s", hash, flaw);
    else if (rc < 0)
        (void)snprintf(why, 256, "%.250s", e.text);
    return flaw != NULL || is_its_own(rc) ? DX_E_CORRUPT : rc < 0 ? DX_E_IO : rc;
}

/* The offset of the payload in r->head, or 0: there is none that can be used. */
static int check_storage(struct reading *r, struct dx_span hash, size_t *payload,
                         struct dx_error *err)
{
    char name[DX_STORE_HASH_SIZE + 1];
    char why[256];
    char text[300];
    int folder;
    int rc = 0;

    assert(hash.size == DX_STORE_HASH_SIZE); /* is_hash_of */
    *payload = 0;
    memcpy(name, hash.data, DX_STORE_HASH_SIZE);
    name[DX_STORE_HASH_SIZE] = '\0';
    folder = open_folder(r, name);
    if (folder < 0 && errno != ENOENT) {
        rc = DX_E_CORRUPT;
        (void)snprintf(why, sizeof why, "%s: its folder cannot be opened: %s", name,
                       strerror(errno));
    } else if (folder >= 0) {
        rc = look_at_storage(r, folder, name, payload, why, err);
    }
    if (rc == 0)
        r->n->missing++;
    if (rc == DX_E_CORRUPT || rc == DX_E_IO) {
        r->n->corrupt++;
        (void)snprintf(text, sizeof text, "store: %s", why);
        tell(r, REPORT_STORAGE, text);
        if (rc == DX_E_CORRUPT && r->o->set_aside && folder >= 0)
            set_aside(r, folder, name);
        rc = 0;
    }
    if (folder >= 0)
        (void)close(folder);
    return rc < 0 ? rc : DX_OK;
}

/* ---- out of the sort: a page ---- */

/* A payload that is not a JSON object, or larger than a record may be, is left out. */
static int put_payload(struct reading *r, struct dx_json *j, size_t at, struct dx_error *err)
{
    struct dx_span text = dx_buf_from(&r->head, at);

    if (at == 0 || text.size > PAYLOAD_MAX)
        return DX_OK;
    if (!dx_json_pick(text, NULL, 0, NULL, &r->scratch))
        return r->scratch.no_memory ? dx_buf_fail(&r->scratch, err, "payload") : DX_OK;
    for (size_t i = 0; i < text.size; i++) /* between tokens only: strings have none raw */
        if (r->head.data[at + i] == '\n' || r->head.data[at + i] == '\r')
            r->head.data[at + i] = ' ';
    dx_json_key(j, "payload");
    dx_json_number(j, text);
    return DX_OK;
}

static int write_page(struct reading *r, const struct dx_store_entry *e, struct dx_error *err)
{
    struct dx_json j;
    size_t payload = 0;
    int rc = r->o->index_alone ? DX_OK : check_storage(r, e->hash, &payload, err);

    if (rc < 0)
        return rc;
    dx_buf_clear(&r->record);
    dx_json_open(&j, &r->record);
    dx_json_object(&j);
    dx_json_key(&j, "url");
    dx_json_text(&j, e->key);
    dx_json_key(&j, "content_type");
    dx_json_text(&j, e->type);
    dx_json_key(&j, "title");
    dx_json_text(&j, e->title);
    if (r->tag_count > 0) {
        dx_json_key(&j, "tags");
        dx_json_text(&j, dx_span_of(r->tags.data, r->tags.size));
    }
    rc = put_payload(r, &j, payload, err);
    if (rc < 0)
        return rc;
    dx_json_end(&j);
    dx_buf_u8(&r->record, '\n');
    if (r->record.failed)
        return dx_buf_fail(&r->record, err, "file store");
    r->n->pages++;
    return dx_file_out_write(&r->out, dx_span_of(r->record.data, r->record.size), err);
}

/* Control characters are in no key, so a line holds it. */
static int list_key(struct reading *r, struct dx_error *err)
{
    struct dx_file_out *to = r->tombstoned ? &r->dead : &r->live;
    int rc;

    if (!r->dead_open || (!r->tombstoned && r->lines == 0))
        return DX_OK;
    rc = dx_file_out_write(to, dx_span_of(r->key.data, r->key.size), err);
    return rc < 0 ? rc : dx_file_out_write(to, dx_span_str("\n"), err);
}

/* The page is complete. */
static int end_page(struct reading *r, struct dx_error *err)
{
    struct dx_store_entry e;
    int rc = list_key(r, err);

    if (rc < 0)
        return rc;
    if (r->lines > 0 && r->tombstoned) {
        r->n->tombstoned++;
    } else if (r->lines > 0) {
        r->n->duplicates += r->lines - 1;
        dx_json_end(&r->tags_json);
        if (r->tags.no_memory)
            return dx_buf_fail(&r->tags, err, "tags");
        if (r->tags.failed) {
            r->n->tags_dropped++;
            r->tag_count = 0;
        }
        rc = interrupted(r, err);
        if (rc == DX_OK &&
            dx_store_entry_parse(dx_span_of(r->line.data, r->line.size), &e) == DX_STORE_SOUND)
            rc = write_page(r, &e, err);
    } else {
        r->n->tags_of_nothing += r->tag_count;
    }
    return rc;
}

static void begin_page(struct reading *r, struct dx_span key)
{
    dx_buf_clear(&r->key);
    dx_buf_append(&r->key, key.data, key.size);
    dx_buf_clear(&r->tags);
    dx_json_open(&r->tags_json, &r->tags);
    dx_json_array(&r->tags_json);
    r->tombstoned = false;
    r->lines = 0;
    r->tag_count = 0;
}

static int add_to_page(struct reading *r, enum kind kind, struct dx_span name, struct dx_span value,
                       struct dx_error *err)
{
    struct dx_span last = dx_span_of(r->last_tag.data, r->last_tag.size);

    switch (kind) {
    case TOMBSTONE:
        r->tombstoned = true;
        break;
    case ENTRY: /* in the order of the file: the last one stays */
        r->lines++;
        dx_buf_clear(&r->line);
        dx_buf_append(&r->line, r->key.data, r->key.size);
        dx_buf_str(&r->line, DX_STORE_SEPARATOR);
        dx_buf_append(&r->line, value.data, value.size);
        break;
    case TAG:
        if (r->tag_count > 0 && dx_span_equal(last, name))
            break;
        r->tag_count++;
        dx_json_text(&r->tags_json, name);
        dx_buf_clear(&r->last_tag);
        dx_buf_append(&r->last_tag, name.data, name.size);
        break;
    }
    if (r->key.failed)
        return dx_buf_fail(&r->key, err, "key");
    if (r->last_tag.failed)
        return dx_buf_fail(&r->last_tag, err, "tag");
    return r->line.failed ? dx_buf_fail(&r->line, err, "file store") : DX_OK;
}

static int write_all(struct reading *r, struct dx_error *err)
{
    struct dx_span key;
    struct dx_span value;
    bool any = false;
    int rc;

    while ((rc = dx_spill_sort_next(r->sort, &key, &value, err)) == 1) {
        const uint8_t *zero = memchr(key.data, 0, key.size);
        struct dx_span url = dx_span_of(key.data, (size_t)(zero - key.data));

        if (!any || !dx_span_equal(url, dx_span_of(r->key.data, r->key.size))) {
            rc = any ? end_page(r, err) : DX_OK;
            if (rc < 0)
                return rc;
            begin_page(r, url);
            any = true;
        }
        rc = add_to_page(r, (enum kind)zero[1], dx_span_of(zero + 2, key.size - url.size - 2),
                         value, err);
        if (rc < 0)
            return rc;
    }
    return rc < 0 || !any ? rc : end_page(r, err);
}

static int open_output(struct dx_file_out *out, const char *path, bool *is_open,
                       struct dx_error *err)
{
    int rc = dx_file_out_open(out, path, err);

    *is_open = rc == DX_OK;
    return rc;
}

static int open_outputs(struct reading *r, struct dx_error *err)
{
    int rc = open_output(&r->out, r->o->to, &r->out_open, err);

    assert(r->o->dead == NULL || r->o->live != NULL);
    if (rc == DX_OK && r->o->dead != NULL)
        rc = open_output(&r->live, r->o->live, &r->live_open, err);
    if (rc == DX_OK && r->o->dead != NULL)
        rc = open_output(&r->dead, r->o->dead, &r->dead_open, err);
    return rc;
}

static int close_output(struct dx_file_out *out, bool *is_open, struct dx_error *err)
{
    bool was_open = *is_open;

    *is_open = false;
    return was_open ? dx_file_out_close(out, DX_SYNC_LATER, err) : DX_OK;
}

static int close_outputs(struct reading *r, struct dx_error *err)
{
    int rc = close_output(&r->out, &r->out_open, err);

    if (rc == DX_OK)
        rc = close_output(&r->dead, &r->dead_open, err);
    if (rc == DX_OK)
        rc = close_output(&r->live, &r->live_open, err);
    return rc;
}

static void release(struct reading *r)
{
    struct dx_buf *all[] = { &r->sort_key, &r->decoded, &r->key,    &r->line,   &r->tags,
                             &r->last_tag, &r->head,    &r->record, &r->scratch };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        dx_buf_release(all[i]);
    if (r->out_open)
        dx_file_out_abort(&r->out);
    if (r->dead_open)
        dx_file_out_abort(&r->dead);
    if (r->live_open)
        dx_file_out_abort(&r->live);
    dx_spill_sort_free(&r->sort);
    if (r->dir >= 0)
        (void)close(r->dir);
}

static void init(struct reading *r)
{
    dx_buf_init(&r->sort_key, DX_STORE_LINE_MAX + DX_STORE_TAG_MAX + 16);
    dx_buf_init(&r->decoded, DX_STORE_TAG_LINE_MAX);
    dx_buf_init(&r->key, DX_STORE_LINE_MAX);
    dx_buf_init(&r->line, 2 * DX_STORE_LINE_MAX);
    dx_buf_init(&r->tags, TAGS_COLUMN_MAX);
    dx_buf_init(&r->last_tag, DX_STORE_TAG_MAX);
    dx_buf_init(&r->head, DX_STORE_HEADER_MAX + PAYLOAD_MAX);
    dx_buf_init(&r->record, DX_LINE_MAX);
    dx_buf_init(&r->scratch, DX_LINE_MAX);
}

int dx_file_store_read(const struct dx_file_store_options *options,
                       struct dx_file_store_counts *counts, struct dx_error *err)
{
    struct reading r = { .o = options, .n = counts };
    struct dx_spill_sort_options sort = { .dir = options->tmp, .lanes = 1 };
    int rc = DX_OK;

    *counts = (struct dx_file_store_counts){ 0 };
    sort.memory_bytes = (size_t)(options->memory_bytes < SORT_MIN ? SORT_MIN
                                                                  : options->memory_bytes);
    init(&r);
    r.dir = open(options->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r.dir < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot open directory", options->dir);
    if (rc == DX_OK)
        rc = dx_spill_sort_new(&r.sort, &sort, err);
    if (rc == DX_OK)
        rc = sort_all(&r, err);
    if (rc == DX_OK)
        rc = open_outputs(&r, err);
    if (rc == DX_OK)
        rc = write_all(&r, err);
    if (rc == DX_OK)
        rc = close_outputs(&r, err);
    release(&r);
    return rc;
}
