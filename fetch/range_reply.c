/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/range_reply.h"

void dx_reply_begin(struct dx_reply *r)
{
    memset(r, 0, sizeof *r);
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Digits at the front of *s, taken off; false if there are none or they overflow. */
static bool take_number(struct dx_span *s, uint64_t *value)
{
    size_t n = 0;
    uint64_t v = 0;

    for (; n < s->size && is_digit(s->data[n]); n++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s->data[n] - '0'), &v))
            return false;
    *s = dx_span_from(*s, n);
    *value = v;
    return n > 0;
}

static bool take_char(struct dx_span *s, char c)
{
    if (s->size == 0 || s->data[0] != (uint8_t)c)
        return false;
    *s = (struct dx_span){ s->data + 1, s->size - 1 };
    return true;
}

/* "HTTP/1.1 206 Partial Content", "HTTP/2 206": libcurl writes HTTP/2's status this way. */
static void status_line(struct dx_reply *r, struct dx_span line)
{
    struct dx_span at = { line.data + 5, line.size - 5 };
    uint64_t major = 0;
    uint64_t minor;
    uint64_t status = 0;
    unsigned lines;
    bool malformed;
    bool ok = take_number(&at, &major);

    if (ok && take_char(&at, '.'))
        ok = take_number(&at, &minor);
    ok = ok && take_char(&at, ' ') && take_number(&at, &status) && status >= 100 && status <= 999;
    if (r->in_body || !ok || (at.size > 0 && at.data[0] != ' ')) {
        r->malformed = true;
        return;
    }
    /* An interim reply (1xx) came before: only the last one counts, damage counts always. */
    malformed = r->malformed;
    lines = r->lines;
    dx_reply_begin(r);
    r->malformed = malformed;
    r->lines = lines;
    r->status = (unsigned)status;
    r->http1 = major < 2;
}

/* "bytes 0-99/1234"; the total may be an asterisk. */
static void content_range(struct dx_reply *r, struct dx_span value)
{
    bool ok;

    r->ranges++;
    if (value.size < 6 || !dx_span_is_word(dx_span_of(value.data, 5), "bytes")) {
        r->range_bad = true;
        return;
    }
    value = (struct dx_span){ value.data + 5, value.size - 5 };
    ok = take_char(&value, ' ') && take_number(&value, &r->first) && take_char(&value, '-') &&
         take_number(&value, &r->last) && take_char(&value, '/');
    if (ok && !take_char(&value, '*')) {
        ok = take_number(&value, &r->total);
        r->total_known = ok;
    }
    ok = ok && value.size == 0 && r->first <= r->last && r->last < UINT64_MAX &&
         (!r->total_known || r->last < r->total);
    r->range_bad = r->range_bad || !ok;
}

static void content_length(struct dx_reply *r, struct dx_span value)
{
    r->lengths++;
    if (!take_number(&value, &r->length) || value.size > 0)
        r->length_bad = true;
}

static bool etag_bytes(const uint8_t *p, size_t n)
{
    if (n < 2 || n > DX_ETAG_MAX || p[0] != '"' || p[n - 1] != '"')
        return false;
    for (size_t i = 1; i + 1 < n; i++)
        if (p[i] <= 0x20 || p[i] == '"' || p[i] == 0x7f)
            return false;
    return true;
}

bool dx_etag_strong(const char *etag)
{
    return etag_bytes((const uint8_t *)etag, strnlen(etag, DX_ETAG_MAX + 1));
}

static void entity_tag(struct dx_reply *r, struct dx_span value)
{
    r->etags++;
    if (value.size >= 2 && value.data[0] == 'W' && value.data[1] == '/') {
        r->etag_weak = true;
    } else if (etag_bytes(value.data, value.size)) {
        memcpy(r->etag, value.data, value.size);
        r->etag[value.size] = '\0';
    }
}

static void keep_text(char to[DX_RETRY_AFTER_MAX + 1], struct dx_span value)
{
    if (value.size > DX_RETRY_AFTER_MAX || memchr(value.data, '\0', value.size) != NULL)
        return;
    memcpy(to, value.data, value.size);
    to[value.size] = '\0';
}

static void transfer_encoding(struct dx_reply *r, struct dx_span value)
{
    r->transfer_encodings++;
    if (dx_span_is_word(value, "chunked"))
        r->chunked = true;
    else if (!dx_span_is_word(value, "identity"))
        r->transfer_coded = true;
}

