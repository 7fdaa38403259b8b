/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/s3_xml.h"

#include "fetch/range_reply.h"

#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 8
#define NAME_MAX_SIZE 64
#define TEXT_MAX 8192 /* a key of 2048 bytes in %XX and more */

/* Where the reader stands: the names of the open elements, and the text since the last tag. */
struct reader {
    struct dx_span left;
    size_t depth;
    char names[DEPTH_MAX][NAME_MAX_SIZE];
    bool leaf; /* no element has closed since the innermost one was opened */
    bool ended;
    size_t text_size;
    char text[TEXT_MAX + 1]; /* with a NUL */
};

enum event { OPENED, CLOSED, ENDED, BROKEN };

static bool name_byte(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':';
}

static bool blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip(struct reader *r, size_t n)
{
    r->left = dx_span_of(r->left.data + n, r->left.size - n);
}

static bool begins(const struct reader *r, const char *with)
{
    size_t n = strlen(with);

    return r->left.size >= n && memcmp(r->left.data, with, n) == 0;
}

/* Past the first occurrence of `end`. */
static bool skip_past(struct reader *r, const char *end)
{
    const uint8_t *at = r->left.size > 0 ? memmem(r->left.data, r->left.size, end, strlen(end))
                                         : NULL;

    if (at == NULL)
        return false;
    skip(r, (size_t)(at - r->left.data) + strlen(end));
    return true;
}

static bool add_byte(struct reader *r, uint32_t c)
{
    if (r->text_size == TEXT_MAX)
        return false;
    r->text[r->text_size++] = (char)c;
    return true;
}

static bool add_code_point(struct reader *r, uint32_t c)
{
    if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return false;
    if (c < 0x80)
        return add_byte(r, c);
    if (c < 0x800)
        return add_byte(r, 0xc0 | c >> 6) && add_byte(r, 0x80 | (c & 0x3f));
    if (c < 0x10000)
        return add_byte(r, 0xe0 | c >> 12) && add_byte(r, 0x80 | (c >> 6 & 0x3f)) &&
               add_byte(r, 0x80 | (c & 0x3f));
    return add_byte(r, 0xf0 | c >> 18) && add_byte(r, 0x80 | (c >> 12 & 0x3f)) &&
           add_byte(r, 0x80 | (c >> 6 & 0x3f)) && add_byte(r, 0x80 | (c & 0x3f));
}

/* Between & and ;, at most 10 bytes. */
static bool add_entity(struct reader *r)
{
    static const struct {
        const char *name;
        char c;
    } named[] = { { "amp", '&' }, { "lt", '<' }, { "gt", '>' }, { "quot", '"' }, { "apos", '\'' } };
    char name[12] = "";
    size_t n = 0;
    char *end;
    unsigned long code;

    skip(r, 1);
    while (n < sizeof name - 1 && n < r->left.size && r->left.data[n] != ';') {
        name[n] = (char)r->left.data[n];
        n++;
    }
    if (n == 0 || n == r->left.size || r->left.data[n] != ';')
        return false;
    skip(r, n + 1);
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (strcmp(name, named[i].name) == 0)
            return add_byte(r, (uint8_t)named[i].c);
    if (name[0] != '#' || strspn(name + 1, "x0123456789abcdefABCDEF") != n - 1 || n < 2)
        return false;
    code = name[1] == 'x' ? strtoul(name + 2, &end, 16) : strtoul(name + 1, &end, 10);
    return *end == '\0' && end > name + 1 + (name[1] == 'x') && code <= 0x10ffff &&
           add_code_point(r, (uint32_t)code);
}

/* Up to the next tag. */
static bool take_text(struct reader *r)
{
    while (r->left.size > 0 && r->left.data[0] != '<') {
        if (r->depth == 0 && !blank(r->left.data[0]))
            return false;
        if (r->left.data[0] == '&') {
            if (!add_entity(r))
                return false;
            continue;
        }
        if (r->left.data[0] == 0 || (r->depth > 0 && !add_byte(r, r->left.data[0])))
            return false;
        skip(r, 1);
    }
    return true;
}

