/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/input_json.h"

#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <strings.h>

/* A bit for each path. */
__extension__ typedef unsigned __int128 path_set;

#define KEY_CLASSES 64

struct scan {
    const uint8_t *p;
    const uint8_t *end;
    const struct dx_json_path *paths;
    size_t path_count;
    struct dx_json_value *value;
    struct dx_buf *scratch;
};

int dx_json_path_parse(struct dx_json_path *path, const char *text, struct dx_error *err)
{
    const char *p = text;

    path->count = 0;
    path->any_case = false;
    for (;;) {
        const char *begin = p;
        size_t size;

        if (path->count == DX_JSON_PATH_PARTS)
            return dx_fail(err, DX_E_INVALID, "path '%s' has more than %d parts", text,
                           DX_JSON_PATH_PARTS);
        if (*p == '"') {
            begin = ++p;
            while (*p != '\0' && *p != '"')
                p++;
            if (*p == '\0')
                return dx_fail(err, DX_E_INVALID, "path '%s': a quote is not closed", text);
            size = (size_t)(p++ - begin);
        } else {
            while (*p != '\0' && *p != '.')
                p++;
            size = (size_t)(p - begin);
            if (size == 0)
                return dx_fail(err, DX_E_INVALID, "path '%s' has an empty part", text);
        }
        path->part[path->count++] = dx_span_of(begin, size);
        if (*p == '\0')
            return DX_OK;
        if (*p++ != '.')
            return dx_fail(err, DX_E_INVALID, "path '%s': a dot must follow a quoted part", text);
    }
}

static void space(struct scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
        s->p++;
}