static void take_field(struct dx_reply *r, struct dx_span name, struct dx_span value)
{
    static const char multipart[] = "multipart/";

    if (dx_span_is_word(name, "content-range"))
        content_range(r, value);
    else if (dx_span_is_word(name, "content-length"))
        content_length(r, value);
    else if (dx_span_is_word(name, "etag"))
        entity_tag(r, value);
    else if (dx_span_is_word(name, "retry-after"))
        keep_text(r->retry_after, value);
    else if (dx_span_is_word(name, "date"))
        keep_text(r->date, value);
    else if (dx_span_is_word(name, "transfer-encoding"))
        transfer_encoding(r, value);
    else if (dx_span_is_word(name, "content-encoding"))
        r->encoded = r->encoded || !(value.size == 0 || dx_span_is_word(value, "identity"));
    else if (dx_span_is_word(name, "content-type") && value.size >= sizeof multipart - 1 &&
             dx_span_is_word(dx_span_of(value.data, sizeof multipart - 1), multipart))
        r->multipart = true;
}

bool dx_reply_lines_full(const struct dx_reply *r)
{
    return r->lines > DX_REPLY_LINES_MAX;
}

void dx_reply_header(struct dx_reply *r, struct dx_span line)
{
    const uint8_t *colon;
    struct dx_span name;

    if (line.size > 0 && line.data[line.size - 1] == '\n')
        line.size--;
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    if (line.size == 0)
        return;
    if (line.size > DX_REPLY_LINE_MAX || ++r->lines > DX_REPLY_LINES_MAX ||
        memchr(line.data, '\0', line.size) != NULL || memchr(line.data, '\r', line.size) != NULL ||
        memchr(line.data, '\n', line.size) != NULL) {
        r->malformed = true;
        return;
    }
    if (line.size > 5 && memcmp(line.data, "HTTP/", 5) == 0) {
        status_line(r, line);
        return;
    }
    colon = memchr(line.data, ':', line.size);
    /* Folded lines, a space before the colon, a line without one: readers differ on these. */
    if (colon == NULL || colon == line.data || line.data[0] == ' ' || line.data[0] == '\t' ||
        colon[-1] == ' ' || colon[-1] == '\t') {
        r->malformed = true;
        return;
    }
    name = dx_span_of(line.data, (size_t)(colon - line.data));
    take_field(r, name, dx_span_trimmed(dx_span_of(colon + 1, line.size - name.size - 1)));
}

void dx_reply_body(struct dx_reply *r, size_t n)
{
    r->in_body = true;
    if (__builtin_add_overflow(r->received, n, &r->received))
        r->received = UINT64_MAX;
}

static enum dx_refusal of_status(unsigned status)
{
    if (status == 0)
        return DX_REPLY_NO_STATUS;
    if (status == 200)
        return DX_REPLY_RANGE_IGNORED;
    if (status == 206)
        return DX_REPLY_PARTIAL;
    if (status == 304)
        return DX_REPLY_NOT_MODIFIED;
    if (status >= 300 && status < 400)
        return DX_REPLY_REDIRECT;
    if (status == 404 || status == 410)
        return DX_REPLY_NOT_FOUND;
    if (status == 401 || status == 403)
        return DX_REPLY_FORBIDDEN;
    if (status == 412)
        return DX_REPLY_CHANGED;
    if (status == 416)
        return DX_REPLY_RANGE_IMPOSSIBLE;
    if (status == 429 || status == 503)
        return DX_REPLY_THROTTLED;
    if (status == 408 || (status >= 500 && status < 600))
        return DX_REPLY_SERVER_ERROR;
    return DX_REPLY_STATUS;
}

/* What a range and a whole object have in common. */
static enum dx_refusal check_fields(const struct dx_reply *r, const struct dx_range_want *want)
{
    if (r->malformed)
        return DX_REPLY_MALFORMED;
    if (r->multipart)
        return DX_REPLY_MULTIPART;
    if (r->encoded)
        return DX_REPLY_ENCODED;
    if (r->transfer_coded || r->transfer_encodings > 1)
        return DX_REPLY_TRANSFER_CODED;
    if (r->lengths > 1)
        return DX_REPLY_LENGTH_TWICE;
    if (r->length_bad)
        return DX_REPLY_LENGTH_BAD;
    if (r->lengths > 0 && r->chunked)
        return DX_REPLY_LENGTH_AND_CHUNKED;
    if (r->etags > 1)
        return DX_REPLY_ETAG_TWICE;
    if (want->etag == NULL)
        return DX_REPLY_ACCEPTED;
    if (r->etags == 0)
        return DX_REPLY_NO_ETAG;
    if (r->etag_weak)
        return DX_REPLY_ETAG_WEAK;
    return strcmp(r->etag, want->etag) == 0 ? DX_REPLY_ACCEPTED : DX_REPLY_OTHER_ETAG;
}

