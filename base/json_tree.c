/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_tree.h"

#include "base/array.h"
#include "base/hex.h"
#include "base/plain_text.h"
#include "base/utf8.h"

#include <stdlib.h>

enum { PAIRWISE_MAX = 16 }; /* members that are compared each with each */

/* The copy ends with a NUL, which no token contains: nothing is read beyond it. */
struct parser {
    struct dx_json_tree *tree;
    uint8_t *at, *end;
    const char *why; /* NULL: out of memory */
};

static bool refuse(struct parser *p, const uint8_t *at, const char *why)
{
    p->at = (uint8_t *)(uintptr_t)at;
    p->why = why;
    return false;
}

static bool add_node(struct parser *p, struct dx_json_node node)
{
    struct dx_json_tree *t = p->tree;

    if (t->count == t->capacity) {
        void *grown = dx_array_room(t->node, t->count, &t->capacity, sizeof *t->node);

        if (grown == NULL)
            return refuse(p, p->at, NULL);
        t->node = grown;
    }
    t->node[t->count++] = node;
    return true;
}

static void skip_blanks(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t')
        p->at++;
}

/* ---- texts ---- */

/* Behind "\u"; -1: not four digits. */
static int32_t read_unit(const uint8_t *s)
{
    int32_t unit = 0;

    for (size_t i = 0; i < 4; i++) {
        int digit = dx_hex_digit(s[i]);

        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* s: behind "\u". What it stands for is never longer than what stood there. NULL: refused. */
static const uint8_t *unescape_unit(struct parser *p, const uint8_t *s, uint8_t **to)
{
    int32_t unit = read_unit(s);
    uint32_t c = (uint32_t)unit;

    if (unit > 0 && (c & 0xfffff800) == 0xd800) {
        int32_t low = c < 0xdc00 && s[4] == '\\' && s[5] == 'u' ? read_unit(s + 6) : -1;

        if (low < 0xdc00 || low > 0xdfff) {
            (void)refuse(p, s, "half of a surrogate pair");
            return NULL;
        }
        c = 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
        s += 6;
    } else if (unit <= 0) {
        (void)refuse(p, s, unit == 0 ? "a NUL in a text" : "'\\u' without four digits");
        return NULL;
    }
    *to += dx_utf8_write(*to, c);
    return s + 4;
}

/* s: at the backslash. */
static const uint8_t *unescape(struct parser *p, const uint8_t *s, uint8_t **to)
{
    static const char from[] = "\"\\/bfnrt";
    static const char into[] = "\"\\/\b\f\n\r\t";
    const char *found = s[1] == '\0' ? NULL : strchr(from, s[1]);

    if (s[1] == 'u')
        return unescape_unit(p, s + 2, to);
    if (found == NULL) {
        (void)refuse(p, s, "an escape that JSON does not have");
        return NULL;
    }
    *(*to)++ = (uint8_t)into[found - from];
    return s + 2;
}

/* From the first byte on that is not plain; *to: behind the last byte of the text. NULL: refused. */
static const uint8_t *read_rest(struct parser *p, const uint8_t *s, uint8_t **to)
{
    while (s != NULL && *s != '"') {
        size_t n;

        if (*s < 0x20) {
            (void)refuse(p, s,
                         s == p->end ? "a text without its end" : "a control character in a text");
            return NULL;
        }
        if (*s == '\\') {
            s = unescape(p, s, to);
            continue;
        }
        n = dx_utf8_size(s, (size_t)(p->end - s));
        if (n == 0) {
            (void)refuse(p, s, "not UTF-8");
            return NULL;
        }
        memmove(*to, s, n);
        *to += n;
        s += n;
    }
    return s;
}

static bool read_text(struct parser *p)
{
    uint8_t *text = p->at + 1;
    uint8_t *to = text + dx_plain_prefix(text, (size_t)(p->end - text));
    const uint8_t *quote = read_rest(p, to, &to);

    if (quote == NULL)
        return false;
    p->at = p->at + (quote + 1 - p->at);
    *to = '\0';
    return add_node(p, (struct dx_json_node){ .kind = DX_JSON_TEXT,
                                              .size = (uint32_t)(to - text),
                                              .nodes = 1,
                                              .text = (const char *)text });
}

/* ---- numbers and words ---- */

static bool skip_digits(const uint8_t **s)
{
    const uint8_t *from = *s;

    while (**s >= '0' && **s <= '9')
        (*s)++;
    return *s > from;
}

/* Behind the whole part: whether there is more, which makes it no whole number. */
static bool read_fraction(struct parser *p, const uint8_t **s, bool *whole)
{
    if (**s == '.') {
        *whole = false;
        (*s)++;
        if (!skip_digits(s))
            return refuse(p, *s, "a number without digits behind the point");
    }
    if (**s == 'e' || **s == 'E') {
        *whole = false;
        (*s)++;
        *s += **s == '+' || **s == '-';
        if (!skip_digits(s))
            return refuse(p, *s, "a number without digits in its exponent");
    }
    return true;
}

static bool read_number(struct parser *p)
{
    const uint8_t *s = p->at;
    bool negative = *s == '-';
    uint64_t n = 0;
    bool whole = true;

    s += negative;
    if (*s < '0' || *s > '9')
        return refuse(p, s, "a value is expected");
    if (*s == '0')
        s++;
    else
        for (; *s >= '0' && *s <= '9'; s++)
            whole = whole && !__builtin_mul_overflow(n, 10, &n) &&
                    !__builtin_add_overflow(n, (uint64_t)(*s - '0'), &n);
    whole = whole && n <= (uint64_t)INT64_MAX + negative;
    if (!read_fraction(p, &s, &whole))
        return false;
    p->at += s - p->at;
    return add_node(p, (struct dx_json_node){ .kind = whole ? DX_JSON_WHOLE : DX_JSON_OTHER,
                                              .nodes = 1,
                                              .number = !whole     ? 0
                                                        : negative ? (int64_t)(0 - n)
                                                                   : (int64_t)n });
}

static bool read_word(struct parser *p)
{
    static const struct {
        const char *word;
        enum dx_json_kind kind;
    } words[] = { { "null", DX_JSON_NULL }, { "true", DX_JSON_TRUE }, { "false", DX_JSON_FALSE } };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);

        if ((size_t)(p->end - p->at) >= n && memcmp(p->at, words[i].word, n) == 0) {
            p->at += n;
            return add_node(p, (struct dx_json_node){ .kind = words[i].kind, .nodes = 1 });
        }
    }
    return refuse(p, p->at, "a value is expected");
}

