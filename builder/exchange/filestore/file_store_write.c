/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/filestore/file_store.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/sha256.h"
#include "base/file.h"
#include "base/json_out.h"
#include "base/path.h"
#include "builder/input/bytes/gzip_out.h"
#include "builder/sort/spill_sort.h"
#include "format/version/store_index.h"
#include "format/version/tag_list.h"

#define SIGN ((uint64_t)1 << 63)
#define PAGE_MAX (3u << 20)
#define SORT_MIN ((uint64_t)16 << 20)

struct dx_file_store {
    char *dir;
    char *tmp;
    uint64_t memory_bytes;
    bool dry_run;
    struct dx_spill_sort *pages; /* URL, time, dataset -> the rest */
    struct dx_spill_sort *tags;  /* tag, URL */
    struct dx_file_store_counts *counts;
    struct dx_file_out index;
    bool index_open;
    bool unfinished; /* something of it is in dir */
    struct dx_gzip_out gzip;
    struct dx_buf key, value;
    struct dx_buf url, rest; /* of the page that the sort is at */
    struct dx_buf title, text;
};

static int sort_new(const struct dx_file_store *w, struct dx_spill_sort **s, struct dx_error *err)
{
    struct dx_spill_sort_options o = { .dir = w->tmp, .lanes = 1, .distinct = true };

    o.memory_bytes = (size_t)(w->memory_bytes / 2 < SORT_MIN ? SORT_MIN : w->memory_bytes / 2);
    return dx_spill_sort_new(s, &o, err);
}

/* What a store consists of while it is written, index.new from first to last. */
static const char *const own[] = { "index.new", "tags", "store" };

static bool is_own(const char *name)
{
    bool is = false;

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        is = is || strcmp(name, own[i]) == 0;
    return is;
}

/* index.new goes last: a folder that has it is known to be ours. */
static int clear(const char *dir, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = DX_OK;

    for (size_t i = sizeof own / sizeof *own; rc == DX_OK && i-- > 0;) {
        rc = dx_path_format(path, sizeof path, err, "%s/%s", dir, own[i]);
        if (rc == DX_OK && strcmp(own[i], "store") == 0)
            rc = dx_dir_remove(path, err);
        else if (rc == DX_OK && unlink(path) < 0 && errno != ENOENT)
            rc = dx_fail_errno(err, errno, "%s: cannot remove", path);
    }
    return rc;
}

/* Other files must not be mixed with ours: the folder is not examined, so it must be empty, but for what a run left that was
 * killed. */
