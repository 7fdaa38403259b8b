/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/json_out.h"
#include "builder/check/inspect.h"
#include "format/core/counts.h"
#include "format/core/dictionary.h"
#include "format/core/membership.h"
#include "format/core/mphf.h"
#include "format/core/zseek.h"
#include "format/version/cold.h"
#include "format/version/dataset_domains.h"
#include "format/version/dead.h"
#include "format/version/pages.h"
#include "format/version/postings.h"
#include "format/version/tags.h"
#include "format/version/url_id_list.h"

#define SAMPLE 5 /* first entries shown of long lists */

static void write_hex(const struct dx_inspect *in, const char *key, const uint8_t bytes[16])
{
    struct dx_hash128 h;
    char hex[DX_HASH128_TEXT];

    memcpy(h.bytes, bytes, sizeof h.bytes);
    dx_hash128_text(&h, hex);
    dx_inspect_str(in, key, dx_span_str(hex));
}

static void write_sections(const struct dx_inspect *in, const struct dx_envelope *e)
{
    write_hex(in, "build_id", e->build.bytes);
    dx_inspect_u64(in, "layout_version", e->version);
    dx_inspect_u64(in, "body_bytes", e->body.size);
    dx_json_key(in->json, "sections");
    dx_json_array(in->json);
    for (uint32_t i = 0; i < e->section_count; i++) {
        const uint8_t *row = e->section_table + 24 * (size_t)i; /* docs/FORMAT.md section 2 */

        dx_json_object(in->json);
        dx_inspect_str(in, "tag", dx_span_of(row, 4));
        dx_inspect_u64(in, "offset", dx_load_u64(row + 8));
        dx_inspect_u64(in, "size", dx_load_u64(row + 16));
        dx_json_end(in->json);
    }
    dx_json_end(in->json);
}

static int show_dictionary(const struct dx_inspect *in, unsigned flags, struct dx_error *err)
{
    struct dx_dictionary d;
    uint8_t domain[DX_SURT_MAX];
    size_t size;
    int rc = dx_dictionary_open(&d, in->bytes, flags, in->path, err);

    if (rc < 0)
        return rc;
    dx_inspect_str(in, "kind", dx_span_str("dictionary: ordinal to domain"));
    dx_inspect_u64(in, "domains", d.info.n);
    dx_inspect_u64(in, "longest_key", d.info.longest_key);
    write_hex(in, "domains_txt_xxh3_128", d.info.text_hash.bytes);
    write_sections(in, &d.envelope);
    dx_json_key(in->json, "first");
    dx_json_array(in->json);
    for (uint64_t i = 0; rc >= 0 && i < d.info.n && i < SAMPLE; i++) {
        rc = dx_dictionary_get(&d, i, domain, &size, err);
        if (rc == 1)
            dx_json_text(in->json, dx_span_of(domain, size));
    }
    dx_json_end(in->json);
    if (rc >= 0 && in->deep)
        rc = dx_dictionary_verify(&d, err);
    dx_dictionary_close(&d);
    return rc < 0 ? rc : DX_OK;
}

static int show_mphf(const struct dx_inspect *in, unsigned flags, struct dx_error *err)
{
    struct dx_mphf m;
    int rc = dx_mphf_open(&m, in->bytes, flags, in->path, err);

    if (rc < 0)
        return rc;
    dx_inspect_str(in, "kind", dx_span_str("minimal perfect hash: domain to dictionary bucket"));
    dx_inspect_u64(in, "domains", m.n);
    dx_inspect_u64(in, "seed", m.seed);
    dx_inspect_u64(in, "parts", m.parts);
    dx_inspect_u64(in, "part_buckets", m.part_buckets);
    dx_inspect_u64(in, "part_slots", m.part_slots);
    dx_inspect_u64(in, "fingerprint_bits", m.fingerprint_bits);
    dx_inspect_u64(in, "collisions", m.collision_count);
    write_hex(in, "domains_txt_xxh3_128", m.text_hash.bytes);
    write_sections(in, &m.envelope);
    dx_mphf_close(&m);
    return DX_OK;
}

