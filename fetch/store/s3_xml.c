/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/store/s3_xml.h"

#include "base/hex.h"
#include "fetch/range_reply.h"

#include <expat.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 8
#define NAME_MAX_SIZE 64
#define TEXT_MAX 8192 /* a key of 2048 bytes in %XX and more */

struct reader;

/* What each kind of reply does with a closed element; negative ends the walk. */
typedef int on_close(void *ctx, const struct reader *r, struct dx_error *err);

/* Where the reader stands: the names of the open elements, and the text since the last tag. */
struct reader {
    XML_Parser parser;
    const char *root;
    on_close *closed;
    void *ctx;
    struct dx_error *err;
    int rc; /* of a handler; what expat itself refuses stands in the parser */
    size_t depth;
    char names[DEPTH_MAX][NAME_MAX_SIZE];
    bool leaf; /* no element has closed since the innermost one was opened */
    size_t text_size;
    char text[TEXT_MAX + 1]; /* with a NUL */
};

static void stop(struct reader *r, int rc)
{
    r->rc = rc;
    (void)XML_StopParser(r->parser, XML_FALSE);
}

static int refused(const struct reader *r, const char *why, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "the reply is not XML as S3 writes it, at byte %ld: %s",
                   (long)XML_GetCurrentByteIndex(r->parser), why);
}

static void refuse(struct reader *r, const char *why)
{
    stop(r, refused(r, why, r->err));
}

static void XMLCALL on_open(void *ctx, const XML_Char *name, const XML_Char **attributes)
{
    struct reader *r = ctx;
    const char *colon = strrchr(name, ':');
    const char *local = colon == NULL ? name : colon + 1;

    (void)attributes;
    if (r->rc < 0)
        return;
    if (r->depth == DEPTH_MAX || strlen(local) >= NAME_MAX_SIZE) {
        refuse(r, r->depth == DEPTH_MAX ? "elements are nested too deeply" : "a name is too long");
        return;
    }
    if (r->depth == 0 && strcmp(local, r->root) != 0) {
        stop(r,
             dx_fail(r->err, DX_E_CORRUPT, "the reply is a <%s> and not a <%s>", local, r->root));
        return;
    }
    memcpy(r->names[r->depth++], local, strlen(local) + 1);
    r->leaf = true;
    r->text_size = 0;
}

static void XMLCALL on_text(void *ctx, const XML_Char *text, int size)
{
    struct reader *r = ctx;

    if (r->rc < 0)
        return;
    if ((size_t)size > TEXT_MAX - r->text_size) {
        refuse(r, "a text is too long");
        return;
    }
    memcpy(r->text + r->text_size, text, (size_t)size);
    r->text_size += (size_t)size;
}

static void XMLCALL on_end(void *ctx, const XML_Char *name)
{
    struct reader *r = ctx;
    int rc;

    (void)name;
    if (r->rc < 0)
        return;
    r->text[r->text_size] = '\0';
    rc = r->closed(r->ctx, r, r->err);
    if (rc < 0)
        stop(r, rc);
    r->depth--;
    r->leaf = false;
    r->text_size = 0;
}

/* Without a document type there are no entities but the five named and the numeric ones. */
static void XMLCALL on_document_type(void *ctx, const XML_Char *name, const XML_Char *system,
                                     const XML_Char *public, int internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    refuse(ctx, "it has a document type");
}

static bool leaf_is(const struct reader *r, size_t depth, const char *name)
{
    return r->leaf && r->depth == depth && strcmp(r->names[depth - 1], name) == 0;
}

static int parse_text(struct reader *r, struct dx_span text)
{
    enum XML_Error why;

    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, on_open, on_end);
    XML_SetCharacterDataHandler(r->parser, on_text);
    XML_SetStartDoctypeDeclHandler(r->parser, on_document_type);
    if (text.size > INT_MAX)
        return dx_fail(r->err, DX_E_LIMIT, "the reply has %zu bytes", text.size);
    if (XML_Parse(r->parser, (const char *)text.data, (int)text.size, XML_TRUE) == XML_STATUS_OK)
        return DX_OK;
    if (r->rc < 0)
        return r->rc;
    why = XML_GetErrorCode(r->parser);
    return why == XML_ERROR_NO_MEMORY ? dx_no_memory(r->err, "S3 reply")
                                      : refused(r, XML_ErrorString(why), r->err);
}

/* UTF-8, whatever the reply says of itself. */
static int walk_reply(struct dx_span text, const char *root, on_close *closed, void *ctx,
                      struct dx_error *err)
{
    struct reader *r = calloc(1, sizeof *r);
    int rc;

    if (r == NULL)
        return dx_no_memory(err, "S3 reply");
    r->parser = XML_ParserCreate("UTF-8");
    r->root = root;
    r->closed = closed;
    r->ctx = ctx;
    r->err = err;
    rc = r->parser == NULL ? dx_no_memory(err, "S3 reply") : parse_text(r, text);
    XML_ParserFree(r->parser);
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

/* As encoding-type=url writes it: %XX, and + for a blank. */
static bool decode_key(char *key)
{
    for (char *plus = key; (plus = strchr(plus, '+')) != NULL;)
        *plus = ' ';
    return dx_hex_unescape(key);
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
        return dx_no_memory(err, "S3 listing");
    w->page = page;
    w->each = each;
    w->ctx = ctx;
    /* Stores differ on whether they say it before or after the keys; this also refuses a broken
     * reply before anything of it is handed on. */
    rc = walk_reply(text, "ListBucketResult", page_closed, w, err);
    /* A reader that takes half a listing for the whole would treat objects as removed. */
    if (rc == DX_OK && w->ends != 1)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "the listing has %u times IsTruncated, which has to be there once", w->ends);
    if (rc == DX_OK && page->truncated && page->token[0] == '\0')
        rc = dx_fail(err, DX_E_CORRUPT, "the listing goes on, but says not where");
    if (rc == DX_OK)
        rc = walk_reply(text, "ListBucketResult", list_closed, w, err);
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
    rc = walk_reply(text, "InitiateMultipartUploadResult", upload_closed, id, err);
    if (rc == DX_OK && id[0] == '\0')
        rc = dx_fail(err, DX_E_CORRUPT, "the reply names no upload");
    return rc;
}

static bool code_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':';
}

static int etag_closed(void *ctx, const struct reader *r, struct dx_error *err)
{
    (void)err;
    if (leaf_is(r, 2, "ETag"))
        keep_etag(r->text, ctx);
    return DX_OK;
}

static int read_etag(struct dx_span text, const char *root, char etag[DX_SOURCE_ETAG],
                     struct dx_error *err)
{
    int rc;

    etag[0] = '\0';
    rc = walk_reply(text, root, etag_closed, etag, err);
    if (rc == DX_OK && etag[0] == '\0')
        rc = dx_fail(err, DX_E_CORRUPT, "the reply has no ETag");
    return rc;
}

int dx_s3_xml_complete(struct dx_span text, char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    return read_etag(text, "CompleteMultipartUploadResult", etag, err);
}

int dx_s3_xml_copy(struct dx_span text, char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    return read_etag(text, "CopyObjectResult", etag, err);
}

static int error_closed(void *ctx, const struct reader *r, struct dx_error *err)
{
    struct dx_s3_error *e = ctx;
    size_t n = 0;

    (void)err;
    if (leaf_is(r, 2, "Code")) {
        for (const char *p = r->text; *p != '\0' && n < DX_S3_CODE_MAX - 1; p++)
            if (code_byte(*p))
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
    return text.size > 0 && walk_reply(text, "Error", error_closed, e, NULL) == DX_OK;
}