static int check_empty(const char *dir, bool dry_run, struct dx_error *err)
{
    bool unfinished = false;
    bool other = false;
    bool any = false;
    struct dirent *entry;
    DIR *d = opendir(dir);

    if (d == NULL && dry_run && errno == ENOENT)
        return DX_OK;
    if (d == NULL)
        return dx_fail_errno(err, errno, "%s: cannot open directory", dir);
    while ((entry = readdir(d)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        any = true;
        unfinished = unfinished || strcmp(entry->d_name, own[0]) == 0;
        other = other || !is_own(entry->d_name);
    }
    (void)closedir(d);
    if (other || (any && !unfinished))
        return dx_fail(err, DX_E_EXISTS, "%s: is not empty", dir);
    return unfinished && !dry_run ? clear(dir, err) : DX_OK;
}

int dx_file_store_new(struct dx_file_store **out, const struct dx_file_store_to *to,
                      struct dx_error *err)
{
    struct dx_file_store *w = calloc(1, sizeof *w);
    int rc = DX_OK;

    *out = w;
    if (w == NULL)
        return dx_no_memory(err, "file store");
    dx_buf_init(&w->key, DX_STORE_LINE_MAX + 64);
    dx_buf_init(&w->value, PAGE_MAX);
    dx_buf_init(&w->url, DX_STORE_LINE_MAX + 64);
    dx_buf_init(&w->rest, PAGE_MAX);
    dx_buf_init(&w->title, DX_STORE_LINE_MAX);
    dx_buf_init(&w->text, 2 * PAGE_MAX);
    w->dir = strdup(to->dir);
    w->tmp = strdup(to->tmp);
    w->memory_bytes = to->memory_bytes;
    w->dry_run = to->dry_run;
    if (w->dir == NULL || w->tmp == NULL)
        return dx_no_memory(err, "file store");
    if (!w->dry_run)
        rc = dx_dir_make(w->dir, err);
    if (rc == DX_OK)
        rc = check_empty(w->dir, w->dry_run, err);
    if (rc == DX_OK)
        rc = sort_new(w, &w->pages, err);
    return rc < 0 ? rc : sort_new(w, &w->tags, err);
}

void dx_file_store_free(struct dx_file_store **w)
{
    if (*w == NULL)
        return;
    dx_spill_sort_free(&(*w)->pages);
    dx_spill_sort_free(&(*w)->tags);
    dx_gzip_out_abort(&(*w)->gzip);
    if ((*w)->unfinished && clear((*w)->dir, NULL) < 0 && (*w)->index_open) {
        (void)close((*w)->index.fd); /* by it the next run knows what could not be removed */
        (*w)->index.fd = -1;
    }
    if ((*w)->index_open)
        dx_file_out_abort(&(*w)->index);
    dx_buf_release(&(*w)->key);
    dx_buf_release(&(*w)->value);
    dx_buf_release(&(*w)->url);
    dx_buf_release(&(*w)->rest);
    dx_buf_release(&(*w)->title);
    dx_buf_release(&(*w)->text);
    free((*w)->dir);
    free((*w)->tmp);
    free(*w);
    *w = NULL;
}

static void put_be(struct dx_buf *b, uint64_t v, int bytes)
{
    while (bytes-- > 0)
        dx_buf_u8(b, (uint8_t)(v >> (8 * bytes)));
}

static void put_span(struct dx_buf *b, struct dx_span s)
{
    dx_buf_varint(b, s.size);
    dx_buf_append(b, s.data, s.size);
}

static struct dx_span take_span(struct dx_bytes *r)
{
    return dx_bytes_take(r, dx_bytes_varint(r));
}

int dx_file_store_add(struct dx_file_store *w, const struct dx_file_store_page *page,
                      struct dx_error *err)
{
    dx_buf_clear(&w->key);
    dx_buf_append(&w->key, page->url.data, page->url.size);
    dx_buf_u8(&w->key, 0);
    dx_buf_u8(&w->key, page->has_ts);
    put_be(&w->key, page->has_ts ? (uint64_t)page->ts_us ^ SIGN : 0, 8);
    put_be(&w->key, page->dataset_id, 4);
    dx_buf_clear(&w->value);
    put_span(&w->value, page->type);
    put_span(&w->value, page->title);
    put_span(&w->value, page->tags);
    put_span(&w->value, page->domain);
    put_span(&w->value, page->path);
    if (w->key.failed || w->value.failed)
        return dx_buf_fail(w->key.failed ? &w->key : &w->value, err, "file store: a page");
    return dx_spill_sort_add(w->pages, 0, dx_span_of(w->key.data, w->key.size),
                             dx_span_of(w->value.data, w->value.size), err);
}

/* ---- a page ---- */

/* Below `store`, by so many digits of the hash. */
static int make_folder(const struct dx_file_store *w, const char *hash, int digits,
                       struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = digits < 4
                 ? dx_path_format(path, sizeof path, err, "%s/store/%.*s", w->dir, digits, hash)
                 : dx_path_format(path, sizeof path, err, "%s/store/%.2s/%.2s", w->dir, hash,
                                  hash + 2);

    assert(digits == 0 || digits == 2 || digits == 4);
    if (rc < 0)
        return rc;
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return dx_fail_errno(err, errno, "%s: cannot make the folder", path);
    return DX_OK;
}

/* The last part of the path, without what is asked of it. */
static struct dx_span file_of(struct dx_span path)
{
    size_t begin = path.size;

    while (begin > 0 && path.data[begin - 1] != '/')
        begin--;
    return dx_span_from(path, begin);
}

static struct dx_span without_query(struct dx_span path)
{
    const uint8_t *mark = path.size == 0 ? NULL : memchr(path.data, '?', path.size);

    return mark == NULL ? path : dx_span_of(path.data, (size_t)(mark - path.data));
}

static void put_header(struct dx_buf *b, const char *name, struct dx_span value)
{
    dx_buf_str(b, name);
    dx_buf_u8(b, ':');
    dx_buf_append(b, value.data, value.size);
    dx_buf_u8(b, '\n');
}

static int write_storage(struct dx_file_store *w, const struct dx_store_entry *e,
                         struct dx_span domain, struct dx_span path, const char *hash,
                         struct dx_error *err)
{
    char name[PATH_MAX];
    int rc = dx_path_format(name, sizeof name, err, "%s/store/%.2s/%.2s/%s", w->dir, hash, hash + 2,
                            hash);

    if (rc < 0)
        return rc;
    path = without_query(path);
    dx_buf_clear(&w->text);
    put_header(&w->text, "KEY", e->key);
    put_header(&w->text, "HASH", e->hash);
    put_header(&w->text, "DOMAIN", domain);
    put_header(&w->text, "PATH", path);
    put_header(&w->text, "FILE", file_of(path));
    put_header(&w->text, "CONTENTTYPE", e->type);
    put_header(&w->text, "TITLE", e->title);
    dx_buf_str(&w->text, "\n{}\n"); /* the payload: a lake has none */
    if (w->text.failed)
        return dx_buf_fail(&w->text, err, "file store: headers");
    rc = make_folder(w, hash, 2, err);
    if (rc == DX_OK)
        rc = make_folder(w, hash, 4, err);
    if (rc == DX_OK)
        rc = dx_gzip_out_open(&w->gzip, name, err);
    if (rc == DX_OK)
        rc = dx_gzip_out_write(&w->gzip, dx_span_of(w->text.data, w->text.size), err);
    return rc < 0 ? rc : dx_gzip_out_close(&w->gzip, err);
}

/* A line cannot hold a line end. */
static struct dx_span mended(struct dx_file_store *w, struct dx_span title)
{
    bool any = false;

    dx_buf_clear(&w->title);
    dx_buf_append(&w->title, title.data, title.size);
    for (size_t i = 0; i < w->title.size; i++)
        if (w->title.data[i] == '\n' || w->title.data[i] == '\r') {
            w->title.data[i] = ' ';
            any = true;
        }
    w->counts->titles_mended += any;
    return dx_span_of(w->title.data, w->title.size);
}

/* All or none of the page's tags: a column that only looks like an array says nothing. */
static int add_tags(struct dx_file_store *w, struct dx_span url, struct dx_span tags,
                    struct dx_error *err)
{
    struct dx_tag_list all;
    int rc;

    if (tags.size == 0)
        return DX_OK;
    dx_tag_list_begin(&all, tags);
    while ((rc = dx_tag_list_next(&all, &w->text)) == 1)
        ;
    if (rc < 0 && w->text.no_memory)
        return dx_no_memory(err, "file store: tags of a page");
    if (rc < 0) {
        w->counts->tags_dropped++;
        return DX_OK;
    }
    dx_tag_list_begin(&all, tags);
    while ((rc = dx_tag_list_next(&all, &w->text)) == 1) {
        if (!dx_store_tag_fits(dx_span_of(w->text.data, w->text.size))) {
            w->counts->tags_dropped++;
            continue;
        }
        dx_buf_clear(&w->key);
        dx_buf_append(&w->key, w->text.data, w->text.size);
        dx_buf_u8(&w->key, 0);
        dx_buf_append(&w->key, url.data, url.size);
        if (w->key.failed)
            return dx_buf_fail(&w->key, err, "file store: a tag");
        if (dx_spill_sort_add(w->tags, 0, dx_span_of(w->key.data, w->key.size), dx_span_of("", 0),
                              err) < 0)
            return (int)err->code;
    }
    return rc < 0 ? dx_no_memory(err, "file store: tags of a page") : DX_OK;
}

static int write_page(struct dx_file_store *w, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(dx_span_of(w->rest.data, w->rest.size));
    struct dx_store_entry e = { .key = dx_span_of(w->url.data, w->url.size) };
    uint8_t sum[DX_SHA256_SIZE];
    char hash[DX_SHA256_HEX];
    struct dx_span tags;
    struct dx_span domain;
    struct dx_span path;
    int rc;

    e.type = take_span(&r);
    e.title = mended(w, take_span(&r));
    tags = take_span(&r);
    domain = take_span(&r);
    path = take_span(&r);
    if (!dx_sha256(e.key, sum))
        return dx_no_memory(err, "file store");
    dx_sha256_hex(sum, hash);
    e.hash = dx_span_of(hash, DX_STORE_HASH_SIZE);
    dx_buf_clear(&w->text);
    if (w->title.no_memory)
        return dx_buf_fail(&w->title, err, "file store: a title");
    if (r.failed || w->title.failed || !dx_store_entry_put(&w->text, &e)) {
        if (w->text.no_memory)
            return dx_buf_fail(&w->text, err, "file store: a line");
        w->counts->unwritable++;
        return DX_OK;
    }
    if (w->text.failed)
        return dx_buf_fail(&w->text, err, "file store: a line");
    rc = w->dry_run ? DX_OK
                    : dx_file_out_write(&w->index, dx_span_of(w->text.data, w->text.size), err);
    if (rc == DX_OK && !w->dry_run)
        rc = write_storage(w, &e, domain, path, hash, err);
    w->counts->pages++;
    w->counts->lines++;
    return rc < 0 ? rc : add_tags(w, e.key, tags, err);
}

static int write_pages(struct dx_file_store *w, struct dx_error *err)
{
    struct dx_span key;
    struct dx_span value;
    bool any = false;
    int rc = dx_spill_sort_finish(w->pages, err);

    while (rc == DX_OK && (rc = dx_spill_sort_next(w->pages, &key, &value, err)) == 1) {
        const uint8_t *zero = memchr(key.data, 0, key.size);
        struct dx_span url = dx_span_of(key.data, (size_t)(zero - key.data));
        bool same = any && dx_span_equal(url, dx_span_of(w->url.data, w->url.size));

        rc = DX_OK;
        w->counts->superseded += same;
        if (any && !same)
            rc = write_page(w, err);
        any = true;
        dx_buf_clear(&w->url);
        dx_buf_append(&w->url, url.data, url.size);
        dx_buf_clear(&w->rest);
        dx_buf_append(&w->rest, value.data, value.size);
        if (w->url.failed || w->rest.failed)
            return dx_buf_fail(w->url.failed ? &w->url : &w->rest, err, "file store: a page");
    }
    return rc < 0 || !any ? rc : write_page(w, err);
}

/* ---- tags ---- */

static int write_tag_text(struct dx_file_store *w, struct dx_span text, struct dx_error *err)
{
    return w->dry_run ? DX_OK : dx_gzip_out_write(&w->gzip, text, err);
}

static int write_tag_key(struct dx_file_store *w, struct dx_span url, bool first,
                         struct dx_error *err)
{
    dx_buf_clear(&w->text);
    dx_buf_str(&w->text, first ? "\"" : ", \"");
    dx_json_escape(&w->text, url);
    dx_buf_u8(&w->text, '"');
    if (w->text.failed)
        return dx_buf_fail(&w->text, err, "file store: a tag");
    return write_tag_text(w, dx_span_of(w->text.data, w->text.size), err);
}

static int begin_tag(struct dx_file_store *w, struct dx_span tag, bool any, struct dx_error *err)
{
    dx_buf_clear(&w->url);
    dx_buf_append(&w->url, tag.data, tag.size);
    dx_buf_clear(&w->text);
    dx_buf_str(&w->text, any ? "]\n" : "");
    dx_buf_append(&w->text, tag.data, tag.size);
    dx_buf_str(&w->text, DX_STORE_TAG_SEPARATOR "[");
    w->counts->tag_lines++;
    return write_tag_text(w, dx_span_of(w->text.data, w->text.size), err);
}

static int write_tag_lines(struct dx_file_store *w, struct dx_error *err)
{
    struct dx_span key;
    struct dx_span value;
    uint64_t line = 0;
    bool any = false;
    int rc;

    while ((rc = dx_spill_sort_next(w->tags, &key, &value, err)) == 1) {
        const uint8_t *zero = memchr(key.data, 0, key.size);
        struct dx_span tag = dx_span_of(key.data, (size_t)(zero - key.data));
        struct dx_span url = dx_span_of(zero + 1, key.size - tag.size - 1);
        bool same = any && dx_span_equal(tag, dx_span_of(w->url.data, w->url.size));

        if (!same) {
            rc = begin_tag(w, tag, any, err);
            line = DX_STORE_TAG_MAX;
        }
        if (rc < 0)
            return rc;
        any = true;
        line += 6 * url.size + 4; /* escaped at the longest */
        if (line > DX_STORE_TAG_LINE_MAX) {
            w->counts->tags_dropped++; /* a longer line could not be read again */
            continue;
        }
        rc = write_tag_key(w, url, !same, err);
        if (rc < 0)
            return rc;
    }
    return rc < 0 || !any ? rc : write_tag_text(w, dx_span_str("]\n"), err);
}

static int write_tags(struct dx_file_store *w, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = dx_path_format(path, sizeof path, err, "%s/tags", w->dir);

    if (rc == DX_OK)
        rc = dx_spill_sort_finish(w->tags, err);
    if (rc == DX_OK && !w->dry_run)
        rc = dx_gzip_out_open(&w->gzip, path, err);
    if (rc == DX_OK)
        rc = write_tag_lines(w, err);
    return rc < 0 || w->dry_run ? rc : dx_gzip_out_close(&w->gzip, err);
}

/* ---- all of it ---- */

/* `index` gets its name when all else is on the disk: a store without it is one that was not
 * finished. */
static int finish_index(struct dx_file_store *w, struct dx_sync_all *all, const char *from,
                        struct dx_error *err)
{
    char to[PATH_MAX];
    int rc;

    assert(w->index_open);
    w->index_open = false;
    rc = dx_file_out_close(&w->index, DX_SYNC_NOW, err);
    if (rc == DX_OK)
        rc = dx_sync_all_flush(all, err);
    if (rc == DX_OK)
        rc = dx_path_format(to, sizeof to, err, "%s/index", w->dir);
    if (rc == DX_OK && rename(from, to) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot be renamed to index", from);
    if (rc < 0)
        return rc;
    rc = dx_dir_sync(w->dir, err);
    if (rc < 0)
        (void)unlink(to);
    return rc;
}

int dx_file_store_write(struct dx_file_store *w, struct dx_file_store_counts *counts,
                        struct dx_error *err)
{
    struct dx_sync_all all = DX_SYNC_ALL_INIT;
    char path[PATH_MAX];
    int rc = dx_path_format(path, sizeof path, err, "%s/index.new", w->dir);

    *counts = (struct dx_file_store_counts){ 0 };
    w->counts = counts;
    if (w->dry_run) {
        rc = write_pages(w, err);
        return rc == DX_OK ? write_tags(w, err) : rc;
    }
    if (rc == DX_OK)
        rc = dx_sync_all_open(&all, w->dir, err);
    if (rc == DX_OK)
        rc = dx_file_out_open(&w->index, path, err);
    w->index_open = w->unfinished = rc == DX_OK;
    if (rc == DX_OK)
        rc = make_folder(w, "", 0, err);
    if (rc == DX_OK)
        rc = write_pages(w, err);
    if (rc == DX_OK)
        rc = write_tags(w, err);
    if (rc == DX_OK)
        rc = finish_index(w, &all, path, err);
    w->unfinished = w->unfinished && rc < 0;
    dx_sync_all_close(&all);
    return rc;
}