/* The name at the cursor, without what stands before its colon. */
static bool take_name(struct reader *r, char name[NAME_MAX_SIZE])
{
    size_t n = 0;
    size_t from = 0;

    while (n < r->left.size && name_byte(r->left.data[n])) {
        if (r->left.data[n] == ':')
            from = n + 1;
        n++;
    }
    if (n == from || n - from >= NAME_MAX_SIZE)
        return false;
    memcpy(name, r->left.data + from, n - from);
    name[n - from] = '\0';
    skip(r, n);
    return true;
}

/* Attributes, whose values may hold a '>'. *closed: the tag ends in "/>". */
static bool skip_attributes(struct reader *r, bool *closed)
{
    uint8_t quote = 0;

    while (r->left.size > 0) {
        uint8_t c = r->left.data[0];

        skip(r, 1);
        if (quote != 0) {
            quote = c == quote ? 0 : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '<') {
            return false;
        } else if (c == '>') {
            return true;
        }
        *closed = quote == 0 && c == '/';
    }
    return false;
}

static enum event closing_tag(struct reader *r)
{
    char name[NAME_MAX_SIZE];

    skip(r, 2);
    if (!take_name(r, name) || r->depth == 0 || strcmp(name, r->names[r->depth - 1]) != 0)
        return BROKEN;
    while (r->left.size > 0 && blank(r->left.data[0]))
        skip(r, 1);
    if (!begins(r, ">"))
        return BROKEN;
    skip(r, 1);
    r->text[r->text_size] = '\0';
    return CLOSED;
}

static enum event opening_tag(struct reader *r)
{
    bool closed = false;

    skip(r, 1);
    if (r->depth == DEPTH_MAX || r->ended || !take_name(r, r->names[r->depth]) ||
        !skip_attributes(r, &closed))
        return BROKEN;
    r->depth++;
    r->leaf = true;
    r->text_size = 0;
    r->text[0] = '\0';
    return closed ? CLOSED : OPENED;
}

/* After CLOSED the element is still on the stack, with its text if it is a leaf; `step` goes on. */
static enum event step(struct reader *r, bool was_closed)
{
    if (was_closed) {
        r->depth--;
        r->leaf = false;
        r->text_size = 0;
        r->ended = r->depth == 0;
    }
    for (;;) {
        if (!take_text(r))
            return BROKEN;
        if (r->left.size == 0)
            return r->ended ? ENDED : BROKEN;
        if (begins(r, "<?")) {
            if (!skip_past(r, "?>"))
                return BROKEN;
        } else if (begins(r, "<!--")) {
            if (!skip_past(r, "-->"))
                return BROKEN;
        } else {
            return begins(r, "</") ? closing_tag(r) : opening_tag(r);
        }
    }
}

static void reader_begin(struct reader *r, struct dx_span text)
{
    memset(r, 0, sizeof *r);
    r->left = text;
    if (begins(r, "\xef\xbb\xbf"))
        skip(r, 3);
}

/* What each kind of reply does with a closed element; negative ends the walk. */
typedef int on_close(void *ctx, const struct reader *r, struct dx_error *err);

static bool leaf_is(const struct reader *r, size_t depth, const char *name)
{
    return r->leaf && r->depth == depth && strcmp(r->names[depth - 1], name) == 0;
}

static int broken(const struct reader *r, struct dx_span text, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "the reply is not XML as S3 writes it, at byte %zu of %zu",
                   text.size - r->left.size, text.size);
}

static int walk(struct dx_span text, const char *root, on_close *closed, void *ctx,
                struct dx_error *err)
{
    struct reader *r = malloc(sizeof *r);
    enum event event = OPENED;
    int rc = DX_OK;

    if (r == NULL)
        return dx_fail(err, DX_E_NOMEM, "S3 reply: out of memory");
    reader_begin(r, text);
    while (rc == DX_OK) {
        event = step(r, event == CLOSED);
        if (event == ENDED)
            break;
        if (event == BROKEN)
            rc = broken(r, text, err);
        else if (strcmp(r->names[0], root) != 0)
            rc = dx_fail(err, DX_E_CORRUPT, "the reply is a <%s> and not a <%s>", r->names[0],
                         root);
        else if (event == CLOSED)
            rc = closed(ctx, r, err);
    }
    free(r);
    return rc;
}

