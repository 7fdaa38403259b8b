/* SPDX-License-Identifier: Apache-2.0
 * cursor.h - where a listing goes on: version, question, place and time, sealed.
 *
 *   struct dx_cursor_key key = DX_CURSOR_KEY_INIT;
 *   rc = dx_cursor_key_read(&key, path, &err);                of a file that servers share; or
 *   rc = dx_cursor_key_random(&key, &err);                    of this process
 *   rc = dx_cursor_write(&cursor, &key, principal, text, &err);      opaque text, base64url
 *   rc = dx_cursor_read(span, &key, principal, &cursor, &problem);   1; 0 "bad-cursor"; <0 failed
 *   dx_cursor_expired(&cursor, now_s, life_s);
 *
 * What is read back is what was written, bit for bit, or refused: nothing in a cursor is believed
 * before it was opened (base/crypto/seal.h). It says which version the listing is of, and no other version
 * can answer it: build is compared with that of the version when it is pinned.
 *
 * A cursor holds places of an index, which depend on datasets that its owner may not see. So
 * clients cannot read it, and it belongs to a principal: the name ("" or NULL where there is no
 * access table) is not in it, but it opens only with the same. That of another one is a bad
 * cursor like any other. The same cursor of the same principal is the same text; of others it is
 * another one, and so is every answer that has one in it: a cache of answers keeps those for each
 * principal.
 *
 * Whose key it is sealed with:
 *
 *   of a file            all cursors; servers with the same file take each other's
 *   else, a principal    a random one of the process: no other server accepts it, nor this one after a restart. Without dx_cursor_key_random it is DX_E_INVALID
 *   else                 one made of the build id, which then stands in front. There is nothing secret
 *                        in that: it finds damage, mix-ups and other roots, but a client that knows how can read
 *                        and write one. Nothing is hidden from anybody then, and a cursor grants
 *                        nothing (it repeats a question that its owner could ask)
 *
 * Layout, little-endian, before base64url without padding:
 *
 *   u8 format (6)  [16 build, where the key is made of it]  16 synthetic IV
 *   sealed:   u8 kind  23 version  [16 build, where it is not in front]  i64 began_s  u32 limit
 *   listing, foreign: u64 domain_id  u32 dataset_id  u16 fields  u64 next_row  u64 end_row  packed filter, to the end
 *   changes:  23 since  16 since_build  u64 next_before  u64 next_after
 *   tags:     u64 tag_hash  u32 dataset_id  u8 flags  u16 fields  u64 next_row  u64 end_row  u32 next_file
 *   range:    16 numbers  u64 first  u64 end  u8 one_dataset, 4 with an order  u32 dataset_id  u16 fields
 *             u64 next_number  u32 next_dataset  u64 next_row  [order]  packed filter, to the end
 *   tlds:     u8 one_dataset  u32 dataset_id  u64 next_row  u64 line  4 u64 sums
 *   suffix:   u8 one_dataset  u32 dataset_id  u64 tag_hash  u8 rows  u32 next_dataset  u64 next_row  u64 line  14 u64 sums
 *   suffix urls: u8 one_dataset, 2 with an end, 4 with an order  u32 dataset_id  u64 tag_hash  u16 fields  u64 next_number  u32 next_dataset  u64 next_row
 *             [u64 end]  [order]  packed filter, to the end
 *   domains:  u8 one_dataset  u32 dataset_id  u16 fields  u64 next_row  u64 end_row  packed filter, to the end
 *   all urls: u64 domain_id  u16 fields  u32 next_dataset  u64 next_row  u32 end_dataset  u64 end_row
 *             u8 datasets, 128 with an order or a host  u32 each  [order]  packed filter, to the end
 *   order:    u8 sort  u8 flags  u8 collapse  u8 its digits  i64 closest  u64 range  [i64 ts_us  u16 host  u16 path_query  URL]  [16 value].
 *             By it next is the row to go on behind, and end the one that was taken last, or the one that the stretch of next begins behind
 *             (query/scan/merged_page.h). Of a range or a suffix next_number is that of the domain in the version
 *             (loader/version_parts.h), and range is 0
 *
 * No I/O but in key_read; any thread.
 */
