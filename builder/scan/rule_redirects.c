/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/rule_redirects.h"

#include "canon/psl.h"
#include "canon/url.h"
#include "format/root/rules.h"
#include "format/version/url_ids.h"

void dx_rule_redirects_file(struct dx_rule_redirects *l, const struct dx_lake_scan *scan)
{
    size_t extra = 0;

    l->requested = 0;
    for (size_t i = 0; i < scan->column_count; i++) {
        if (scan->column[i].role != DX_LAKE_EXTRA)
            continue;
        extra++;
        if (dx_span_equal(scan->column[i].name, dx_span_str(DX_REQUESTED_URL)))
            l->requested = extra;
    }
}

static int canon_of(struct dx_rule_redirects *l, struct dx_error *err)
{
    int rc = l->psl != NULL ? DX_OK : dx_psl_new(&l->psl, l->psl_text, err);

    return rc < 0 || l->canon != NULL ? rc : dx_canon_new(&l->canon, l->psl, err);
}

/* No rule matches text that is not a URL. */
static uint64_t rule_of(struct dx_rule_redirects *l, struct dx_span text)
{
    enum dx_reject reject = DX_REJECT_NONE;
    struct dx_url url;

    return text.data == NULL || dx_canon_url(l->canon, text, &url, &reject) != 1
               ? 0
               : dx_rules_match(l->rules, url.domain, url.scheme, url.host, url.path_query);
}

int dx_rule_redirects_row(struct dx_rule_redirects *l, const struct dx_lake_row *row,
                          struct dx_rule_redirects_hits *hits, struct dx_error *err)
{
    int rc;

    *hits = (struct dx_rule_redirects_hits){ .extra = 0 };
    if (l->requested == 0 || l->rules == NULL || l->rules->count == 0 ||
        row->extra[l->requested - 1].data == NULL)
        return DX_OK;
    rc = canon_of(l, err);
    if (rc < 0)
        return rc;
    hits->extra = l->requested - 1;
    hits->requested = rule_of(l, row->extra[hits->extra]);
    hits->raw = rule_of(l, row->raw_url);
    return DX_OK;
}

void dx_rule_redirects_release(struct dx_rule_redirects *l)
{
    dx_canon_free(&l->canon);
    dx_psl_free(&l->psl);
}

uint64_t dx_rule_redirects_first(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}