static bool take(struct scan *s, uint8_t c)
{
    if (s->p == s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

/* Length of the well-formed UTF-8 sequence at p, 0 if there is none. */
static size_t utf8_size(const uint8_t *p, const uint8_t *end)
{
    size_t left = (size_t)(end - p);
    uint8_t low = 0x80;
    uint8_t high = 0xbf;
    size_t n;

    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        n = 2;
    else if (p[0] >= 0xe0 && p[0] <= 0xef)
        n = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        n = 4;
    else
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    if (left < n || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return n;
}

static bool hex4(struct scan *s, uint32_t *v)
{
    *v = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t c = s->p < s->end ? *s->p++ : 0;

        if (c >= '0' && c <= '9')
            *v = *v << 4 | (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            *v = *v << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return false;
    }
    return true;
}

static void put_code(struct dx_buf *out, uint32_t code)
{
    uint8_t bytes[DX_UTF8_MAX];

    dx_buf_append(out, bytes, dx_utf8_write(bytes, code));
}

/* Behind the backslash. A lone surrogate is refused: it is not a character. */
static bool read_escape(struct scan *s, struct dx_buf *out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    uint8_t c = s->p < s->end ? *s->p++ : 0;
    const char *known;
    uint32_t v;
    uint32_t low;

    if (c == 'u') {
        if (!hex4(s, &v) || (v >= 0xdc00 && v <= 0xdfff))
            return false;
        if (v >= 0xd800 && v <= 0xdbff) {
            if (!take(s, '\\') || !take(s, 'u') || !hex4(s, &low) || low < 0xdc00 || low > 0xdfff)
                return false;
            v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
        }
        if (out != NULL)
            put_code(out, v);
        return true;
    }
    known = c == 0 ? NULL : strchr(from, c);
    if (known == NULL)
        return false;
    if (out != NULL)
        dx_buf_u8(out, (uint8_t)to[known - from]);
    return true;
}

#define EACH_BYTE UINT64_C(0x0101010101010101)
#define HIGH_BITS UINT64_C(0x8080808080808080)

static uint64_t zero_bytes(uint64_t x)
{
    return (x - EACH_BYTE) & ~x & HIGH_BITS;
}

/* The first byte that is not an ASCII letter of a string: a quote, a backslash, a control character or
 * of UTF-8. Eight at a time: of the bits that are set the lowest is right, those above may not be. */
static const uint8_t *pass_plain(const uint8_t *p, const uint8_t *end)
{
    while (end - p >= 8) {
        uint64_t x = dx_load_u64(p);
        uint64_t odd = (x & HIGH_BITS) | ((x - 0x20 * EACH_BYTE) & ~x & HIGH_BITS) |
                       zero_bytes(x ^ '"' * EACH_BYTE) | zero_bytes(x ^ '\\' * EACH_BYTE);

        if (odd != 0)
            return p + __builtin_ctzll(odd) / 8;
        p += 8;
    }
    while (p < end && *p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* A string at its opening quote. With out, its decoded bytes are appended. */
static bool read_string(struct scan *s, struct dx_buf *out)
{
    s->p++;
    for (;;) {
        const uint8_t *run = s->p;

        s->p = pass_plain(run, s->end);
        if (out != NULL && s->p > run)
            dx_buf_append(out, run, (size_t)(s->p - run));
        if (s->p == s->end || *s->p < 0x20)
            return false;
        if (*s->p == '"') {
            s->p++;
            return true;
        }
        if (*s->p == '\\') {
            s->p++;
            if (!read_escape(s, out))
                return false;
        } else {
            size_t n = utf8_size(s->p, s->end);

            if (n == 0)
                return false;
            if (out != NULL)
                dx_buf_append(out, s->p, n);
            s->p += n;
        }
    }
}

static bool digit_run(struct scan *s)
{
    const uint8_t *from = s->p;

    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return s->p > from;
}

static bool number(struct scan *s)
{
    (void)take(s, '-');
    if (!take(s, '0') && !digit_run(s))
        return false;
    if (take(s, '.') && !digit_run(s))
        return false;
    if (s->p < s->end && (*s->p | 0x20) == 'e') {
        s->p++;
        if (!take(s, '+'))
            (void)take(s, '-');
        return digit_run(s);
    }
    return true;
}

static bool word(struct scan *s, const char *text)
{
    size_t n = strlen(text);

    if ((size_t)(s->end - s->p) < n || memcmp(s->p, text, n) != 0)
        return false;
    s->p += n;
    return true;
}

/* A value that is neither array nor object. */
static bool scan_scalar(struct scan *s, enum dx_json_kind *kind)
{
    if (s->p == s->end)
        return false;
    switch (*s->p) {
    case '"':
        *kind = DX_JSON_STRING;
        return read_string(s, NULL);
    case 't':
        *kind = DX_JSON_BOOL;
        return word(s, "true");
    case 'f':
        *kind = DX_JSON_BOOL;
        return word(s, "false");
    case 'n':
        *kind = DX_JSON_NULL;
        return word(s, "null");
    default:
        *kind = DX_JSON_NUMBER;
        return number(s);
    }
}

static size_t first_of(path_set set)
{
    uint64_t low = (uint64_t)set;

    return low != 0 ? (size_t)__builtin_ctzll(low)
                    : 64 + (size_t)__builtin_ctzll((uint64_t)(set >> 64));
}

static void set_values(struct scan *s, path_set mask, enum dx_json_kind kind, struct dx_span text,
                       size_t used)
{
    for (; mask != 0; mask &= mask - 1)
        s->value[first_of(mask)] = (struct dx_json_value){ kind, text, used };
}

/* An object nested in one key twice: what the first left below it counts no more. */
static void forget(struct scan *s, path_set mask)
{
    set_values(s, mask, DX_JSON_ABSENT, (struct dx_span){ NULL, 0 }, 0);
}

/* Of keys that differ in case alone the one as written in the path counts, else the first. */
static bool is_key(const struct scan *s, size_t i, size_t depth, struct dx_span key)
{
    struct dx_span part = s->paths[i].part[depth];

    if (part.size != key.size)
        return false;
    if (memcmp(part.data, key.data, key.size) == 0)
        return true;
    return s->paths[i].any_case && s->value[i].kind == DX_JSON_ABSENT &&
           strncasecmp((const char *)part.data, (const char *)key.data, key.size) == 0;
}

/* Paths of `open` whose part `depth` is the key. */
static path_set matching(const struct scan *s, path_set open, size_t depth, struct dx_span key)
{
    path_set mask = 0;

    for (; open != 0; open &= open - 1) {
        size_t i = first_of(open);

        if (s->paths[i].count > depth && is_key(s, i, depth, key))
            mask |= (path_set)1 << i;
    }
    return mask;
}

/* Of mask, those whose last part is `depth`. */
static path_set ending(const struct scan *s, path_set mask, size_t depth)
{
    path_set found = 0;

    for (; mask != 0; mask &= mask - 1) {
        size_t i = first_of(mask);

        if (s->paths[i].count == depth + 1)
            found |= (path_set)1 << i;
    }
    return found;
}

/* The text of a string that was passed once already: in the line itself, or, if it has escapes, decoded at the end of scratch. */
static struct dx_span decoded(const struct scan *s, struct dx_span quoted)
{
    struct scan one = { .p = quoted.data, .end = quoted.data + quoted.size };
    size_t mark = s->scratch->size;

    assert(quoted.size >= 2 && quoted.data[0] == '"');
    if (memchr(quoted.data, '\\', quoted.size) == NULL)
        return dx_span_of(quoted.data + 1, quoted.size - 2);
    (void)read_string(&one, s->scratch);
    return dx_buf_from(s->scratch, mark);
}

/* Texts of strings; scratch has room for those that have escapes. */
static void decode_values(struct scan *s)
{
    for (size_t i = 0; i < s->path_count; i++)
        if (s->value[i].kind == DX_JSON_STRING)
            s->value[i].text = decoded(s, s->value[i].text);
}

/* Text of strings is decoded after the walk: scratch may move while it grows. The first string that a path leads on in;
 * path_count: none. Of such a string is decoded its text, a key of it at a time, and a value for each path. */
static size_t decode_strings(struct scan *s)
{
    size_t need = 0, inside = s->path_count;

    for (size_t i = s->path_count; i-- > 0;)
        if (s->value[i].kind == DX_JSON_STRING) {
            need += s->value[i].text.size;
        } else if (s->value[i].kind == DX_JSON_INSIDE) {
            need += 3 * s->value[i].text.size;
            inside = i;
        }
    dx_buf_clear(s->scratch);
    if (dx_buf_reserve(s->scratch, need) == NULL && need > 0) {
        s->scratch->failed = true;
        return s->path_count;
    }
    decode_values(s);
    return inside;
}

/* One frame of the walk: an array or object being read. */
struct frame {
    path_set open;    /* paths that lead through this object */
    path_set capture; /* paths whose value this array or object is */
    path_set through; /* paths that lead on in the elements of this array */
    uint32_t begin;   /* its offset in the line */
};

static void close_frame(struct scan *s, const struct frame *f, const uint8_t *line, size_t parts)
{
    struct dx_span text = dx_span_of(line + f->begin, (size_t)(s->p - line) - f->begin);

    set_values(s, f->capture, DX_JSON_NESTED, text, parts);
    set_values(s, f->through, DX_JSON_LIST, text, parts);
}

struct walk {
    struct scan *s;
    const uint8_t *line;
    size_t depth;
    path_set mask;   /* paths that lead to the value at hand */
    bool is_element; /* of an array: no key stands before it */
    /* Only the first levels can lie on a path; below, one bit a level tells the kind. */
    uint8_t kinds[DX_JSON_NESTING_MAX / 8];
    struct frame frames[DX_JSON_PATH_PARTS + 1];
    path_set of_class[KEY_CLASSES]; /* paths by the class of their first part */
};

/* By size and first letter, the same in either case. */
static size_t class_of(struct dx_span key)
{
    return key.size == 0 ? 0 : (key.size ^ (key.data[0] | 0x20u)) % KEY_CLASSES;
}

static void sort_paths(struct walk *w)
{
    for (size_t i = 0; i < w->s->path_count; i++)
        w->of_class[class_of(w->s->paths[i].part[0])] |= (path_set)1 << i;
}

static bool is_in_object(const struct walk *w)
{
    return w->kinds[(w->depth - 1) / 8] >> ((w->depth - 1) % 8) & 1;
}

/* Paths that lead on by the key that was passed just now, from its quote on. */
static path_set find_paths(struct walk *w, const uint8_t *quote)
{
    path_set open = w->depth <= DX_JSON_PATH_PARTS ? w->frames[w->depth - 1].open : 0;
    size_t mark = w->s->scratch->size;
    struct dx_span key;

    if (open == 0)
        return 0;
    key = decoded(w->s, dx_span_of(quote, (size_t)(w->s->p - quote)));
    if (w->depth == 1)
        open &= w->of_class[class_of(key)];
    open = matching(w->s, open, w->depth - 1, key);
    w->s->scratch->size = mark;
    return open;
}

/* A key and its colon. */
static bool pass_key(struct walk *w)
{
    struct scan *s = w->s;
    const uint8_t *quote = s->p;

    if (s->p == s->end || *s->p != '"' || !read_string(s, NULL))
        return false;
    w->mask = find_paths(w, quote);
    space(s);
    if (!take(s, ':'))
        return false;
    space(s);
    return true;
}

/* The key, if one is due, and the paths that lead to its value. */
static bool read_key(struct walk *w)
{
    if (!w->is_element) {
        w->mask = 0;
        if (is_in_object(w) && !pass_key(w))
            return false;
        if (w->mask != 0)
            forget(w->s, w->mask);
    }
    w->is_element = false;
    return true;
}

static void next_element(struct walk *w)
{
    w->mask = 0;
    w->is_element = true;
}

/* An array or object at its bracket. */
static bool open_nested(struct walk *w, path_set capture, bool *is_empty)
{
    struct scan *s = w->s;
    bool object = *s->p == '{';

    if (w->depth == DX_JSON_NESTING_MAX)
        return false;
    if (w->depth <= DX_JSON_PATH_PARTS)
        w->frames[w->depth] = (struct frame){ .open = object ? w->mask & ~capture : 0,
                                              .capture = capture,
                                              .through = object ? 0 : w->mask & ~capture,
                                              .begin = (uint32_t)(s->p - w->line) };
    w->kinds[w->depth / 8] = (uint8_t)((w->kinds[w->depth / 8] & ~(1u << (w->depth % 8))) |
                                       (unsigned)object << (w->depth % 8));
    w->depth++;
    s->p++;
    space(s);
    *is_empty = s->p == s->end || *s->p == (object ? '}' : ']');
    if (!*is_empty && !object)
        next_element(w);
    return true;
}

/* Of a string at its quote. */
static bool may_be_object(const uint8_t *p)
{
    p++;
    while (*p == ' ')
        p++;
    return *p == '{';
}

static bool read_scalar(struct walk *w, path_set capture)
{
    path_set through = w->mask & ~capture;
    const uint8_t *from = w->s->p;
    enum dx_json_kind kind;

    if (!scan_scalar(w->s, &kind))
        return false;
    set_values(w->s, capture, kind,
               kind == DX_JSON_NULL ? (struct dx_span){ NULL, 0 }
                                    : dx_span_of(from, (size_t)(w->s->p - from)),
               0);
    if (kind == DX_JSON_STRING && through != 0 && may_be_object(from))
        set_values(w->s, through, DX_JSON_INSIDE, dx_span_of(from, (size_t)(w->s->p - from)),
                   w->depth);
    return true;
}

/* Behind a value: close what ends here, then a comma or the end. */
static bool close_values(struct walk *w)
{
    while (w->depth > 0) {
        bool object = is_in_object(w);

        space(w->s);
        if (take(w->s, ',')) {
            space(w->s);
            if (!object)
                next_element(w);
            return true;
        }
        if (!take(w->s, object ? '}' : ']'))
            return false;
        w->depth--;
        if (w->depth > 0 && w->depth <= DX_JSON_PATH_PARTS)
            close_frame(w->s, &w->frames[w->depth], w->line, w->depth);
    }
    return true;
}

static bool read_object(struct scan *s, const uint8_t *line)
{
    struct walk w = { .s = s, .line = line, .depth = 1, .kinds = { 1 } };

    assert(s->p < s->end && *s->p == '{');
    sort_paths(&w);
    w.frames[0].open = s->path_count == DX_JSON_PATHS_MAX ? ~(path_set)0
                                                          : ((path_set)1 << s->path_count) - 1;
    s->p++;
    space(s);
    if (take(s, '}'))
        w.depth = 0;
    while (w.depth > 0) {
        bool is_empty = true;
        path_set capture;

        if (!read_key(&w))
            return false;
        capture = w.mask == 0 ? 0 : ending(s, w.mask, w.depth - 1);
        if (s->p < s->end && (*s->p == '{' || *s->p == '[')) {
            if (!open_nested(&w, capture, &is_empty))
                return false;
        } else if (!read_scalar(&w, capture)) {
            return false;
        }
        if (is_empty && !close_values(&w))
            return false;
    }
    space(s);
    return s->p == s->end;
}

/* The paths that lead into the string that path i does: what is left of them behind it. */
static size_t paths_inside(const struct scan *s, size_t i, struct dx_json_path *behind,
                           size_t which[DX_JSON_PATHS_MAX])
{
    const struct dx_json_value *in = &s->value[i];
    size_t count = 0;

    for (size_t k = i; k < s->path_count; k++)
        if (s->value[k].kind == DX_JSON_INSIDE && s->value[k].text.data == in->text.data) {
            struct dx_json_path *b = &behind[count];

            *b = (struct dx_json_path){ .count = s->paths[k].count - in->used,
                                        .any_case = s->paths[k].any_case };
            memcpy(b->part, s->paths[k].part + in->used, b->count * sizeof *b->part);
            which[count++] = k;
        }
    return count;
}

/* The values of those paths; scratch has room for all that is decoded. */
static void pick_inside(struct scan *s, const struct dx_json_path *behind, const size_t *which,
                        size_t count)
{
    struct dx_json_value value[DX_JSON_PATHS_MAX];
    struct dx_span raw = s->value[which[0]].text;
    size_t used = s->value[which[0]].used, mark = s->scratch->size;
    struct scan one = { .p = raw.data, .end = raw.data + raw.size };
    struct scan in = {
        .paths = behind, .path_count = count, .value = value, .scratch = s->scratch
    };
    bool ok;

    (void)read_string(&one, s->scratch); /* passed once already */
    in.p = s->scratch->data + mark;
    in.end = s->scratch->data + s->scratch->size;
    raw.data = in.p;
    for (size_t i = 0; i < count; i++)
        value[i] = (struct dx_json_value){ .kind = DX_JSON_ABSENT };
    space(&in);
    ok = in.p < in.end && *in.p == '{' && read_object(&in, raw.data);
    if (ok)
        decode_values(&in);
    for (size_t i = 0; i < count; i++) {
        if (!ok || value[i].kind == DX_JSON_INSIDE)
            value[i] = (struct dx_json_value){ .kind = DX_JSON_ABSENT };
        value[i].used += used;
        s->value[which[i]] = value[i];
    }
}

/* Few records have such strings, and their paths are too large for a stack. */
static bool look_inside(struct scan *s, size_t first)
{
    struct {
        struct dx_json_path behind[DX_JSON_PATHS_MAX];
        size_t which[DX_JSON_PATHS_MAX];
    } *room = malloc(sizeof *room);

    for (size_t i = first; i < s->path_count && room != NULL; i++)
        if (s->value[i].kind == DX_JSON_INSIDE)
            pick_inside(s, room->behind, room->which,
                        paths_inside(s, i, room->behind, room->which));
    free(room);
    return room != NULL;
}

bool dx_json_pick(struct dx_span line, const struct dx_json_path *paths, size_t count,
                  struct dx_json_value *value, struct dx_buf *scratch)
{
    struct scan s = { line.data, line.data + line.size, paths, count, value, scratch };
    size_t inside;

    dx_buf_clear(scratch);
    for (size_t i = 0; i < count; i++)
        value[i] = (struct dx_json_value){ DX_JSON_ABSENT, { NULL, 0 }, 0 };
    /* A first byte of storage, so that even an empty text has an address. */
    if (dx_buf_reserve(scratch, 1) == NULL || line.size == 0)
        return false;
    space(&s);
    if (s.p == s.end || *s.p != '{' || !read_object(&s, line.data))
        return false;
    inside = decode_strings(&s);
    return (inside >= count || look_inside(&s, inside)) && !scratch->failed;
}

bool dx_json_value_of(struct dx_span text, struct dx_json_value *value, struct dx_buf *scratch)
{
    struct scan s = { .p = text.data, .end = text.data + text.size, .scratch = scratch };

    dx_buf_clear(scratch);
    *value = (struct dx_json_value){ .kind = DX_JSON_NESTED, .text = text };
    if (text.size == 0 || text.data[0] == '{' || text.data[0] == '[')
        return text.size > 0;
    if (dx_buf_reserve(scratch, text.size) == NULL)
        return false;
    if (text.data[0] == '"') {
        value->kind = DX_JSON_STRING;
        if (!read_string(&s, scratch) || s.p != s.end)
            return false;
        value->text = dx_span_of(scratch->data, scratch->size);
        return true;
    }
    if (!scan_scalar(&s, &value->kind))
        return false;
    if (value->kind == DX_JSON_NULL)
        value->text = (struct dx_span){ NULL, 0 };
    return true;
}

/* One value of a row; decoded is never longer, so scratch does not move. */
static bool read_cell(struct scan *s, struct dx_span *out)
{
    const uint8_t *from = s->p;
    size_t mark = s->scratch->size;
    enum dx_json_kind kind;

    if (s->p < s->end && *s->p == '"') {
        if (!read_string(s, s->scratch))
            return false;
        *out = dx_buf_from(s->scratch, mark);
        if (out->size == 1 && out->data[0] == '-')
            *out = (struct dx_span){ NULL, 0 };
        return true;
    }
    if (!scan_scalar(s, &kind))
        return false;
    *out = kind == DX_JSON_NULL ? (struct dx_span){ NULL, 0 }
                                : dx_span_of(from, (size_t)(s->p - from));
    return true;
}

size_t dx_json_row(struct dx_span line, struct dx_span *field, size_t max, struct dx_buf *scratch,
                   bool *ok)
{
    struct scan s = { .p = line.data, .end = line.data + line.size, .scratch = scratch };
    size_t n = 0;
    bool more;

    *ok = false;
    dx_buf_clear(scratch);
    if (line.size == 0 || dx_buf_reserve(scratch, line.size) == NULL)
        return 0;
    space(&s);
    if (!take(&s, '['))
        return 0;
    space(&s);
    more = !take(&s, ']');
    while (more) {
        struct dx_span value;

        if (!read_cell(&s, &value))
            return 0;
        if (n < max)
            field[n++] = value;
        space(&s);
        more = take(&s, ',');
        if (!more && !take(&s, ']'))
            return 0;
        space(&s);
    }
    space(&s);
    *ok = s.p == s.end;
    return *ok ? n : 0;
}
