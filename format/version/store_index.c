/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/store_index.h"

#include "base/hex.h"
#include "base/utf8.h"

static const char *const flaw_names[DX_STORE_FLAWS] = {
    [DX_STORE_SOUND] = "sound",
    [DX_STORE_FIELDS] = "too few fields",
    [DX_STORE_KEY] = "no key that a line can hold",
    [DX_STORE_HASH] = "the hash is not 64 hex digits",
    [DX_STORE_TAG] = "no tag that a line can hold",
    [DX_STORE_ARRAY] = "no JSON array of strings",
    [DX_STORE_HEADER] = "no headers",
};

const char *dx_store_flaw_name(enum dx_store_flaw flaw)
{
    return flaw_names[flaw];
}

static const uint8_t *find(struct dx_span s, const char *what)
{
    return s.size == 0 ? NULL : memmem(s.data, s.size, what, strlen(what));
}

static bool has_control(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] < 0x20 || s.data[i] == 0x7f)
            return true;
    return false;
}

static bool is_name(struct dx_span s, size_t max)
{
    return s.size > 0 && s.size <= max && !has_control(s) && dx_utf8_is_valid(s);
}

static bool is_key(struct dx_span s)
{
    return is_name(s, DX_STORE_LINE_MAX) && find(s, DX_STORE_SEPARATOR) == NULL;
}

static bool is_hash(struct dx_span s)
{
    if (s.size != DX_STORE_HASH_SIZE)
        return false;
    for (size_t i = 0; i < s.size; i++)
        if (!(s.data[i] >= '0' && s.data[i] <= '9') && !(s.data[i] >= 'a' && s.data[i] <= 'f'))
            return false;
    return true;
}

static struct dx_span without_cr(struct dx_span line)
{
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

/* What is before the separator; *rest is what is behind it. */
static bool cut(struct dx_span *rest, const char *separator, struct dx_span *before)
{
    const uint8_t *at = find(*rest, separator);

    if (at == NULL)
        return false;
    *before = dx_span_of(rest->data, (size_t)(at - rest->data));
    *rest = dx_span_of(at + strlen(separator), rest->size - before->size - strlen(separator));
    return true;
}

enum dx_store_flaw dx_store_entry_parse(struct dx_span line, struct dx_store_entry *entry)
{
    struct dx_span rest = without_cr(line);

    *entry = (struct dx_store_entry){ .key = { NULL, 0 } };
    if (!cut(&rest, DX_STORE_SEPARATOR, &entry->key) ||
        !cut(&rest, DX_STORE_SEPARATOR, &entry->hash) ||
        !cut(&rest, DX_STORE_SEPARATOR, &entry->type))
        return DX_STORE_FIELDS;
    entry->title = rest;
    if (!is_key(entry->key))
        return DX_STORE_KEY;
    return is_hash(entry->hash) ? DX_STORE_SOUND : DX_STORE_HASH;
}

enum dx_store_flaw dx_store_tombstone_parse(struct dx_span line, struct dx_span *key)
{
    *key = without_cr(line);
    return is_key(*key) ? DX_STORE_SOUND : DX_STORE_KEY;
}

static bool holds_newline(struct dx_span s)
{
    return s.size > 0 && (memchr(s.data, '\n', s.size) != NULL || s.data[s.size - 1] == '\r');
}

bool dx_store_entry_put(struct dx_buf *out, const struct dx_store_entry *entry)
{
    /* A title that ends in CR would lose it: it would be the line's end. */
    if (!is_key(entry->key) || !is_hash(entry->hash) || holds_newline(entry->title) ||
        has_control(entry->type) || find(entry->type, DX_STORE_SEPARATOR) != NULL ||
        entry->key.size + entry->type.size + entry->title.size > DX_STORE_LINE_MAX - 128)
        return false;
    dx_buf_append(out, entry->key.data, entry->key.size);
    dx_buf_str(out, DX_STORE_SEPARATOR);
    dx_buf_append(out, entry->hash.data, entry->hash.size);
    dx_buf_str(out, DX_STORE_SEPARATOR);
    dx_buf_append(out, entry->type.data, entry->type.size);
    dx_buf_str(out, DX_STORE_SEPARATOR);
    dx_buf_append(out, entry->title.data, entry->title.size);
    dx_buf_u8(out, '\n');
    return true;
}

/* ---- tags ---- */

bool dx_store_tag_fits(struct dx_span tag)
{
    return is_name(tag, DX_STORE_TAG_MAX) && find(tag, DX_STORE_TAG_SEPARATOR) == NULL;
}

static uint8_t peek(const struct dx_bytes *r)
{
    return dx_bytes_left(r) > 0 ? *r->at : 0;
}

static void skip_space(struct dx_bytes *r)
{
    while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\r' || peek(r) == '\n')
        r->at++;
}

bool dx_store_strings_begin(struct dx_bytes *strings, struct dx_span text)
{
    *strings = dx_bytes_of(text);
    skip_space(strings);
    strings->begin = strings->at; /* how the first call of next knows that it is the first */
    return peek(strings) == '[';
}

enum dx_store_flaw dx_store_tag_parse(struct dx_span line, struct dx_span *tag,
                                      struct dx_bytes *keys)
{
    struct dx_span rest = without_cr(line);