static enum dx_refusal check_range(const struct dx_reply *r, const struct dx_range_want *want)
{
    if (r->ranges == 0)
        return DX_REPLY_NO_CONTENT_RANGE;
    if (r->ranges > 1)
        return DX_REPLY_CONTENT_RANGE_TWICE;
    if (r->range_bad)
        return DX_REPLY_CONTENT_RANGE_BAD;
    /* A server gives what there is of a range that goes past the end. */
    if (r->first == want->offset && r->last - r->first < want->size - 1 && r->total_known &&
        r->last == r->total - 1 && (want->total == 0 || want->total == r->total))
        return DX_REPLY_RANGE_IMPOSSIBLE;
    if (r->first != want->offset || r->last - r->first != want->size - 1)
        return DX_REPLY_OTHER_RANGE;
    if (!r->total_known)
        return DX_REPLY_TOTAL_UNKNOWN;
    return want->total != 0 && r->total != want->total ? DX_REPLY_OTHER_TOTAL : DX_REPLY_ACCEPTED;
}

enum dx_refusal dx_range_reply_head(const struct dx_reply *r, const struct dx_range_want *want)
{
    enum dx_refusal refusal;

    if (want->size == 0)
        return DX_REPLY_OTHER_RANGE;
    if (r->status != 206) {
        refusal = of_status(r->status);
        /* The request had no condition. */
        return refusal == DX_REPLY_NOT_MODIFIED ? DX_REPLY_STATUS : refusal;
    }
    refusal = check_fields(r, want);
    if (refusal == DX_REPLY_ACCEPTED)
        refusal = check_range(r, want);
    if (refusal == DX_REPLY_ACCEPTED && r->lengths > 0 && r->length != want->size)
        refusal = DX_REPLY_OTHER_LENGTH;
    return refusal;
}

enum dx_refusal dx_range_reply_check(const struct dx_reply *r, const struct dx_range_want *want)
{
    enum dx_refusal refusal = dx_range_reply_head(r, want);

    if (refusal != DX_REPLY_ACCEPTED || r->received == want->size)
        return refusal;
    return r->received < want->size ? DX_REPLY_BODY_SHORT : DX_REPLY_BODY_LONG;
}

enum dx_refusal dx_whole_reply_head(const struct dx_reply *r, const struct dx_range_want *want)
{
    enum dx_refusal refusal;

    if (r->status == 304)
        return r->malformed ? DX_REPLY_MALFORMED : DX_REPLY_NOT_MODIFIED;
    if (r->status != 200)
        return of_status(r->status);
    refusal = check_fields(r, want);
    if (refusal != DX_REPLY_ACCEPTED)
        return refusal;
    if (r->ranges > 0)
        return DX_REPLY_CONTENT_RANGE_BAD;
    if (r->lengths == 0 && !r->chunked && r->http1)
        return DX_REPLY_LENGTH_UNKNOWN;
    if (r->lengths > 0 && want->total != 0 && r->length != want->total)
        return DX_REPLY_OTHER_LENGTH;
    return r->lengths > 0 && r->length > want->size ? DX_REPLY_TOO_LARGE : DX_REPLY_ACCEPTED;
}

enum dx_refusal dx_whole_reply_check(const struct dx_reply *r, const struct dx_range_want *want)
{
    enum dx_refusal refusal = dx_whole_reply_head(r, want);

    if (refusal == DX_REPLY_NOT_MODIFIED)
        return r->received == 0 ? refusal : DX_REPLY_BODY_LONG;
    if (refusal != DX_REPLY_ACCEPTED)
        return refusal;
    if (r->received > want->size)
        return DX_REPLY_TOO_LARGE;
    if (r->lengths > 0 && r->received != r->length)
        return r->received < r->length ? DX_REPLY_BODY_SHORT : DX_REPLY_BODY_LONG;
    if (want->total != 0 && r->received != want->total)
        return r->received < want->total ? DX_REPLY_BODY_SHORT : DX_REPLY_BODY_LONG;
    return DX_REPLY_ACCEPTED;
}

