/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/request_head.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    STATE_START,
    STATE_EMPTY_LINE, /* CR of the one empty line that may come first */
    STATE_METHOD_FIRST,
    STATE_METHOD,
    STATE_TARGET_FIRST,
    STATE_SCHEME,
    STATE_AUTHORITY,
    STATE_TARGET,
    STATE_VERSION,
    STATE_LINE_LF,
    STATE_FIELD_FIRST,
    STATE_NAME,
    STATE_VALUE_FIRST,
    STATE_VALUE,
    STATE_VALUE_LF,
    STATE_END_LF,
    STATE_DONE,
    STATE_REJECTED
};

/* RFC 9110 tchar */
static bool is_token(uint8_t c)
{
    static const bool table[256] = {
        ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1, ['&'] = 1, ['\''] = 1, ['*'] = 1, ['+'] = 1,
        ['-'] = 1, ['.'] = 1, ['^'] = 1, ['_'] = 1, ['`'] = 1, ['|'] = 1,  ['~'] = 1, ['0'] = 1,
        ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1,  ['7'] = 1, ['8'] = 1,
        ['9'] = 1, ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1,  ['F'] = 1, ['G'] = 1,
        ['H'] = 1, ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1, ['M'] = 1,  ['N'] = 1, ['O'] = 1,
        ['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1,  ['V'] = 1, ['W'] = 1,
        ['X'] = 1, ['Y'] = 1, ['Z'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1,  ['d'] = 1, ['e'] = 1,
        ['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1, ['k'] = 1,  ['l'] = 1, ['m'] = 1,
        ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1,  ['t'] = 1, ['u'] = 1,
        ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1,
    };

    return table[c];
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_alnum(uint8_t c)
{
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Visible ASCII but '#'. RFC 3986 allows fewer; browsers send the others raw. */
static bool is_target(uint8_t c)
{
    return c > 0x20 && c < 0x7f && c != '#';
}

/* What a name needs. No '@': user names have no place here. */
static bool is_host(uint8_t c)
{
    static const bool marks[64] = {
        ['.'] = 1, ['-'] = 1, ['%'] = 1, ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1,
        ['4'] = 1, ['5'] = 1, ['6'] = 1, ['7'] = 1, ['8'] = 1, ['9'] = 1
    };

    return c < sizeof marks ? marks[c]
                            : ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c == '~';
}

/* The same, an IP literal and a port. */
static bool is_authority(uint8_t c)
{
    return is_host(c) || c == ':' || c == '[' || c == ']';
}

/* Visible ASCII, obs-text, space and tab: RFC 9110 field-value. */
static bool is_value(uint8_t c)
{
    return (c >= 0x20 && c != 0x7f) || c == '\t';
}

void dx_request_head_begin(struct dx_request_head *h)
{
    *h = (struct dx_request_head){ .state = STATE_START };
}

static enum dx_head_verdict reject(struct dx_request_head *h, int status, const char *reason)
{
    h->state = STATE_REJECTED;
    h->reject_status = status;
    h->reject_reason = reason;
    return DX_HEAD_REJECT;
}

/* Which methods a path takes is for the caller, who has the routes. */
static enum dx_head_verdict reject_method(struct dx_request_head *h)
{
    return reject(h, 405, "only GET and HEAD are served, and POST of " DX_HEAD_POST_PATH);
}

/* Any other method stays DX_METHOD_NONE, and is refused once its target is known; that of CONNECT
 * names no resource. Methods are case-sensitive: "get" is another method. */
static enum dx_head_verdict end_method(struct dx_request_head *h, struct dx_span method)
{
    if (dx_span_equal(method, dx_span_str("GET")))
        h->method = DX_METHOD_GET;
    else if (dx_span_equal(method, dx_span_str("HEAD")))
        h->method = DX_METHOD_HEAD;
    else if (dx_span_equal(method, dx_span_str("POST")))
        h->method = DX_METHOD_POST;
    else if (dx_span_equal(method, dx_span_str("CONNECT")))
        return reject_method(h);
    h->target.at = h->at + 1;
    h->state = STATE_TARGET_FIRST;
    return DX_HEAD_MORE;
}

/* Bytes at a place, and how many there are before it that may be read too. */
struct run {
    const uint8_t *data;
    uint32_t size;
    uint32_t before;
};

static struct run run_of(struct dx_span bytes, uint32_t at, uint32_t end)
{
    return (struct run){ bytes.data + at, end - at, at };
}

#ifdef __SSE2__
/* The next 16 bytes of a run from i on, or the last 16, of which *old were seen; false: there are no 16. */
static bool load_block(const struct run *r, uint32_t i, __m128i *v, unsigned *old)
{
    uint32_t left = r->size - i;

    *old = left < 16 ? 16 - left : 0;
    if (left == 0 || *old > r->before + i)
        return false;
    *v = _mm_loadu_si128((const __m128i *)(const void *)(r->data + i - *old));
    return true;
}

/* Of 16 bytes, which are over `low` and under 0x7f, and not '#' if `hash` is. */
static unsigned plain_of(__m128i v, char low, bool hash)
{
    const __m128i least = _mm_set1_epi8(low); /* signed: from 0x80 on they are below it */
    const __m128i rubout = _mm_set1_epi8(0x7f);
    const __m128i other = _mm_set1_epi8(hash ? '#' : 0x7f);
    __m128i bad = _mm_or_si128(_mm_cmpeq_epi8(v, rubout), _mm_cmpeq_epi8(v, other));

    return (unsigned)_mm_movemask_epi8(_mm_andnot_si128(bad, _mm_cmpgt_epi8(v, least)));
}

/* Of 16 bytes, which are letters or '-'. */
static unsigned letters_of(__m128i v)
{
    __m128i lower = _mm_or_si128(v, _mm_set1_epi8(0x20));
    __m128i letter = _mm_and_si128(_mm_cmpgt_epi8(lower, _mm_set1_epi8('a' - 1)),
                                   _mm_cmpgt_epi8(_mm_set1_epi8('z' + 1), lower));

    return (unsigned)_mm_movemask_epi8(_mm_or_si128(letter, _mm_cmpeq_epi8(v, _mm_set1_epi8('-'))));
}

/* Of 16 bytes, which are letters, digits, '-' or '.'. */
static unsigned host_of(__m128i v)
{
    __m128i low = _mm_and_si128(_mm_cmpgt_epi8(v, _mm_set1_epi8(',')),
                                _mm_cmpgt_epi8(_mm_set1_epi8(':'), v));

    return letters_of(v) | (unsigned)_mm_movemask_epi8(
                               _mm_andnot_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('/')), low));
}

/* How many bytes at the front of the run are such ones; more may be. */
#define SKIP(run, good_of)                                 \
    do {                                                   \
        uint32_t i = 0;                                    \
        unsigned old;                                      \
        __m128i v;                                         \
                                                           \
        while (load_block((run), i, &v, &old)) {           \
            unsigned good = (good_of) >> old;              \
                                                           \
            if (good != 0xffffu >> old)                    \
                return i + (uint32_t)__builtin_ctz(~good); \
            i += 16 - old;                                 \
        }                                                  \
        return i;                                          \
    } while (0)
#else
#define SKIP(run, good_of) return ((void)(run), 0)
#endif

/* Inline: then low and hash are constants. */
static inline __attribute__((always_inline)) uint32_t skip_plain(const struct run *r, char low,
                                                                 bool hash)
{
    (void)low;
    (void)hash;
    SKIP(r, plain_of(v, low, hash));
}

static uint32_t skip_letters(const struct run *r)
{
    SKIP(r, letters_of(v));
}

static uint32_t skip_host(const struct run *r)
{
    SKIP(r, host_of(v));
}

/* Before a host there is the name of its field, or a scheme. */
#define BEFORE_HOST 5

/* host[:port], host not empty; brackets only around the whole host. */
static bool host_is_valid(struct dx_span s)
{
    size_t host_end = 0;

    if (s.size > 0 && s.data[0] == '[') {
        while (host_end < s.size && s.data[host_end] != ']')
            host_end++;
        if (host_end < 2 || host_end == s.size)
            return false;
        for (size_t i = 1; i < host_end; i++)
            if (!is_alnum(s.data[i]) && s.data[i] != ':' && s.data[i] != '.' && s.data[i] != '%')
                return false;
        host_end++;
    } else {
        const struct run r = { s.data, (uint32_t)s.size, BEFORE_HOST };

        host_end = skip_host(&r);
        while (host_end < s.size && is_host(s.data[host_end]))
            host_end++;
    }
    if (host_end == 0 || (host_end < s.size && s.data[host_end] != ':'))
        return false;
    for (size_t i = host_end + 1; i < s.size; i++)
        if (!is_digit(s.data[i]))
            return false;
    return s.size <= host_end + 6; /* ":65535" */
}

bool dx_head_list_next(struct dx_span *rest, struct dx_span *element)
{
    while (rest->size > 0) {
        const uint8_t *comma = memchr(rest->data, ',', rest->size);
        size_t n = comma == NULL ? rest->size : (size_t)(comma - rest->data);
        struct dx_span e = { rest->data, n };

        n += comma != NULL;
        *rest = dx_span_from(*rest, n);
        while (e.size > 0 && (e.data[0] == ' ' || e.data[0] == '\t'))
            e = (struct dx_span){ e.data + 1, e.size - 1 };
        while (e.size > 0 && (e.data[e.size - 1] == ' ' || e.data[e.size - 1] == '\t'))
            e.size--;
        if (e.size > 0) {
            *element = e;
            return true;
        }
    }
    return false;
}

/* Digits without a sign or zeros before them: no two readers see another number. */
static enum dx_head_verdict end_length(struct dx_request_head *h, struct dx_span value)
{
    uint64_t v = 0;
    bool ok = ++h->length_count == 1 && value.size > 0 && (value.data[0] != '0' || value.size == 1);

    for (size_t i = 0; ok && i < value.size; i++) {
        ok = is_digit(value.data[i]);
        if (v <= DX_BODY_SIZE_MAX) /* further digits only make it larger */
            v = v * 10 + (uint64_t)(value.data[i] - '0');
    }
    if (!ok)
        return reject(h, 400, "Content-Length is not one plain number");
    if (v > DX_BODY_SIZE_MAX)
        return reject(h, 413, "the body is over 2^40 bytes");
    h->body_size = v;
    h->state = STATE_FIELD_FIRST;
    return DX_HEAD_MORE;
}

/* A field of a POST that says something of its body. */
static enum dx_head_verdict end_body_field(struct dx_request_head *h, struct dx_span name,
                                           struct dx_span value, struct dx_head_span at)
{
    if (dx_span_is_word(name, "content-length"))
        return end_length(h, value);
    if (dx_span_is_word(name, "transfer-encoding")) {
        h->chunked = true;
        if (++h->coding_count > 1 || !dx_span_equal(value, dx_span_str("chunked")))
            return reject(h, 400, "Transfer-Encoding is not \"chunked\"");
    } else if (dx_span_is_word(name, "content-encoding")) {
        if (!dx_span_is_word(value, "identity"))
            return reject(h, 415, "the body must come as it is, without a Content-Encoding");
    } else if (dx_span_is_word(name, "expect")) {
        h->expects = true;
        if (!dx_span_is_word(value, "100-continue"))
            return reject(h, 417, "Expect is not \"100-continue\"");
    } else if (dx_span_is_word(name, "content-type")) {
        if (h->content_type.size > 0)
            return reject(h, 400, "more than one Content-Type");
        h->content_type = at;
    } else if (dx_span_is_word(name, "accept")) {
        h->accept_twice |= h->accept.size > 0;
        h->accept = at;
    }
    h->state = STATE_FIELD_FIRST;
    return DX_HEAD_MORE;
}

/* Of a name, which is a token: no byte of one but a letter becomes another by 0x20. */
static inline __attribute__((always_inline)) bool has_letters(const uint8_t *name, const char *word,
                                                              size_t size)
{
    const uint64_t lower = 0x2020202020202020;
    const uint8_t *w = (const uint8_t *)word;
    uint64_t other = 0;

    if (size < 8) {
        for (size_t i = 0; i < size; i++)
            other |= (uint64_t)((name[i] | 0x20) ^ w[i]);
        return other == 0;
    }
    for (size_t i = 0; i + 8 < size; i += 8)
        other |= (dx_load_u64(name + i) | lower) ^ dx_load_u64(w + i);
    return (other | ((dx_load_u64(name + size - 8) | lower) ^ dx_load_u64(w + size - 8))) == 0;
}

/* word: a literal of small letters and '-'. */
#define IS_NAME(name, word) \
    ((name).size == sizeof(word) - 1 && has_letters((name).data, (word), sizeof(word) - 1))

/* A field that names the caller, or the trace of the request; kept, not judged. */
static bool end_who_field(struct dx_request_head *h, struct dx_span name, struct dx_head_span at)
{
    if (IS_NAME(name, "authorization")) {
        h->authorization_count++;
        h->authorization = at;
    } else if (IS_NAME(name, "traceparent")) {
        h->traceparent_count++;
        h->traceparent = at;
    } else if (h->names == NULL) {
        return false;
    } else if (h->names->principal != NULL && dx_span_is_word(name, h->names->principal)) {
        h->principal_count++;
        h->principal = at;
    } else if (h->names->address != NULL && dx_span_is_word(name, h->names->address)) {
        h->address[h->address_count++ % DX_HEAD_ADDRESSES] = at;
    } else {
        return false;
    }
    return true;
}

static enum dx_head_verdict end_field(struct dx_request_head *h, struct dx_span bytes)
{
    struct dx_head_span at = { h->mark, h->value_end - h->mark };
    struct dx_span name = dx_head_slice(bytes, h->name);
    struct dx_span value = dx_head_slice(bytes, at);
    struct dx_span option;

    if (IS_NAME(name, "host")) {
        if (++h->host_count > 1)
            return reject(h, 400, "more than one Host");
        if (!host_is_valid(value))
            return reject(h, 400, "Host is not a host name with an optional port");
        h->host = at;
    } else if (IS_NAME(name, "connection")) {
        while (dx_head_list_next(&value, &option))
            if (dx_span_is_word(option, "close"))
                h->close = true;
    } else if (end_who_field(h, name, at)) {
        h->state = STATE_FIELD_FIRST;
    } else if (h->method == DX_METHOD_POST) {
        return end_body_field(h, name, value, at);
    } else if (IS_NAME(name, "content-length")) {
        if (++h->length_count > 1 || value.size != 1 || value.data[0] != '0')
            return reject(h, 400,
                          "GET and HEAD take no body: Content-Length must be one 0 or absent");
    } else if (IS_NAME(name, "transfer-encoding")) {
        return reject(h, 400, "GET and HEAD take no body: Transfer-Encoding is refused");
    } else if (IS_NAME(name, "if-none-match")) {
        h->if_none_match_twice |= h->if_none_match.size > 0;
        h->if_none_match = at;
    } else if (IS_NAME(name, "accept-encoding")) {
        h->accept_encoding_twice |= h->accept_encoding.size > 0;
        h->accept_encoding = at;
    } else if (IS_NAME(name, "accept")) {
        h->accept_twice |= h->accept.size > 0;
        h->accept = at;
    }
    h->state = STATE_FIELD_FIRST;
    return DX_HEAD_MORE;
}

static enum dx_head_verdict end_head(struct dx_request_head *h)
{
    if (h->host_count == 0 && !h->http_1_0)
        return reject(h, 400, "no Host");
    if (h->method == DX_METHOD_POST) {
        if (h->http_1_0) /* the answer is as long as it gets, and must not be cut unseen */
            return reject(h, 505, "POST needs HTTP/1.1");
        if (h->length_count > 0 && h->chunked)
            return reject(h, 400, "Content-Length and Transfer-Encoding in one request");
        if (h->length_count == 0 && !h->chunked)
            return reject(h, 411, "a POST needs a Content-Length, or Transfer-Encoding: chunked");
    }
    if (h->http_1_0)
        h->close = true; /* keep-alive is an extension of 1.0 that proxies disagree on */
    h->state = STATE_DONE;
    h->size = h->at;
    return DX_HEAD_DONE;
}

/* "HTTP/1.1", byte by byte, so that anything else is refused at its first wrong byte. */
static enum dx_head_verdict version_byte(struct dx_request_head *h, uint8_t c)
{
    static const char name[] = "HTTP/";
    uint32_t i = h->at - h->mark;
    bool ok = i < 5 ? c == (uint8_t)name[i] : i == 6 ? c == '.' : i == 8 ? c == '\r' : is_digit(c);

    if (!ok)
        return reject(h, 400, "the request line does not end in HTTP/1.1");
    if ((i == 5 && c != '1') || (i == 7 && c > '1'))
        return reject(h, 505, "not HTTP/1.0 or HTTP/1.1");
    if (i == 7)
        h->http_1_0 = c == '0';
    if (i == 8)
        h->state = STATE_LINE_LF;
    return DX_HEAD_MORE;
}

static bool takes_post(struct dx_span target)
{
    static const char path[] = DX_HEAD_POST_PATH;
    const uint8_t *query = target.size == 0 ? NULL : memchr(target.data, '?', target.size);

    if (query != NULL)
        target.size = (size_t)(query - target.data);
    if (target.size > 0 && target.data[target.size - 1] == '/')
        target.size--; /* as of any path */
    return dx_span_equal(target, dx_span_str(path)) ||
           dx_span_equal(target, dx_span_str(path + sizeof "/v1" - 1));
}

static enum dx_head_verdict end_target(struct dx_request_head *h, struct dx_span bytes)
{
    h->target = (struct dx_head_span){ h->mark, h->at - h->mark };
    if (h->method == DX_METHOD_NONE ||
        (h->method == DX_METHOD_POST && !takes_post(dx_head_slice(bytes, h->target))))
        return reject_method(h);
    h->mark = h->at + 1;
    h->state = STATE_VERSION;
    return DX_HEAD_MORE;
}

/* "http://" or "https://", any case. */
static enum dx_head_verdict scheme_byte(struct dx_request_head *h, uint8_t c, struct dx_span bytes)
{
    static const char secure[] = "https://";
    uint32_t i = h->at - h->mark;
    bool is_secure = i > 4 && (bytes.data[h->mark + 4] | 0x20) == 's';
    uint8_t want = (uint8_t)secure[i < 4 || is_secure ? i : i + 1];

    if (i == 4 && (c | 0x20) == 's')
        return DX_HEAD_MORE;
    if (want >= 'a' ? (c | 0x20) != want : c != want)
        return reject(h, 400, "the target is neither a path nor an http URL");
    if (i == (is_secure ? 7u : 6u)) {
        h->mark = h->at + 1;
        h->state = STATE_AUTHORITY;
    }
    return DX_HEAD_MORE;
}

static enum dx_head_verdict authority_byte(struct dx_request_head *h, uint8_t c,
                                           struct dx_span bytes)
{
    if (is_authority(c))
        return DX_HEAD_MORE;
    if ((c != '/' && c != '?' && c != ' ') ||
        !host_is_valid((struct dx_span){ bytes.data + h->mark, h->at - h->mark }))
        return reject(h, 400, "the target's authority is not a host name with an optional port");
    h->bare_authority = c != '/';
    h->mark = h->at;
    h->state = STATE_TARGET;
    return c == ' ' ? end_target(h, bytes) : DX_HEAD_MORE;
}

static enum dx_head_verdict target_byte(struct dx_request_head *h, uint8_t c, struct dx_span bytes)
{
    switch (h->state) {
    case STATE_TARGET_FIRST:
        h->mark = h->at;
        h->state = c == '/' ? STATE_TARGET : STATE_SCHEME;
        if (c == '*' && h->method == DX_METHOD_NONE)
            return reject_method(h); /* OPTIONS of the server as a whole */
        return c == '/' ? DX_HEAD_MORE : scheme_byte(h, c, bytes);
    case STATE_SCHEME:
        return scheme_byte(h, c, bytes);
    case STATE_AUTHORITY:
        return authority_byte(h, c, bytes);
    default:
        if (is_target(c))
            return DX_HEAD_MORE;
        if (c == ' ')
            return end_target(h, bytes);
        return reject(h, 400, "the target holds a byte that must be percent-encoded");
    }
}

/* A byte of the request line; at is its offset. */
static enum dx_head_verdict line_byte(struct dx_request_head *h, uint8_t c, struct dx_span bytes)
{
    switch (h->state) {
    case STATE_START:
        h->state = c == '\r' ? STATE_EMPTY_LINE : STATE_METHOD;
        if (c != '\r' && !is_token(c))
            return reject(h, 400, "the request does not begin with a method");
        return DX_HEAD_MORE;
    case STATE_EMPTY_LINE:
        if (c != '\n')
            return reject(h, 400, "CR without LF");
        h->state = STATE_METHOD_FIRST;
        return DX_HEAD_MORE;
    case STATE_METHOD_FIRST:
        h->mark = h->at;
        h->state = STATE_METHOD;
        if (!is_token(c))
            return reject(h, 400, "the request does not begin with a method");
        return DX_HEAD_MORE;
    case STATE_METHOD:
        if (c == ' ')
            return end_method(h, (struct dx_span){ bytes.data + h->mark, h->at - h->mark });
        if (!is_token(c))
            return reject(h, 400, "the method is not a token followed by one space");
        if (h->at - h->mark >= DX_METHOD_MAX)
            return reject(h, 501, "the method is over 24 bytes");
        return DX_HEAD_MORE;
    case STATE_VERSION:
        return version_byte(h, c);
    case STATE_LINE_LF:
        if (c != '\n')
            return reject(h, 400, "CR without LF");
        h->fields_at = h->at + 1;
        h->state = STATE_FIELD_FIRST;
        return DX_HEAD_MORE;
    default:
        return target_byte(h, c, bytes);
    }
}

/* A byte of the fields, at their structure; runs inside names and values go by skip_run. */
static enum dx_head_verdict field_byte(struct dx_request_head *h, uint8_t c, struct dx_span bytes)
{
    switch (h->state) {
    case STATE_FIELD_FIRST:
        h->mark = h->at;
        if (c == '\r') {
            h->state = STATE_END_LF;
            return DX_HEAD_MORE;
        }
        if (c == ' ' || c == '\t')
            return reject(h, 400, "a folded line, or a space before a field name");
        if (++h->field_count > DX_HEAD_FIELD_COUNT_MAX)
            return reject(h, 431, "more than 100 header fields");
        h->state = STATE_NAME;
        return is_token(c) ? DX_HEAD_MORE : reject(h, 400, "a field name is not a token");
    case STATE_NAME:
        if (c != ':')
            return is_token(c) ? DX_HEAD_MORE
                               : reject(h, 400, "a field name is not a token followed by a colon");
        h->name = (struct dx_head_span){ h->mark, h->at - h->mark };
        h->state = STATE_VALUE_FIRST;
        h->mark = h->value_end = h->at + 1;
        return DX_HEAD_MORE;
    case STATE_VALUE_FIRST:
        if (c == ' ' || c == '\t')
            return DX_HEAD_MORE;
        h->mark = h->value_end = h->at;
        h->state = STATE_VALUE;
        __attribute__((fallthrough));
    case STATE_VALUE:
        if (c == '\r')
            h->state = STATE_VALUE_LF;
        else if (!is_value(c))
            return reject(h, 400, "a control byte in a field value");
        else if (c != ' ' && c != '\t')
            h->value_end = h->at + 1;
        return DX_HEAD_MORE;
    case STATE_VALUE_LF:
        return c == '\n' ? end_field(h, bytes) : reject(h, 400, "CR without LF");
    default: /* STATE_END_LF */
        if (c != '\n')
            return reject(h, 400, "CR without LF");
        h->at++;
        return end_head(h);
    }
}

static uint32_t value_run(struct dx_span bytes, uint32_t at, uint32_t end)
{
    const struct run r = run_of(bytes, at, end);

    at += skip_plain(&r, 0x1f, false);
    while (at < end && is_value(bytes.data[at]))
        at++;
    return at;
}

static uint32_t name_run(struct dx_span bytes, uint32_t at, uint32_t end)
{
    const struct run r = run_of(bytes, at, end);

    at += skip_letters(&r);
    while (at < end && is_token(bytes.data[at]))
        at++;
    return at;
}

/* The end of a value from begin to end: blanks inside it count, those at its end do not. */
static uint32_t without_blanks(const uint8_t *data, uint32_t begin, uint32_t end)
{
    while (end > begin && (data[end - 1] == ' ' || data[end - 1] == '\t'))
        end--;
    return end;
}

/* Most bytes stand in runs of plain ones: passes them without the switch, up to a limit that
 * the caller then checks at the next byte. */
static void skip_run(struct dx_request_head *h, struct dx_span bytes)
{
    uint32_t limit = h->state == STATE_TARGET ? h->target.at + DX_TARGET_MAX
                                              : h->fields_at + DX_HEAD_FIELDS_MAX;
    uint32_t end = bytes.size < limit ? (uint32_t)bytes.size : limit;
    uint32_t at = h->at;

    if (at >= end)
        return;
    if (h->state == STATE_TARGET) {
        const struct run r = run_of(bytes, at, end);

        at += skip_plain(&r, 0x20, true);
        while (at < end && is_target(bytes.data[at]))
            at++;
    } else if (h->state == STATE_NAME) {
        at = name_run(bytes, at, end);
    } else if (h->state == STATE_VALUE) {
        uint32_t last;

        at = value_run(bytes, at, end);
        last = without_blanks(bytes.data, h->at, at);
        if (last > h->at)
            h->value_end = last;
    }
    h->at = at;
}

/* Inline: then size is a constant. */
static inline __attribute__((always_inline)) bool starts_at(const struct dx_request_head *h,
                                                            struct dx_span bytes, const char *text,
                                                            uint32_t size)
{
    return bytes.size - h->at >= size && memcmp(bytes.data + h->at, text, size) == 0;
}

/* A line of the fields that is there as a whole; false: it is not, or has something that has to be looked at byte by
 * byte. The state is then that which the bytes lead to before the last one. */
static bool take_field(struct dx_request_head *h, struct dx_span bytes)
{
    uint32_t limit = h->fields_at + DX_HEAD_FIELDS_MAX;
    uint32_t end = bytes.size < limit ? (uint32_t)bytes.size : limit;
    uint32_t colon = name_run(bytes, h->at, end);
    uint32_t begin = colon + 1;
    uint32_t cr;

    if (colon == h->at || colon >= end || bytes.data[colon] != ':' ||
        h->field_count == DX_HEAD_FIELD_COUNT_MAX)
        return false;
    while (begin < end && (bytes.data[begin] == ' ' || bytes.data[begin] == '\t'))
        begin++;
    cr = begin < end ? value_run(bytes, begin, end) : end;
    if (end - cr < 2 || bytes.data[cr] != '\r' || bytes.data[cr + 1] != '\n')
        return false;
    h->field_count++;
    h->name = (struct dx_head_span){ h->at, colon - h->at };
    h->mark = begin;
    h->value_end = without_blanks(bytes.data, begin, cr);
    h->at = cr + 1;
    return true;
}

/* ---- fields that came before ---- */

static bool has_memory(const struct dx_request_head *h)
{
    return h->memory != NULL && h->method == DX_METHOD_GET && !h->http_1_0;
}

static void move_span(struct dx_head_span *s, uint32_t by)
{
    if (s->at > 0) /* else there was none */
        s->at += by;
}

/* True: all fields are those of the memory, and the head is done. */
static bool recall_fields(struct dx_request_head *h, struct dx_span bytes)
{
    struct dx_head_memory *m = h->memory;
    const struct dx_head_names *names = h->names;
    const struct dx_head_span target = h->target;
    const uint32_t at = h->at;
    const bool bare = h->bare_authority;
    const uint32_t by = at - m->head.fields_at;

    if (m->size == 0 || bytes.size - at < m->size || memcmp(bytes.data + at, m->text, m->size) != 0)
        return false;
    *h = m->head;
    h->names = names;
    h->target = target;
    h->bare_authority = bare;
    h->fields_at = at;
    h->at = h->size = at + m->size;
    move_span(&h->if_none_match, by);
    move_span(&h->accept_encoding, by);
    move_span(&h->accept, by);
    move_span(&h->principal, by);
    move_span(&h->traceparent, by);
    move_span(&h->host, by);
    for (size_t i = 0; i < DX_HEAD_ADDRESSES && i < h->address_count; i++)
        h->address[i].at += by;
    return true;
}

static void remember_fields(const struct dx_request_head *h, struct dx_span bytes)
{
    struct dx_head_memory *m = h->memory;
    uint32_t size = h->size - h->fields_at;

    m->size = 0;
    if (size > sizeof m->text || h->authorization_count > 0)
        return;
    m->size = size;
    memcpy(m->text, bytes.data + h->fields_at, size);
    m->head = *h;
}

/* What nearly every head has, in one step each; the states are those that the bytes one by one lead to. */
static bool take_usual(struct dx_request_head *h, struct dx_span bytes,
                       enum dx_head_verdict *verdict)
{
    static const char version[] = " HTTP/1.1\r\n";

    if (h->state == STATE_TARGET && starts_at(h, bytes, version, sizeof version - 1)) {
        *verdict = end_target(h, bytes);
        if (*verdict == DX_HEAD_MORE) {
            h->at += sizeof version - 2;
            h->fields_at = h->at + 1;
            h->state = STATE_FIELD_FIRST;
        }
        return true;
    }
    if (h->state != STATE_FIELD_FIRST)
        return false;
    if (h->at == h->fields_at && has_memory(h) && recall_fields(h, bytes)) {
        *verdict = DX_HEAD_DONE;
        return true;
    }
    if (bytes.data[h->at] != '\r') {
        if (!take_field(h, bytes))
            return false;
        *verdict = end_field(h, bytes);
        return true;
    }
    if (h->at + 1 - h->fields_at >= DX_HEAD_FIELDS_MAX || !starts_at(h, bytes, "\r\n", 2))
        return false;
    h->at += 2;
    *verdict = end_head(h);
    if (*verdict == DX_HEAD_DONE && has_memory(h))
        remember_fields(h, bytes);
    return true;
}

enum dx_head_verdict dx_request_head_parse(struct dx_request_head *h, struct dx_span bytes)
{
    if (h->state == STATE_DONE)
        return DX_HEAD_DONE;
    if (h->state == STATE_REJECTED)
        return DX_HEAD_REJECT;
    if (h->state == STATE_START && bytes.size >= 5 && memcmp(bytes.data, "GET /", 5) == 0) {
        h->method = DX_METHOD_GET;
        h->mark = h->target.at = 4;
        h->state = STATE_TARGET;
        h->at = 5;
    }
    while (h->at < bytes.size) {
        enum dx_head_verdict verdict;
        uint8_t c;

        skip_run(h, bytes);
        if (h->at == bytes.size)
            break;
        c = bytes.data[h->at];
        if (take_usual(h, bytes, &verdict)) {
            if (verdict != DX_HEAD_MORE)
                return verdict;
            h->at++;
            continue;
        }
        if (h->state < STATE_FIELD_FIRST) {
            if (h->state >= STATE_TARGET_FIRST && h->state <= STATE_TARGET && c != ' ' &&
                h->at - h->target.at >= DX_TARGET_MAX)
                return reject(h, 414, "the target is over 8448 bytes");
            verdict = line_byte(h, c, bytes);
        } else {
            if (h->at - h->fields_at >= DX_HEAD_FIELDS_MAX)
                return reject(h, 431, "the header fields are over 16384 bytes");
            verdict = field_byte(h, c, bytes);
        }
        if (verdict != DX_HEAD_MORE)
            return verdict;
        h->at++;
    }
    return DX_HEAD_MORE;
}
