/* SPDX-License-Identifier: Apache-2.0 */
#include "query/changes/changes_feed.h"

#include "base/buf.h"
#include "base/civil_time.h"
#include "base/crypto/sha256.h"
#include "base/xml_out.h"
#include "canon/idna.h"
#include "loader/version.h"

#include <assert.h>
#include <inttypes.h>

/* A name-based UUID as RFC 9562 has it in version 8: of a hash that is ours. */
static void write_uuid(struct dx_buf *b, const char *version, struct dx_span domain)
{
    struct dx_buf name = DX_BUF_INIT(DX_VERSION_NAME + DX_SURT_MAX);
    uint8_t sum[DX_SHA256_SIZE];

    dx_buf_str(&name, version);
    dx_buf_u8(&name, '/');
    dx_buf_append(&name, domain.data, domain.size);
    if (!name.failed && dx_sha256(dx_span_of(name.data, name.size), sum)) {
        sum[6] = (uint8_t)((sum[6] & 0x0f) | 0x80);
        sum[8] = (uint8_t)((sum[8] & 0x3f) | 0x80);
        dx_buf_str(b, "urn:uuid:");
        for (size_t i = 0; i < 16; i++)
            dx_buf_fmt(b, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", sum[i]);
    } else {
        b->failed = true;
    }
    dx_buf_release(&name);
}

static void write_time(struct dx_buf *b, int64_t us)
{
    char text[DX_CIVIL_TEXT];

    dx_buf_str(b, "<updated>");
    dx_buf_append(b, text, dx_civil_text_us(us, text));
    dx_buf_str(b, "</updated>");
}

/* Of a name: characters of a domain mean nothing in a URL, but for those of an address in brackets. */
static void write_path(struct dx_buf *b, struct dx_span base, struct dx_span domain)
{
    dx_xml_text(b, base);
    dx_buf_str(b, "/v1/domain/");
    for (size_t i = 0; i < domain.size; i++)
        if (domain.data[i] == '[' || domain.data[i] == ']' || domain.data[i] == ':')
            dx_buf_fmt(b, "%%%02X", domain.data[i]);
        else
            dx_xml_text(b, dx_span_of(domain.data + i, 1));
}

static void write_counts(struct dx_buf *b, const char *before, const struct dx_dataset *dataset,
                         const struct dx_pair_count *pair, const char *after)
{
    if (dataset->kind == DX_DATASET_COUNTS)
        dx_buf_fmt(b, "%s%" PRIu64 " pages%s", before, pair->row_count, after);
    else
        dx_buf_fmt(b, "%s%" PRIu64 " URLs, %" PRIu64 " rows%s", before, pair->url_count,
                   pair->row_count, after);
}

/* "+ crawl-2024: 3 URLs, 5 rows" */
static void write_pair(struct dx_buf *b, const struct dx_pairs_diff *p,
                       const struct dx_dataset *dataset)
{
    static const char marks[] = {
        [DX_CHANGE_ADDED] = '+', [DX_CHANGE_REMOVED] = '-', [DX_CHANGE_CHANGED] = '~'
    };
    const struct dx_pair_count *now = p->after != NULL ? p->after : p->before;

    dx_buf_fmt(b, "%c ", marks[dx_pairs_change(p)]);
    dx_xml_text(b, dx_span_str(dataset->name));
    write_counts(b, ": ", dataset, now, "");
    if (dx_pairs_change(p) == DX_CHANGE_CHANGED)
        write_counts(b, " (before: ", dataset, p->before, ")");
    dx_buf_u8(b, '\n');
}

struct tally {
    uint64_t of[DX_CHANGE_CHANGED + 1]; /* datasets, by change */
};

static int write_pairs(struct dx_buf *b, const struct dx_diff_item *item,
                       const struct dx_version *before, const struct dx_version *after,
                       struct tally *tally, struct dx_error *err)
{
    struct dx_pairs_diff p;

    dx_pairs_diff_begin(&p, &item->before, &item->after);
    while (dx_pairs_diff_next(&p)) {
        const struct dx_dataset *dataset = dx_diff_dataset(&p, before, after, err);

        if (dataset == NULL)
            return DX_E_CORRUPT;
        tally->of[dx_pairs_change(&p)]++;
        write_pair(b, &p, dataset);
    }
    return DX_OK;
}

/* "example.com"; a name with A-labels as the characters that they stand for, and itself. */
static void write_name(struct dx_buf *b, struct dx_span domain)
{
    uint8_t text[DX_IDNA_UTF8_MAX];
    size_t size;

    if (!dx_idna_to_unicode(domain, text, sizeof text, &size)) {
        dx_xml_text(b, domain);
        return;
    }
    dx_xml_text(b, dx_span_of(text, size));
    dx_buf_str(b, " (");
    dx_xml_text(b, domain);
    dx_buf_u8(b, ')');
}

/* "example.com: 2 datasets added, 1 changed" */
static void write_title(struct dx_buf *b, struct dx_span domain, const struct tally *tally)
{
    static const enum dx_change order[] = { DX_CHANGE_ADDED, DX_CHANGE_REMOVED, DX_CHANGE_CHANGED };
    bool first = true;

    dx_buf_str(b, "<title>");
    write_name(b, domain);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        uint64_t count = tally->of[order[i]];

        if (count == 0)
            continue;
        dx_buf_fmt(b, "%s%" PRIu64 "%s %s", first ? ": " : ", ", count,
                   !first      ? ""
                   : count > 1 ? " datasets"
                               : " dataset",
                   dx_change_name(order[i]));
        first = false;
    }
    dx_buf_str(b, "</title>");
}

