/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/numbers/domain64_print.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"

#define NAME_ROOM ((size_t)64 << 10) /* a name with escapes */

void dx_number_text(uint64_t number, enum dx_number_format format, struct dx_buf *out)
{
    if (format == DX_NUMBER_HEX)
        dx_buf_fmt(out, "0x%016" PRIx64, number);
    else if (format == DX_NUMBER_BIGINT)
        dx_buf_fmt(out, "%" PRId64, dx_domain64_signed(number));
    else
        dx_buf_fmt(out, "%" PRIu64, number);
}

void dx_number_text_to(uint64_t to, enum dx_number_format format, struct dx_buf *out)
{
    if (format == DX_NUMBER_BIGINT && to == UINT64_C(1) << 63)
        dx_buf_str(out, "MAXVALUE");
    else if (format != DX_NUMBER_BIGINT && to == 0)
        dx_buf_str(out, format == DX_NUMBER_HEX ? "0x10000000000000000" : "18446744073709551616");
    else
        dx_number_text(to, format, out);
}

/* ---- a walk that passes over what is below ---- */

static struct dx_domain64_range range_of(const struct dx_domain64_registry *n, uint64_t number,
                                         enum dx_domain64_part part)
{
    struct dx_domain64_range r = { 0, 0 };
    struct dx_domain64 d;

    (void)dx_domain64_unpack(number, n->layout, &d, NULL);
    (void)dx_domain64_range(&d, part, n->layout, &r, NULL);
    return r;
}

int dx_domain64_next_above(struct dx_domain64_registry_walk *w, enum dx_domain64_part last,
                           struct dx_error *err)
{
    int rc;

    while ((rc = dx_domain64_registry_walk_next(w, err)) == 1 && w->part > last) {
        const struct dx_domain64_registry *n = w->numbers;
        uint64_t to = range_of(n, w->number, last).to;

        dx_domain64_registry_walk_close(w);
        if (to == 0)
            return 0;
        rc = dx_domain64_registry_walk_open(w, n, to, err);
        if (rc < 0)
            break;
    }
    return rc;
}

/* ---- the tree ---- */

static void print_name(struct dx_span name, struct dx_buf *text, FILE *out)
{
    struct dx_json j;

    dx_buf_clear(text);
    dx_json_open(&j, text);
    dx_json_text(&j, name);
    if (!text->failed) /* else the caller sees it */
        (void)fwrite(text->data, 1, text->size, out);
}

/* How many brackets are open: of TLDs 1, of domains 2, of subdomains 3. */
static void close_to(unsigned *depth, unsigned to, FILE *out)
{
    for (; *depth > to; --*depth)
        (void)fputs("}}", out);
}

static void print_node(const struct dx_domain64_registry_walk *w, bool first, struct dx_buf *text,
                       FILE *out)
{
    static const int digits[][3] = {
        [DX_DOMAIN64_SUB8] = { 2, 8, 2 }, [DX_DOMAIN64_SUB24] = { 2, 8, 6 }
    };
    struct dx_domain64 d;
    uint32_t field;

    assert(w->part <= DX_PART_SUBDOMAIN); /* paths are left out */
    (void)dx_domain64_unpack(w->number, w->numbers->layout, &d, NULL);
    field = w->part == DX_PART_TLD ? d.tld : w->part == DX_PART_DOMAIN ? d.domain : d.subdomain;
    (void)fprintf(out, "%s\n%*s\"%0*" PRIx32 "\":", first ? "" : ",", 2 * (int)w->part, "",
                  digits[w->numbers->layout][w->part], field);
    if (w->part == DX_PART_SUBDOMAIN) {
        print_name(w->name, text, out);
        return;
    }
    (void)fputs("{\"name\":", out);
    print_name(w->name, text, out);
    (void)fputs(",\"children\":{", out);
}