    *keys = dx_bytes_of(dx_span_of(NULL, 0));
    if (!cut(&rest, DX_STORE_TAG_SEPARATOR, tag))
        return DX_STORE_FIELDS;
    if (!dx_store_tag_fits(*tag))
        return DX_STORE_TAG;
    return dx_store_strings_begin(keys, rest) ? DX_STORE_SOUND : DX_STORE_ARRAY;
}

/* Four hex digits; -1: not hex. */
static int32_t hex4(struct dx_bytes *r)
{
    int32_t v = 0;

    for (int i = 0; i < 4; i++) {
        int digit = dx_hex_digit(dx_bytes_u8(r));

        if (digit < 0)
            return -1;
        v = v << 4 | digit;
    }
    return r->failed ? -1 : v;
}

static void put_code(struct dx_buf *out, uint32_t code)
{
    uint8_t bytes[DX_UTF8_MAX];

    dx_buf_append(out, bytes, dx_utf8_write(bytes, code));
}

/* Behind "\u". Half of a pair is U+FFFD: no key has it, so it belongs to none. */
static bool unicode_escape(struct dx_bytes *r, struct dx_buf *out)
{
    int32_t c = hex4(r);
    int32_t low;

    if (c < 0)
        return false;
    if (c >= 0xd800 && c < 0xdc00 && dx_bytes_left(r) >= 6 && r->at[0] == '\\' && r->at[1] == 'u') {
        struct dx_bytes ahead = *r;

        ahead.at += 2;
        low = hex4(&ahead);
        if (low >= 0xdc00 && low < 0xe000) {
            *r = ahead;
            put_code(out, 0x10000 + ((uint32_t)(c - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
            return true;
        }
    }
    put_code(out, c >= 0xd800 && c < 0xe000 ? 0xfffd : (uint32_t)c);
    return true;
}

static bool escape(struct dx_bytes *r, struct dx_buf *out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    uint8_t c = dx_bytes_u8(r);
    const char *at = c == 0 ? NULL : strchr(from, c);

    if (c == 'u')
        return unicode_escape(r, out);
    if (at == NULL)
        return false;
    dx_buf_u8(out, (uint8_t)to[at - from]);
    return true;
}

static bool string(struct dx_bytes *r, struct dx_buf *out)
{
    if (dx_bytes_u8(r) != '"')
        return false;
    while (dx_bytes_left(r) > 0) {
        uint8_t c = dx_bytes_u8(r);

        if (c == '"')
            return !out->failed;
        if (c < 0x20 || (c == '\\' && !escape(r, out)))
            return false;
        if (c != '\\')
            dx_buf_u8(out, c);
    }
    return false;
}

int dx_store_tag_next(struct dx_bytes *keys, struct dx_buf *key)
{
    bool first = keys->at == keys->begin && peek(keys) == '[';

    dx_buf_clear(key);
    if (first)
        keys->at++;
    skip_space(keys);
    if (peek(keys) == ']') {
        keys->at++;
        skip_space(keys);
        return dx_bytes_left(keys) == 0 ? 0 : -1;
    }
    if (!first) {
        if (peek(keys) != ',')
            return -1;
        keys->at++;
        skip_space(keys);
    }
    return string(keys, key) ? 1 : -1;
}

/* ---- headers of a storage file ---- */

static struct dx_span *header_field(struct dx_store_header *h, struct dx_span line, size_t *name)
{
    const struct {
        const char *name;
        struct dx_span *to;
    } fields[] = { { "KEY:", &h->key },    { "HASH:", &h->hash }, { "DOMAIN:", &h->domain },
                   { "PATH:", &h->path },  { "FILE:", &h->file }, { "CONTENTTYPE:", &h->type },
                   { "TITLE:", &h->title } };

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        *name = strlen(fields[i].name);
        if (line.size >= *name && memcmp(line.data, fields[i].name, *name) == 0)
            return fields[i].to;
    }
    return NULL;
}

enum dx_store_flaw dx_store_header_parse(struct dx_span text, struct dx_store_header *header)
{
    struct dx_bytes r = dx_bytes_of(text);

    *header = (struct dx_store_header){ .size = 0 };
    while (dx_bytes_left(&r) > 0) {
        const uint8_t *end = memchr(r.at, '\n', dx_bytes_left(&r));
        struct dx_span *to;
        struct dx_span line;
        size_t name;

        if (end == NULL)
            return DX_STORE_HEADER;
        line = without_cr(dx_span_of(r.at, (size_t)(end - r.at)));
        r.at = end + 1;
        if (line.size == 0) {
            header->size = dx_bytes_at(&r);
            return header->key.data != NULL && header->hash.data != NULL ? DX_STORE_SOUND
                                                                         : DX_STORE_HEADER;
        }
        /* Others belong to a title that had line ends in it, and are passed over. */
        to = header_field(header, line, &name);
        if (to != NULL && to->data != NULL && (to == &header->key || to == &header->hash))
            return DX_STORE_HEADER;
        if (to != NULL && to->data == NULL)
            *to = dx_span_from(line, name);
    }
    return DX_STORE_HEADER;
}