static void keep_etag(const char *text, char etag[DX_SOURCE_ETAG])
{
    if (strlen(text) + 3 > DX_SOURCE_ETAG)
        return;
    /* Some stores leave the quotes out in XML. */
    (void)snprintf(etag, DX_SOURCE_ETAG, text[0] == '"' ? "%s" : "\"%s\"", text);
    if (!dx_etag_strong(etag))
        etag[0] = '\0';
}

static bool keep_number(const char *text, uint64_t *number)
{
    size_t n = strlen(text);

    *number = 0;
    if (n == 0 || n > 19 || strspn(text, "0123456789") != n)
        return false;
    *number = strtoull(text, NULL, 10);
    return true;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* As encoding-type=url writes it: %XX, and + for a blank. */
static bool decode_key(char *key)
{
    char *to = key;

    for (const char *p = key; *p != '\0'; p++) {
        if (*p == '%') {
            int high = hex_digit(p[1]);
            int low = high < 0 ? -1 : hex_digit(p[2]);

            if (low < 0 || (high == 0 && low == 0))
                return false;
            *to++ = (char)(high * 16 + low);
            p += 2;
        } else {
            *to++ = *p == '+' ? ' ' : *p;
        }
    }
    *to = '\0';
    return true;
}

#define RAW_KEY_MAX (3 * DX_S3_KEY_MAX)

struct list_walk {
    struct dx_s3_page *page;
    bool encoded; /* the reply says that its keys are */
    dx_s3_each *each;
    void *ctx;
    bool has_key, has_size;
    unsigned ends; /* how often it says whether there is more */
    char raw[RAW_KEY_MAX + 1];
    struct dx_s3_listed listed;
};

static int end_of_contents(struct list_walk *w, struct dx_error *err)
{
    int rc;

    if (!w->has_key || !w->has_size)
        return dx_fail(err, DX_E_CORRUPT, "the listing has an object without key or size");
    if (w->encoded && !decode_key(w->raw))
        return dx_fail(err, DX_E_CORRUPT, "the listing has a key that is encoded wrongly");
    if (strlen(w->raw) > DX_S3_KEY_MAX)
        return dx_fail(err, DX_E_LIMIT, "the listing has a key of more than %d bytes",
                       DX_S3_KEY_MAX);
    memcpy(w->listed.key, w->raw, strlen(w->raw) + 1);
    w->page->count++;
    w->has_key = w->has_size = false;
    rc = w->each(w->ctx, &w->listed, err);
    w->listed.etag[0] = '\0';
    return rc;
}

static int list_contents(struct list_walk *w, const struct reader *r, struct dx_error *err)
{
    if (leaf_is(r, 3, "Key")) {
        if (r->text_size > RAW_KEY_MAX)
            return dx_fail(err, DX_E_LIMIT, "the listing has a key of more than %d bytes",
                           DX_S3_KEY_MAX);
        memcpy(w->raw, r->text, r->text_size + 1);
        w->has_key = true;
    } else if (leaf_is(r, 3, "Size")) {
        w->has_size = keep_number(r->text, &w->listed.size);
    } else if (leaf_is(r, 3, "ETag")) {
        keep_etag(r->text, w->listed.etag);
    }
    return DX_OK;
}

static int list_closed(void *ctx, const struct reader *r, struct dx_error *err)
{
    struct list_walk *w = ctx;

    if (r->depth >= 2 && strcmp(r->names[1], "Contents") == 0)
        return r->depth == 2 ? end_of_contents(w, err) : list_contents(w, r, err);
    return DX_OK;
}

/* What is said of the page as a whole. */
static int page_closed(void *ctx, const struct reader *r, struct dx_error *err)
{
    struct list_walk *w = ctx;

    if (leaf_is(r, 2, "EncodingType"))
        w->encoded = strcmp(r->text, "url") == 0;
    if (leaf_is(r, 2, "IsTruncated")) {
        w->page->truncated = strcmp(r->text, "true") == 0;
        if (!w->page->truncated && strcmp(r->text, "false") != 0)
            return dx_fail(err, DX_E_CORRUPT,
                           "the listing has IsTruncated '%.20s', neither true nor false", r->text);
        w->ends++;
    }
    if (leaf_is(r, 2, "NextContinuationToken")) {
        if (r->text_size > DX_S3_TOKEN_MAX)
            return dx_fail(err, DX_E_LIMIT, "the listing's continuation token is too long");
        memcpy(w->page->token, r->text, r->text_size + 1);
    }
    return DX_OK;
}

int dx_s3_xml_list(struct dx_span text, struct dx_s3_page *page, dx_s3_each *each, void *ctx,
                   struct dx_error *err)
{
    struct list_walk *w = calloc(1, sizeof *w);
    int rc;

    memset(page, 0, sizeof *page);
    if (w == NULL)
        return dx_fail(err, DX_E_NOMEM, "S3 listing: out of memory");
    w->page = page;
    w->each = each;
    w->ctx = ctx;
    /* Stores differ on whether they say it before or after the keys; this also refuses a broken
     * reply before anything of it is handed on. */
    rc = walk(text, "ListBucketResult", page_closed, w, err);
    /* Whoever takes half a listing for the whole believes that objects are gone. */
    if (rc == DX_OK && w->ends != 1)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "the listing has %u times IsTruncated, which has to be there once", w->ends);
    if (rc == DX_OK && page->truncated && page->token[0] == '\0')
        rc = dx_fail(err, DX_E_CORRUPT, "the listing goes on, but says not where");
    if (rc == DX_OK)
        rc = walk(text, "ListBucketResult", list_closed, w, err);
    free(w);
    return rc;
}