/* ---- lists ---- */

static int compare_keys(const void *a, const void *b)
{
    const struct dx_json_node *x = *(const struct dx_json_node *const *)a;
    const struct dx_json_node *y = *(const struct dx_json_node *const *)b;

    return x->size != y->size ? (x->size < y->size ? -1 : 1) : memcmp(x->text, y->text, x->size);
}

static bool no_key_twice_sorted(struct parser *p, const struct dx_json_node *object)
{
    const struct dx_json_node **keys = malloc(object->size * sizeof *keys);
    const struct dx_json_node *key = dx_json_first(object);
    bool twice = false;

    if (keys == NULL)
        return refuse(p, p->at, NULL);
    for (uint32_t i = 0; i < object->size; i++, key = dx_json_after(key + 1))
        keys[i] = key;
    qsort(keys, object->size, sizeof *keys, compare_keys);
    for (uint32_t i = 1; i < object->size; i++)
        twice |= compare_keys(&keys[i - 1], &keys[i]) == 0;
    free(keys);
    return !twice || refuse(p, p->at, "duplicate member");
}

static bool no_key_twice(struct parser *p, const struct dx_json_node *object)
{
    const struct dx_json_node *keys[PAIRWISE_MAX];
    const struct dx_json_node *key = dx_json_first(object);

    if (object->size > PAIRWISE_MAX)
        return no_key_twice_sorted(p, object);
    for (uint32_t i = 0; i < object->size; i++, key = dx_json_after(key + 1)) {
        keys[i] = key;
        for (uint32_t k = 0; k < i; k++)
            if (keys[k]->size == key->size && memcmp(keys[k]->text, key->text, key->size) == 0)
                return refuse(p, p->at, "duplicate member");
    }
    return true;
}