#ifndef DX_QUERY_ROWS_CURSOR_H
#define DX_QUERY_ROWS_CURSOR_H

#include "base/bytes.h"
#include "base/hash.h"
#include "format/version/manifest.h"
#include "query/rows/row_filter.h"
#include "query/view/dataset_list.h"
#include "query/view/problem.h"

#define DX_CURSOR_FORMAT 6
#define DX_CURSOR_TEXT 2672    /* characters of the longest, and NUL */
#define DX_CURSOR_URL_MAX 1024 /* bytes of a host and a path: of a position */
#define DX_CURSOR_VALUE 16     /* of a digest of it */
#define DX_CURSOR_LIFE_S 900
#define DX_CURSOR_KEY_MIN 32 /* bytes of a key file */
#define DX_CURSOR_KEY_MAX 4096

enum dx_cursor_kind {
    DX_CURSOR_LISTING = 1, /* of /v1/domain/{d}/datasets/{id}/urls */
    DX_CURSOR_CHANGES = 2, /* of /v1/changes */
    DX_CURSOR_RANGE = 3,   /* of /v1/range */
    DX_CURSOR_TAGS = 4,    /* of /v1/tags: next_row and end_row are numbers of tags */
    DX_CURSOR_TAG = 5,     /* of /v1/tags/{tag}: next_row is an ordinal, or a row of next_file */
    DX_CURSOR_TLDS = 6,    /* of /v1/tlds: next_row is an ordinal */
    /* of /v1/domain/{d}/urls: rows are places in the payload of their dataset */
    DX_CURSOR_ALL_URLS = 7,
    /* of /v1/domains: next_row and end_row are numbers of domains; the filter is its suffix as `tag`, its prefix, its
     * match as `status`, and its regex as `lang` */
    DX_CURSOR_DOMAINS = 8,
    /* of /v1/suffix/{suffix}: next_row is a number of a domain, tag_hash that of the suffix */
    DX_CURSOR_SUFFIX = 9,
    DX_CURSOR_FOREIGN =
        10, /* of /v1/domain/{d}/datasets/{id}/rows: as of the listing that it is made of */
    /* of /v1/suffix/{suffix}/urls: next_number is that of a domain, tag_hash that of the suffix */
    DX_CURSOR_SUFFIX_URLS = 11
};

enum dx_cursor_sort {
    DX_CURSOR_SORT_NONE,
    DX_CURSOR_SORT_URL,
    DX_CURSOR_SORT_TIME,
    DX_CURSOR_SORT_CLOSEST,
    DX_CURSOR_SORT_COUNT
};

/* Where a row stands in an order, with its dataset and place: so a listing goes on behind it whether the row is still shown or not, and who makes
 * up a cursor learns nothing of rows that are hidden. Not given where the URL is longer: then the row is read by its place, and must be
 * shown. */
struct dx_cursor_position {
    bool given, has_ts, has_value;
    int64_t ts_us;
    uint16_t host, path_query; /* bytes in url; 0 of an order that does not compare URLs */
    uint8_t value
        [DX_CURSOR_VALUE]; /* of the row that was taken last, where rows collapse (query/scan/collapse.h) */
    uint8_t url[DX_CURSOR_URL_MAX];
};

struct dx_cursor {
    enum dx_cursor_kind kind;
    char version[DX_VERSION_NAME]; /* that answers */
    struct dx_build_id build;
    int64_t began_s; /* the first page, seconds since 1970 */
    uint32_t limit;  /* of the page before */

    uint64_t domain_id;
    uint32_t dataset_id;
    unsigned fields;
    uint64_t next_row, end_row; /* places in the payload: hidden rows have one too */
    uint16_t filter_size;       /* of query/rows/row_filter.h, packed; 0: none */

    bool one_dataset; /* of dataset_id alone; of kinds that may be of all */

    uint64_t tag_hash; /* of its text; of /v1/tags of its prefix, 0: none */
    bool rows;         /* of the tag; else its domains. Of a suffix: its totals are known */
    uint32_t next_file;