static int show_membership(const struct dx_inspect *in, unsigned flags, struct dx_error *err)
{
    struct dx_membership m;
    struct dx_dataset_set set;
    int rc = dx_membership_open(&m, in->bytes, flags, in->path, err);

    if (rc < 0)
        return rc;
    dx_inspect_str(in, "kind", dx_span_str("membership: ordinal to set of datasets"));
    dx_inspect_u64(in, "domains", m.domains);
    dx_inspect_u64(in, "stored_sets", m.sets);
    dx_inspect_u64(in, "pairs", m.pairs);
    write_sections(in, &m.envelope);
    for (uint64_t i = 0; in->deep && rc >= 0 && i < m.domains; i++)
        rc = dx_membership_get(&m, i, &set, err);
    dx_membership_close(&m);
    return rc < 0 ? rc : DX_OK;
}

static int show_counts(const struct dx_inspect *in, unsigned flags, struct dx_error *err)
{
    struct dx_pair_count first;
    struct dx_counts c;
    uint64_t less;
    bool dense;
    int rc = dx_counts_open(&c, in->bytes, flags, in->path, err);

    if (rc < 0)
        return rc;
    dx_inspect_str(in, "kind", dx_span_str("counts of each domain and dataset"));
    dx_inspect_u64(in, "domains", c.totals.domains);
    dx_inspect_u64(in, "pairs", c.totals.pairs);
    dx_inspect_u64(in, "urls", c.totals.url_count);
    dx_inspect_u64(in, "rows", c.totals.row_count);
    dx_json_key(in->json, "ts_base");
    dx_json_time_us(in->json, c.totals.ts_base);
    dx_inspect_u64(in, "ts_unit_us", c.totals.ts_unit);
    write_sections(in, &c.envelope);
    /* How many pairs a domain has stands in another file: `verify` reads them all. */
    for (uint64_t i = 0; in->deep && rc >= 0 && i < c.totals.domains; i++) {
        rc = dx_counts_one(&c, i, 0, &first, err);
        if (rc >= 0)
            rc = dx_counts_distinct(&c, i, &less, &dense, err);
    }
    dx_counts_close(&c);
    return rc < 0 ? rc : DX_OK;
}

static int show_dataset_domains(const struct dx_inspect *in, unsigned flags, struct dx_error *err)
{
    struct dx_dataset_domains d;
    struct dx_domain_list list;
    int rc = dx_dataset_domains_open(&d, in->bytes, flags, in->path, err);

    if (rc < 0)
        return rc;
    dx_inspect_str(in, "kind", dx_span_str("domains of each dataset"));
    dx_inspect_u64(in, "domains", d.domains);
    dx_inspect_u64(in, "pairs", d.pairs);
    dx_inspect_u64(in, "datasets", d.datasets);
    write_sections(in, &d.envelope);
    for (uint64_t i = 0; in->deep && rc >= 0 && i < d.datasets; i++) {
        rc = dx_dataset_domains_at(&d, i, &list, err);
        if (rc >= 0)
            rc = dx_dataset_domains_check(&d, &list, err);
    }
    dx_dataset_domains_close(&d);
    return rc < 0 ? rc : DX_OK;
}

static int show_postings(const struct dx_inspect *in, unsigned flags, struct dx_error *err)
{
    struct dx_postings p;
    struct dx_postings_page page;
    int rc = dx_postings_open(&p, in->bytes, flags, in->path, err);

    if (rc < 0)
        return rc;
    for (uint64_t i = 0; in->deep && rc >= 0 && i < p.totals.pages; i++)
        rc = dx_postings_page_at(&p, i, &page, err);
    dx_inspect_str(in, "kind", dx_span_str("directory of the postings"));
    dx_inspect_u64(in, "pages", p.totals.pages);
    dx_inspect_u64(in, "pairs", p.totals.pairs);
    dx_inspect_u64(in, "idx_bytes", p.totals.idx_size);
    dx_inspect_u64(in, "dat_bytes", p.totals.dat_size);
    write_sections(in, &p.envelope);
    dx_postings_close(&p);
    return rc < 0 ? rc : DX_OK;
}