static const struct {
    const char *name;
    const char *words;
} table[DX_REFUSAL_COUNT] = {
    [DX_REPLY_ACCEPTED] = { "accepted", "accepted" },
    [DX_REPLY_NOT_MODIFIED] = { "not_modified", "not modified" },
    [DX_REPLY_NO_STATUS] = { "no_status", "no HTTP status line" },
    [DX_REPLY_RANGE_IGNORED] = { "range_ignored", "the range was ignored" },
    [DX_REPLY_PARTIAL] = { "partial", "a part where the whole was asked" },
    [DX_REPLY_REDIRECT] = { "redirect", "a redirection, which is not followed: name the final "
                                        "address (S3: the bucket's own region) instead" },
    [DX_REPLY_NOT_FOUND] = { "not_found", "no such object" },
    [DX_REPLY_FORBIDDEN] = { "forbidden", "not permitted: check credentials, clock and policy" },
    [DX_REPLY_CHANGED] = { "changed", "the object was replaced since the index was published" },
    [DX_REPLY_RANGE_IMPOSSIBLE] = { "range_impossible", "the object ends before this range" },
    [DX_REPLY_THROTTLED] = { "throttled", "the store asks for fewer requests" },
    [DX_REPLY_SERVER_ERROR] = { "server_error", "the store failed" },
    [DX_REPLY_STATUS] = { "status", "a status that no range request should meet" },
    [DX_REPLY_MALFORMED] = { "malformed", "malformed headers" },
    [DX_REPLY_MULTIPART] = { "multipart", "a multipart body" },
    [DX_REPLY_NO_CONTENT_RANGE] = { "no_content_range", "no Content-Range" },
    [DX_REPLY_CONTENT_RANGE_TWICE] = { "content_range_twice", "more than one Content-Range" },
    [DX_REPLY_CONTENT_RANGE_BAD] = { "content_range_bad", "Content-Range makes no sense" },
    [DX_REPLY_OTHER_RANGE] = { "other_range", "Content-Range is not what was asked" },
    [DX_REPLY_TOTAL_UNKNOWN] = { "total_unknown", "Content-Range does not tell the total size" },
    [DX_REPLY_OTHER_TOTAL] = { "other_total", "the object's size is not the expected one" },
    [DX_REPLY_LENGTH_TWICE] = { "length_twice", "more than one Content-Length" },
    [DX_REPLY_LENGTH_BAD] = { "length_bad", "Content-Length makes no sense" },
    [DX_REPLY_OTHER_LENGTH] = { "other_length", "Content-Length is not what was asked" },
    [DX_REPLY_LENGTH_AND_CHUNKED] = { "length_and_chunked", "Content-Length and chunked at once" },
    [DX_REPLY_LENGTH_UNKNOWN] = { "length_unknown", "the reply does not tell where it ends" },
    [DX_REPLY_TOO_LARGE] = { "too_large", "larger than allowed" },
    [DX_REPLY_ENCODED] = { "encoded", "the body has a Content-Encoding" },
    [DX_REPLY_TRANSFER_CODED] = { "transfer_coded", "a Transfer-Encoding other than chunked" },
    [DX_REPLY_NO_ETAG] = { "no_etag", "no ETag" },
    [DX_REPLY_ETAG_TWICE] = { "etag_twice", "more than one ETag" },
    [DX_REPLY_ETAG_WEAK] = { "etag_weak", "a weak ETag: the bytes may differ" },
    [DX_REPLY_OTHER_ETAG] = { "other_etag", "the ETag is not the expected one" },
    [DX_REPLY_BODY_SHORT] = { "body_short", "the body ends early" },
    [DX_REPLY_BODY_LONG] = { "body_long", "the body is longer than asked" },
};

const char *dx_refusal_name(enum dx_refusal refusal)
{
    return refusal < DX_REFUSAL_COUNT ? table[refusal].name : "?";
}

const char *dx_refusal_words(enum dx_refusal refusal)
{
    return refusal < DX_REFUSAL_COUNT ? table[refusal].words : "?";
}