static bool read_key(struct parser *p)
{
    skip_blanks(p);
    if (*p->at != '"')
        return refuse(p, p->at, "a member's name is expected");
    if (!read_text(p))
        return false;
    skip_blanks(p);
    if (*p->at != ':')
        return refuse(p, p->at, "':' is expected");
    p->at++;
    return true;
}

static bool read_value(struct parser *p, unsigned depth);

static bool read_entries(struct parser *p, unsigned depth, bool object, uint32_t *size)
{
    uint8_t close = object ? '}' : ']';

    skip_blanks(p);
    if (*p->at == close)
        return true;
    for (;;) {
        if ((object && !read_key(p)) || !read_value(p, depth + 1))
            return false;
        ++*size;
        skip_blanks(p);
        if (*p->at == close)
            return true;
        if (*p->at != ',')
            return refuse(p, p->at, object ? "',' or '}' is expected" : "',' or ']' is expected");
        p->at++;
    }
}

static bool read_list(struct parser *p, unsigned depth)
{
    bool object = *p->at == '{';
    size_t index = p->tree->count;
    struct dx_json_node list = { .kind = object ? DX_JSON_OBJECT : DX_JSON_ARRAY };

    if (depth == DX_JSON_TREE_DEPTH)
        return refuse(p, p->at, "too many levels");
    if (!add_node(p, list))
        return false;
    p->at++;
    if (!read_entries(p, depth, object, &list.size))
        return false;
    list.nodes = (uint32_t)(p->tree->count - index);
    p->tree->node[index] = list;
    if (object && !no_key_twice(p, &p->tree->node[index]))
        return false;
    p->at++;
    return true;
}

static bool read_value(struct parser *p, unsigned depth)
{
    skip_blanks(p);
    switch (*p->at) {
    case '{':
    case '[':
        return read_list(p, depth);
    case '"':
        return read_text(p);
    case 'n':
    case 't':
    case 'f':
        return read_word(p);
    default:
        return read_number(p);
    }
}

static bool read_document(struct parser *p)
{
    if (!read_value(p, 0))
        return false;
    skip_blanks(p);
    return p->at == p->end || refuse(p, p->at, "end of file is expected");
}

/* ---- */

static int fail_at(struct dx_span text, size_t offset, const char *why, struct dx_error *err)
{
    size_t line = 1;
    size_t begin = 0;

    for (size_t i = 0; i < offset; i++)
        if (text.data[i] == '\n') {
            line++;
            begin = i + 1;
        }
    return dx_fail(err, DX_E_CORRUPT, "line %zu, column %zu: %s", line, offset - begin + 1, why);
}

int dx_json_tree_parse(struct dx_json_tree *tree, struct dx_span text, struct dx_error *err)
{
    struct parser p = { .tree = tree };
    int rc = DX_OK;

    *tree = (struct dx_json_tree){ .node = NULL };
    if (text.size >= UINT32_MAX)
        return dx_fail(err, DX_E_LIMIT, "%zu bytes, at most %u are read", text.size, UINT32_MAX);
    tree->text = malloc(text.size + 1);
    if (tree->text == NULL)
        return dx_no_memory(err, "JSON");
    if (text.size > 0)
        memcpy(tree->text, text.data, text.size);
    tree->text[text.size] = '\0';
    p.at = tree->text;
    p.end = tree->text + text.size;
    if (!read_document(&p))
        rc = p.why == NULL ? dx_no_memory(err, "JSON")
                           : fail_at(text, (size_t)(p.at - tree->text), p.why, err);
    if (rc < 0)
        dx_json_tree_release(tree);
    return rc;
}

void dx_json_tree_release(struct dx_json_tree *tree)
{
    free(tree->node);
    free(tree->text);
    *tree = (struct dx_json_tree){ .node = NULL };
}