static int show_pages(const struct dx_inspect *in, unsigned flags, struct dx_error *err)
{
    struct dx_pages p;
    struct dx_pages_file file;
    struct dx_page_group group;
    int rc = dx_pages_open(&p, in->bytes, flags, in->path, err);

    if (rc < 0)
        return rc;
    dx_inspect_str(in, "kind", dx_span_str("places of all pages of the lake"));
    dx_inspect_u64(in, "files", p.files); /* numbered from the version's first_file on */
    dx_inspect_u64(in, "row_groups", p.groups);
    dx_inspect_u64(in, "rows", p.rows);
    write_sections(in, &p.envelope);
    dx_json_key(in->json, "first");
    dx_json_array(in->json);
    for (uint64_t i = 0; rc >= 0 && i < p.files && (in->deep || i < SAMPLE); i++) {
        rc = dx_pages_file(&p, i, &file, err);
        if (rc == 1 && i < SAMPLE)
            dx_json_text(in->json, file.path);
        for (uint32_t g = 0; in->deep && rc == 1 && g < file.row_groups; g++)
            rc = dx_pages_group(&p, &file, g, &group, err);
    }
    dx_json_end(in->json);
    dx_pages_close(&p);
    return rc < 0 ? rc : DX_OK;
}

static int show_cold(const struct dx_inspect *in, unsigned flags, struct dx_error *err)
{
    struct dx_cold c;
    int rc = dx_cold_open(&c, in->bytes, flags, in->path, err);

    if (rc < 0)
        return rc;
    dx_inspect_str(in, "kind", dx_span_str("directory of files that are read by page"));
    dx_json_key(in->json, "files");
    dx_json_array(in->json);
    for (unsigned i = 0; i < DX_COLD_FILES; i++) {
        enum dx_cold_file file = (enum dx_cold_file)i;

        dx_json_object(in->json);
        dx_inspect_str(in, "file", dx_span_str(dx_cold_file_name(file)));
        dx_inspect_u64(in, "size", c.size[i]);
        dx_inspect_u64(in, "pages", dx_cold_page_count(&c, file));
        dx_inspect_u64(in, "entries", c.entries[i]);
        dx_json_end(in->json);
    }
    dx_json_end(in->json);
    dx_inspect_u64(in, "url_id_list_bytes", c.url_ids.size);
    write_sections(in, &c.envelope);
    if (in->deep)
        rc = dx_cold_verify(&c, err);
    if (in->deep && rc >= 0)
        rc = dx_url_id_list_check(&c, err);
    dx_cold_close(&c);
    return rc < 0 ? rc : DX_OK;
}

static int show_tags(const struct dx_inspect *in, unsigned flags, struct dx_error *err)
{
    struct dx_span tag;
    struct dx_tags t;
    int rc = dx_tags_open(&t, in->bytes, flags, in->path, err);

    if (rc < 0)
        return rc;
    dx_inspect_str(in, "kind", dx_span_str("rows and domains of each tag"));
    dx_inspect_u64(in, "tags", t.count);
    dx_inspect_u64(in, "tags_and_files", t.entries);
    dx_inspect_u64(in, "tags_and_rows", t.rows);
    dx_inspect_u64(in, "domains", t.domains);
    dx_inspect_u64(in, "files", t.files);
    dx_inspect_u64(in, "files_not_whole", t.left_count);
    write_sections(in, &t.envelope);
    dx_json_key(in->json, "first");
    dx_json_array(in->json);
    for (uint64_t i = 0; rc >= 0 && i < SAMPLE && i < t.count; i++) {
        rc = dx_tags_name(&t, i, &tag, err);
        if (rc >= 0)
            dx_json_text(in->json, tag);
    }
    dx_json_end(in->json);
    if (rc >= 0 && in->deep)
        rc = dx_tags_verify(&t, err);
    dx_tags_close(&t);
    return rc < 0 ? rc : DX_OK;
}

