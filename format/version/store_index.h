/* SPDX-License-Identifier: Apache-2.0
 * store_index.h - the lines of a file store: its index, its tombstone, its tags, and the headers of
 * its storage files (docs/FILESTORE.md).
 *
 *   flaw = dx_store_entry_parse(line, &entry);              KEY,!,HASH,!,TYPE,!,TITLE
 *   flaw = dx_store_tombstone_parse(line, &key);            KEY
 *   flaw = dx_store_tag_parse(line, &tag, &keys);           TAG!#!["KEY", ...]
 *   while ((rc = dx_store_tag_next(&keys, &key)) == 1)      key: a dx_buf, cleared first
 *       ...                                                 0 the end, -1 no JSON array of strings
 *   flaw = dx_store_header_parse(text, &header);            of a storage file, unpacked
 *
 *   if (!dx_store_entry_put(&out, &entry)) ...              false: a line cannot hold it; nothing is put
 *   if (!dx_store_tag_fits(tag)) ...
 *
 * Lines come without their '\n'. Spans got are borrowed from the line. A key is a text in UTF-8
 * without control characters and without the separator; a title is all that is behind the third
 * separator. No I/O, no state: any thread.
 */
#ifndef DX_FORMAT_VERSION_STORE_INDEX_H
#define DX_FORMAT_VERSION_STORE_INDEX_H

#include "base/buf.h"
#include "base/bytes.h"

#define DX_STORE_HASH_SIZE 64              /* hex digits of a SHA-256 */
#define DX_STORE_LINE_MAX (1u << 20)       /* of the index and the tombstone: a URL and a title */
#define DX_STORE_TAG_LINE_MAX (256u << 20) /* a tag with millions of keys */
#define DX_STORE_TAG_MAX 1024              /* bytes of a tag */
#define DX_STORE_HEADER_MAX (2u << 20)     /* of a storage file: key and title are lines of it */
#define DX_STORE_SEPARATOR ",!,"
#define DX_STORE_TAG_SEPARATOR "!#!"

enum dx_store_flaw {
    DX_STORE_SOUND,
    DX_STORE_FIELDS, /* too few fields */
    DX_STORE_KEY,    /* empty, too long, control characters, no UTF-8, or the separator in it */
    DX_STORE_HASH,   /* not 64 lower-case hex digits */
    DX_STORE_TAG,    /* empty, too long, control characters or no UTF-8 */
    DX_STORE_ARRAY,  /* no JSON array behind the tag */
    DX_STORE_HEADER, /* no empty line ends the headers, or KEY or HASH is missing or there twice */
    DX_STORE_FLAWS
};

/* "too few fields", ... */
const char *dx_store_flaw_name(enum dx_store_flaw flaw);

struct dx_store_entry {
    struct dx_span key;
    struct dx_span hash; /* 64 hex digits; whether they are the key's is for the caller to say */
    struct dx_span type;
    struct dx_span title;
};

enum dx_store_flaw dx_store_entry_parse(struct dx_span line, struct dx_store_entry *entry);
enum dx_store_flaw dx_store_tombstone_parse(struct dx_span line, struct dx_span *key);
bool dx_store_entry_put(struct dx_buf *out, const struct dx_store_entry *entry);

enum dx_store_flaw dx_store_tag_parse(struct dx_span line, struct dx_span *tag,
                                      struct dx_bytes *keys);
int dx_store_tag_next(struct dx_bytes *keys, struct dx_buf *key);
/* What stands behind the tag, from anywhere: a JSON array for tag_next. false: it does not begin
 * one. */
bool dx_store_strings_begin(struct dx_bytes *strings, struct dx_span text);
bool dx_store_tag_fits(struct dx_span tag);

struct dx_store_header {
    struct dx_span key, hash, domain, path, file, type, title; /* data NULL: not there */
    size_t size;                                               /* with the empty line */
};

/* text begins with the headers; what is behind them may be cut off anywhere. */
enum dx_store_flaw dx_store_header_parse(struct dx_span text, struct dx_store_header *header);

#endif