int dx_domain64_print_tree(const struct dx_domain64_registry *n, FILE *out, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(NAME_ROOM);
    struct dx_domain64_registry_walk w;
    unsigned depth = 0;
    bool first = true;
    int rc = dx_domain64_registry_walk_open(&w, n, 0, err);

    (void)putc('{', out);
    while (rc >= 0 && !ferror(out) &&
           (rc = dx_domain64_next_above(&w, DX_PART_SUBDOMAIN, err)) == 1) {
        unsigned level = (unsigned)w.part;

        if (level > depth) {
            rc = dx_fail(err, DX_E_CORRUPT, "domain64: 0x%016" PRIx64 " has no parent", w.number);
            break;
        }
        first = first && depth == level;
        close_to(&depth, level, out);
        print_node(&w, first, &text, out);
        if (text.failed) {
            rc = dx_buf_fail(&text, err, "domain64 tree");
            break;
        }
        depth = w.part == DX_PART_SUBDOMAIN ? level : level + 1;
        first = w.part != DX_PART_SUBDOMAIN;
    }
    close_to(&depth, 0, out);
    (void)fputs("}\n", out);
    dx_domain64_registry_walk_close(&w);
    dx_buf_release(&text);
    return rc < 0 ? rc : DX_OK;
}

/* ---- by name ---- */

/* Labels [first, end) of the dotted name, the last one first, dots between them. */
static struct dx_span reverse_labels(struct dx_span dotted, size_t first, size_t end,
                                     struct dx_buf *to)
{
    size_t label = 0;
    size_t begin = 0;

    assert(first < end);
    dx_buf_clear(to);
    for (size_t i = 0; i <= dotted.size; i++) {
        if (i < dotted.size && dotted.data[i] != '.')
            continue;
        if (label >= first && label < end) {
            size_t n = i - begin;
            size_t old = to->size;

            dx_buf_zero(to, n + (old > 0));
            if (!to->failed) {
                memmove(to->data + n + (old > 0), to->data, old);
                memcpy(to->data, dotted.data + begin, n);
                if (old > 0)
                    to->data[n] = '.';
            }
        }
        label++;
        begin = i + 1;
    }
    return dx_span_of(to->data, to->size);
}

/* The number of a part whose name is labels [first, end): 1, 0: it has none. */
static int find_part(const struct dx_domain64_registry *n, enum dx_domain64_part part,
                     struct dx_span host, size_t first, size_t end, struct dx_buf *text,
                     uint64_t *number, struct dx_error *err)
{
    struct dx_span name = reverse_labels(host, first, end, text);

    if (text->no_memory)
        return dx_buf_fail(text, err, "domain64 name");
    return dx_domain64_registry_child(n, part, *number, name, number, err);
}

/* With the first `tld` labels as TLD: 1, 0: some part has no number. */
static int find_as(const struct dx_domain64_registry *n, struct dx_span host, struct dx_span path,
                   size_t tld, size_t labels, struct dx_buf *text, struct dx_domain64_range *range,
                   struct dx_error *err)
{
    enum dx_domain64_part part = DX_PART_TLD;
    uint64_t number = 0;
    int rc;

    assert(tld >= 1 && tld <= labels);
    rc = find_part(n, DX_PART_TLD, host, 0, tld, text, &number, err);
    if (rc == 1 && labels > tld) {
        part = DX_PART_DOMAIN;
        rc = find_part(n, part, host, tld, tld + 1, text, &number, err);
    }
    if (rc == 1 && labels > tld + 1) {
        part = DX_PART_SUBDOMAIN;
        rc = find_part(n, part, host, tld + 1, labels, text, &number, err);
    }
    if (rc == 1 && path.size > 0) {
        if (part < DX_PART_DOMAIN)
            return 0;
        part = DX_PART_PATH;
        rc = dx_domain64_registry_child(n, part, number, path, &number, err);
    }
    if (rc == 1)
        *range = range_of(n, number, part);
    if (rc == 1 && part == DX_PART_TLD) { /* whose number does not unpack, but its fields do */
        struct dx_domain64 d = { .tld = (uint32_t)(number >> 56) };

        rc = dx_domain64_range(&d, DX_PART_TLD, n->layout, range, err);
        rc = rc < 0 ? rc : 1;
    }
    return rc;
}

int dx_domain64_find(const struct dx_domain64_registry *n, const char *dotted,
                     struct dx_domain64_range *range, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(NAME_ROOM);
    size_t slash = strcspn(dotted, "/");
    struct dx_span host = dx_span_of(dotted, slash);
    struct dx_span path = dotted[slash] == '\0' ? dx_span_of(NULL, 0)
                                                : dx_span_str(dotted + slash + 1);
    size_t labels = 1;
    int rc = 0;

    for (size_t i = 0; i < host.size; i++)
        labels += host.data[i] == '.';
    for (size_t tld = labels; rc == 0 && tld > 0 && host.size > 0; tld--)
        rc = find_as(n, host, path, tld, labels, &text, range, err);
    dx_buf_release(&text);
    return rc;
}