/* One older part. */
static int show_dead_part(const struct dx_inspect *in, const struct dx_dead *d, uint64_t i,
                          struct dx_error *err)
{
    struct dx_dead_part p;
    struct dx_dead_rank rank;
    struct dx_dataset_set set;
    int rc = dx_dead_part(d, i, &p, err);

    if (rc < 0)
        return rc;
    dx_json_object(in->json);
    write_hex(in, "build_id", p.build.bytes);
    dx_inspect_u64(in, "domains", p.of);
    dx_inspect_u64(in, "dead_domains", p.domains);
    dx_inspect_u64(in, "ranks", p.ranks);
    dx_json_end(in->json);
    if (in->deep && p.domains > 0)
        rc = dx_dead_ordinals(d, &p, &set, err);
    for (uint64_t k = 0; in->deep && rc >= 0 && k < p.ranks; k++)
        rc = dx_dead_rank(d, &p, k, &rank, err);
    return rc < 0 ? rc : DX_OK;
}

static int show_dead(const struct dx_inspect *in, unsigned flags, struct dx_error *err)
{
    struct dx_dataset_set files;
    struct dx_dead d;
    int rc = dx_dead_open(&d, in->bytes, flags, in->path, err);

    if (rc < 0)
        return rc;
    dx_inspect_str(in, "kind", dx_span_str("domains of older parts that this part has taken over"));
    write_sections(in, &d.envelope);
    dx_json_key(in->json, "parts");
    dx_json_array(in->json);
    for (uint64_t i = 0; rc == DX_OK && i < d.parts; i++)
        rc = show_dead_part(in, &d, i, err);
    dx_json_end(in->json);
    dx_inspect_u64(in, "files_that_left", d.gone);
    if (rc == DX_OK && in->deep && d.gone > 0)
        rc = dx_dead_gone(&d, &files, err);
    dx_dead_close(&d);
    return rc;
}

int dx_inspect_envelope(const struct dx_inspect *in, struct dx_error *err)
{
    static const struct {
        const char *magic;
        int (*show)(const struct dx_inspect *in, unsigned flags, struct dx_error *err);
    } kinds[] = { { "DXDD", show_dictionary },
                  { "DXMP", show_mphf },
                  { "DTDR", show_membership },
                  { "DXDC", show_counts },
                  { "DXPD", show_postings },
                  { "DXPG", show_pages },
                  { "DXTD", show_dataset_domains },
                  { "DXCP", show_cold },
                  { "DXTG", show_tags },
                  { "DXDE", show_dead } };
    unsigned flags = in->deep ? DX_OPEN_VERIFY_ALL : 0;
    size_t i = 0;

    while (memcmp(in->bytes.data, kinds[i].magic, 4) != 0) {
        i++;
        assert(i < sizeof kinds / sizeof kinds[0]); /* the caller looked: it is one of them */
    }
    return kinds[i].show(in, flags, err);
}

/* Pages of a cold file have no magic, as cold.dxp says all of them: the name has to do. */
static const char *cold_content(const char *path)
{
    static const char *const contents[DX_COLD_FILES] = {
        [DX_COLD_FACTS] = "pages of facts: hosts and paths of each domain and dataset",
        [DX_COLD_SKETCHES] = "pages of sketches: distinct URLs of each domain and dataset",
        [DX_COLD_URL_IDS] = "pages of url_ids and places of their rows",
    };
    const char *slash = strrchr(path, '/');

    for (unsigned i = 0; i < DX_COLD_FILES; i++)
        if (strcmp(slash == NULL ? path : slash + 1, dx_cold_file_name((enum dx_cold_file)i)) == 0)
            return contents[i];
    return NULL;
}