    char since[DX_VERSION_NAME];
    struct dx_build_id since_build;
    uint64_t next_before, next_after; /* ordinals of the two versions, of which both are named */

    struct dx_build_id numbers; /* the state of the registry: loader/followed/domain64_registry.h */
    uint64_t first,
        end;      /* what was asked for; end 0: beyond all. With has_end a number of a domain */
    bool has_end; /* of a suffix: of a part of a plan */
    /* Of a domain, in the registry or the version; with an order in the version. Then a dataset of it, then a place as next_row is. */
    uint64_t next_number;
    uint32_t next_dataset;
    uint32_t end_dataset;
    uint8_t dataset_count; /* of `datasets`; 0: all of them */

    /* of a listing that is not in its usual order, or of a host */
    uint8_t sort; /* DX_CURSOR_SORT_... */
    bool reverse, has_kept;
    bool subdomains;
    uint8_t collapse, collapse_digits;
    int64_t closest_us;
    uint64_t range; /* of which URLs of the domain; 0: all */

    uint64_t line; /* of the log of suppressions, that sums are by */

    /* From here on what is there only where a member before says so: of no cursor (kind 0) it need not be cleared. */
    struct dx_cursor_position position; /* of an order */
    uint8_t filter[DX_ROW_FILTER_MAX];
    uint32_t datasets[DX_DATASET_LIST_MAX]; /* ascending */
    uint64_t sums[4]; /* of the TLD at next_row, before it: domains, URLs, rows, pages */
    /* Of all of a suffix, and of its next_dataset, before next_row: domains, URLs, rows, whether there are times, the
     * first and the last one, pages. */
    uint64_t suffix_sums[2][7];
};

enum dx_cursor_key_kind { DX_CURSOR_KEY_NONE, DX_CURSOR_KEY_RANDOM, DX_CURSOR_KEY_SHARED };

struct dx_cursor_key {
    enum dx_cursor_key_kind kind;
    uint8_t bytes[64];
};

#define DX_CURSOR_KEY_INIT  \
    {                       \
        DX_CURSOR_KEY_NONE, \
        {                   \
            0               \
        }                   \
    }

/* How an answer goes on: where it begins, and what its next cursor is made of. */
struct dx_paging {
    const struct dx_cursor *from;        /* of the version that is asked; NULL: a first page */
    const struct dx_cursor_key *cursors; /* NULL: none are given */
    const char *principal;               /* whose they are; valid as long as cursors */
    int64_t began_s;                     /* seconds since 1970: a cursor's life begins */
};

/* A file of 32 to 4096 bytes of key material. */
int dx_cursor_key_read(struct dx_cursor_key *key, const char *path, struct dx_error *err);
int dx_cursor_key_random(struct dx_cursor_key *key, struct dx_error *err);

/* principal: of DX_ACCESS_NAME_MAX bytes at most (format/root/access_table.h). */
int dx_cursor_write(const struct dx_cursor *c, const struct dx_cursor_key *key,
                    const char *principal, char text[DX_CURSOR_TEXT], struct dx_error *err);
int dx_cursor_read(struct dx_span text, const struct dx_cursor_key *key, const char *principal,
                   struct dx_cursor *c, struct dx_problem *problem);

/* 1, also without a cursor (NULL); else the problem "version-gone": it is of another version of that name. */
int dx_cursor_of_version(const struct dx_cursor *c, const struct dx_manifest_version *v,
                         struct dx_problem *problem);

/* Sets given, and all but the value. A URL that is too long: it is not given. */
void dx_cursor_position_set(struct dx_cursor_position *p, bool has_ts, int64_t ts_us,
                            struct dx_span host, struct dx_span path_query);
struct dx_span dx_cursor_position_host(const struct dx_cursor_position *p);
struct dx_span dx_cursor_position_path(const struct dx_cursor_position *p);

/* Life counts from the first page. The clocks of servers differ by less than the minute that the
 * collector of old versions waits longer. */
bool dx_cursor_expired(const struct dx_cursor *c, int64_t now_s, unsigned life_s);

#endif