static int upload_closed(void *ctx, const struct reader *r, struct dx_error *err)
{
    if (!leaf_is(r, 2, "UploadId"))
        return DX_OK;
    if (r->text_size == 0 || r->text_size > DX_S3_UPLOAD_ID_MAX)
        return dx_fail(err, DX_E_CORRUPT, "the upload's id has %zu bytes", r->text_size);
    memcpy(ctx, r->text, r->text_size + 1);
    return DX_OK;
}

int dx_s3_xml_upload_id(struct dx_span text, char id[DX_S3_UPLOAD_ID_MAX + 1], struct dx_error *err)
{
    int rc;

    id[0] = '\0';
    rc = walk(text, "InitiateMultipartUploadResult", upload_closed, id, err);
    if (rc == DX_OK && id[0] == '\0')
        rc = dx_fail(err, DX_E_CORRUPT, "the reply names no upload");
    return rc;
}

static int complete_closed(void *ctx, const struct reader *r, struct dx_error *err)
{
    (void)err;
    if (leaf_is(r, 2, "ETag"))
        keep_etag(r->text, ctx);
    return DX_OK;
}

int dx_s3_xml_complete(struct dx_span text, char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    int rc;

    etag[0] = '\0';
    rc = walk(text, "CompleteMultipartUploadResult", complete_closed, etag, err);
    if (rc == DX_OK && etag[0] == '\0')
        rc = dx_fail(err, DX_E_CORRUPT, "the reply has no ETag");
    return rc;
}

static int error_closed(void *ctx, const struct reader *r, struct dx_error *err)
{
    struct dx_s3_error *e = ctx;
    size_t n = 0;

    (void)err;
    if (leaf_is(r, 2, "Code")) {
        for (const char *p = r->text; *p != '\0' && n < DX_S3_CODE_MAX - 1; p++)
            if (name_byte((uint8_t)*p))
                e->code[n++] = *p;
        e->code[n] = '\0';
    } else if (leaf_is(r, 2, "Message")) {
        for (const char *p = r->text; *p != '\0' && n < DX_S3_MESSAGE_MAX - 1; p++)
            e->message[n++] = *p >= 0x20 && *p < 0x7f ? *p : '?';
        e->message[n] = '\0';
    }
    return DX_OK;
}

bool dx_s3_xml_error(struct dx_span text, struct dx_s3_error *e)
{
    memset(e, 0, sizeof *e);
    return text.size > 0 && walk(text, "Error", error_closed, e, NULL) == DX_OK;
}