/* The first lines of a text, or the first entries of postings.idx. */
static void write_sample(const struct dx_inspect *in, struct dx_span plain)
{
    struct dx_bytes at = dx_bytes_of(plain);

    struct dx_posting first[SAMPLE];
    struct dx_error why = DX_ERROR_INIT;
    const char *cold = cold_content(in->path);
    uint64_t entries;
    bool by_ids;
    int count;

    if (cold != NULL) {
        dx_inspect_str(in, "content", dx_span_str(cold));
        return;
    }
    if (plain.size >= DX_POSTINGS_IDX_HEADER && memcmp(plain.data, "PDX1", 4) == 0) {
        count = dx_postings_idx_peek(plain, &entries, &by_ids, first, SAMPLE, &why);
        dx_inspect_str(in, "content", dx_span_str("postings.idx"));
        if (count < 0) {
            dx_inspect_str(in, "unread", dx_span_str(why.text));
            return;
        }
        dx_inspect_u64(in, "entries", entries);
        dx_json_key(in->json, "first");
        dx_json_array(in->json);
        for (int i = 0; i < count; i++) {
            dx_json_object(in->json);
            if (by_ids) {
                dx_json_key(in->json, "domain_id");
                dx_json_hex64(in->json, first[i].place.domain);
            } else {
                dx_inspect_u64(in, "domain", first[i].place.domain);
            }
            dx_inspect_u64(in, by_ids ? "dataset_id" : "pair", first[i].place.dataset);
            dx_inspect_u64(in, "payload_offset", first[i].payload_offset);
            dx_inspect_u64(in, "payload_len", first[i].payload_size);
            dx_json_end(in->json);
        }
        dx_json_end(in->json);
        return;
    }
    if (plain.size > 0 && memchr(plain.data, 0, plain.size) == NULL &&
        plain.data[plain.size - 1] == '\n') {
        dx_inspect_str(in, "content", dx_span_str("lines of text"));
        dx_json_key(in->json, "first");
        dx_json_array(in->json);
        for (int i = 0; i < SAMPLE && dx_bytes_left(&at) > 0; i++) {
            const uint8_t *end = memchr(at.at, '\n', dx_bytes_left(&at));

            dx_json_text(in->json, dx_bytes_take(&at, (size_t)(end - at.at)));
            (void)dx_bytes_u8(&at);
        }
        dx_json_end(in->json);
        return;
    }
    dx_inspect_str(in, "content", dx_span_str("payloads of postings"));
}

int dx_inspect_zst(const struct dx_inspect *in, struct dx_error *err)
{
    struct dx_zstd_decoder *decoder = dx_zstd_decoder_new();
    struct dx_buf plain = DX_BUF_INIT(DX_ZSEEK_PLAIN_MAX);
    struct dx_hash128 hash = { { 0 } };
    struct dx_zseek z = { 0 };
    int rc = decoder == NULL ? dx_no_memory(err, "%s", in->path)
                             : dx_zseek_open(&z, in->bytes, in->path, err);

    if (rc == DX_OK) {
        dx_inspect_str(in, "kind", dx_span_str("zstd seekable"));
        dx_inspect_u64(in, "frames", z.frame_count);
        dx_inspect_u64(in, "plain_bytes", z.plain_size);
        if (z.frame_count > 0)
            rc = dx_zseek_decode(&z, decoder, 0, &plain, err);
        if (rc == DX_OK)
            write_sample(in, dx_span_of(plain.data, plain.size));
        if (rc == DX_OK && in->deep) {
            rc = dx_zseek_verify(&z, &hash, err);
            if (rc == DX_OK)
                write_hex(in, "plain_xxh3_128", hash.bytes);
        }
        dx_zseek_close(&z);
    }
    dx_buf_release(&plain);
    dx_zstd_decoder_free(&decoder);
    return rc;
}