int dx_changes_feed_entry(struct dx_buf *entries, struct dx_span base,
                          const struct dx_diff_item *item, const struct dx_version *before,
                          const struct dx_version *after, struct dx_error *err)
{
    struct dx_span domain = dx_span_of(item->domain, item->domain_size);
    struct dx_buf pairs = DX_BUF_INIT(entries->max);
    struct tally tally = { { 0 } };
    int rc = write_pairs(&pairs, item, before, after, &tally, err);

    assert(item->change != DX_CHANGE_SAME);
    dx_buf_str(entries, "<entry><id>");
    write_uuid(entries, after->entry.version, domain);
    dx_buf_str(entries, "</id>");
    write_title(entries, domain, &tally);
    write_time(entries, after->entry.published_us);
    dx_buf_str(entries, "<link rel=\"alternate\" type=\"application/json\" href=\"");
    write_path(entries, base, domain);
    dx_buf_fmt(entries, "/diff?from=%s&amp;to=%s\"/>", before->entry.version, after->entry.version);
    dx_buf_str(entries, "<content type=\"text\">");
    dx_buf_append(entries, pairs.data, pairs.size);
    dx_buf_str(entries, "</content></entry>\n");
    entries->failed = entries->failed || pairs.failed;
    dx_buf_release(&pairs);
    return rc;
}

void dx_changes_feed_write(struct dx_buf *body, struct dx_span base, struct dx_span domain,
                           int64_t updated_us, struct dx_span entries)
{
    dx_buf_str(body, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                     "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>");
    write_uuid(body, "", domain);
    dx_buf_str(body, "</id><title>Datasets that contain ");
    write_name(body, domain);
    dx_buf_str(body, "</title>");
    write_time(body, updated_us);
    dx_buf_str(body, "<author><name>domaindex</name></author>"
                     "<link rel=\"self\" type=\"application/atom+xml\" href=\"");
    write_path(body, base, domain);
    dx_buf_str(body, "/changes?format=atom\"/>\n");
    dx_buf_append(body, entries.data, entries.size);
    dx_buf_str(body, "</feed>\n");
}
