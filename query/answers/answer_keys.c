/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_out.h"
#include "base/log.h"
#include "canon/ids.h"
#include "canon/store_key.h"
#include "canon/url.h"
#include "loader/followed/domain64_live.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/suppression/suppression_view.h"
#include "query/view/domain_json.h"
#include "query/view/lookup.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

#include <inttypes.h>
#include <stdio.h>

/* A domain64, or why there is none. */
struct number {
    uint64_t key;
    enum dx_domain64_layout layout;
    bool registry; /* there is one, so there is a layout */
    const char *why;
};

/* ---- domain64 ---- */

#define NO_PATH "/\001" /* which no URL has */

/* Of a name that has no number: whether one that was met would have been given one. */
static int why_missing(const struct dx_domain64_registry *numbers, enum dx_domain64_part part,
                       uint64_t parent, struct number *n, struct dx_error *err)
{
    int rc = dx_domain64_registry_full(numbers, part, parent, err);

    n->why = rc == 1 ? "field_full" : "not_numbered";
    return rc < 0 ? rc : DX_OK;
}

static unsigned last_part(const struct dx_domain64_names *names)
{
    unsigned last = DX_PART_DOMAIN;

    for (unsigned i = DX_PART_SUBDOMAIN; i < DX_DOMAIN64_PARTS; i++)
        last = names->part[i].size > 0 ? i : last;
    return last;
}

/* Parts from `hidden` on are handled like names that were never ingested: they are not looked for. */
static int find_key(const struct dx_domain64_registry *numbers,
                    const struct dx_domain64_names *names, unsigned hidden, struct number *n,
                    struct dx_error *err)
{
    unsigned last = last_part(names);
    uint64_t parent = 0;

    for (unsigned i = 0; i <= last; i++) {
        enum dx_domain64_part part = (enum dx_domain64_part)i;
        int rc = 0;

        if (names->part[i].size == 0)
            continue;
        if (i < hidden)
            rc = dx_domain64_registry_child(numbers, part, parent, names->part[i], &n->key, err);
        if (rc < 0)
            return rc;
        if (rc == 0)
            return why_missing(numbers, part, parent, n, err);
        parent = n->key;
    }
    return DX_OK;
}

/* Any path of a host that is hidden as a whole, and any host of such a domain, is answered as one that was never there: what is
 * missing is the host or the domain, whatever lies below. */
static unsigned hidden_from(const struct dx_version *v, const struct dx_url *url,
                            const struct dx_domain64_names *names)
{
    if (dx_suppressed_domain(v, url->domain).effect == DX_EFFECT_ABSENT)
        return DX_PART_DOMAIN;
    if (dx_suppressed_url(v, url->domain, url->scheme, url->host, dx_span_str(NO_PATH)) ==
        DX_EFFECT_ABSENT)
        return names->part[DX_PART_SUBDOMAIN].size > 0 ? DX_PART_SUBDOMAIN : DX_PART_DOMAIN;
    return last_part(names);
}

static int number_of(const struct dx_version *v, const struct dx_domain64_registry *numbers,
                     const struct dx_url *url, bool hidden, struct number *n, struct dx_error *err)
{
    struct dx_domain64_names names;
    int rc = DX_OK;

    n->registry = true;
    n->layout = numbers->layout;
    if (dx_domain64_names(url->domain, url->host, url->path_query, n->layout, &names))
        rc = find_key(numbers, &names, hidden ? hidden_from(v, url, &names) : DX_DOMAIN64_PARTS, n,
                      err);
    else
        n->why = "not_numbered";
    return rc < 0 ? rc : dx_domain64_registry_intact(numbers, err);
}

/* Where a URL has the number of its host, any other one there has it too, and what hides the URL
 * alone would be seen by its want: only what hides all pages of the host counts. */
static enum dx_effect effect_on(struct dx_version *v, const struct dx_url *url,
                                enum dx_domain64_layout layout)
{
    enum dx_effect effect = dx_suppressed_url(v, url->domain, url->scheme, url->host,
                                              url->path_query);
    bool own = url->path_query.size > 1 && dx_domain64_most(layout, DX_PART_PATH) > 0;

    return effect != DX_EFFECT_ABSENT || own
               ? effect
               : dx_suppressed_url(v, url->domain, url->scheme, url->host, dx_span_str(NO_PATH));
}

/* Numbers are assigned in order of names, so visible ones would reveal how many hidden names lie
 * between them: callers with restricted access get none (docs/notes/access.md). */
static void find_number(const struct dx_view *view, const struct dx_url *url,
                        struct dx_domain64_live *now, struct number *n)
{
    enum dx_effect effect = DX_EFFECT_NONE;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_domain64_registry *numbers = NULL;
    int rc;

    *n = (struct number){ .why = NULL };
    if (dx_view_restricted(view)) {
        n->why = "restricted";
        return;
    }
    rc = dx_domain64_live_pin(now, NULL, &numbers, &err);
    if (rc == 1) {
        effect = effect_on(view->version, url, numbers->layout);
        rc = number_of(view->version, numbers, url, effect == DX_EFFECT_ABSENT, n, &err) < 0
                 ? (int)err.code
                 : 1;
    }
    dx_domain64_registry_close(&numbers);
    if (rc < 0)
        dx_log(DX_LOG_ERROR, "domain64: %s", err.text);
    if (rc <= 0)
        n->why = rc == 0 ? "no_registry" : "registry_unreadable";
    else if (effect == DX_EFFECT_WITHHELD)
        n->why = "withheld";
}

/* ---- the answer ---- */

static void write_decimal(struct dx_json *j, const char *name, uint64_t key)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, key);
    dx_json_key(j, name);
    dx_json_str(j, text);
}

static int write_store_key(struct dx_json *j, struct dx_span asked, bool clean,
                           struct dx_error *err)
{
    static const char *const names[2][3] = {
        { "store_key", "store_key_decimal", "store_key_reason" },
        { "store_key_clean", "store_key_clean_decimal", "store_key_clean_reason" }
    };
    struct dx_store_key k = DX_STORE_KEY_INIT;
    int rc = dx_store_key_of(&k, asked, clean, err);

    dx_json_key(j, names[clean][0]);
    if (rc == 1) {
        dx_json_hex64(j, k.key);
        write_decimal(j, names[clean][1], k.key);
    } else if (rc == 0) {
        dx_json_null(j);
        dx_json_key(j, names[clean][2]);
        dx_json_str(j, k.why);
    }
    dx_store_key_release(&k);
    return rc < 0 ? rc : DX_OK;
}

static void write_number(struct dx_json *j, const struct number *n)
{
    char text[24];

    dx_json_key(j, "domain64");
    if (n->why == NULL) {
        dx_json_hex64(j, n->key);
        (void)snprintf(text, sizeof text, "%" PRId64, dx_domain64_signed(n->key));
        dx_json_key(j, "domain64_bigint");
        dx_json_str(j, text);
    } else {
        dx_json_null(j);
        dx_json_key(j, "domain64_reason");
        dx_json_str(j, n->why);
    }
    if (n->registry) {
        dx_json_key(j, "domain64_layout");
        dx_json_str(j, dx_domain64_layout_name(n->layout));
    }
}

static int write_answer(const struct dx_view *view, struct dx_span asked, const struct dx_url *url,
                        const struct number *n, struct dx_buf *body, struct dx_error *err)
{
    struct dx_json j;
    int rc;

    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "asked");
    dx_json_text(&j, asked);
    dx_json_key(&j, "url");
    dx_json_text(&j, url->url);
    dx_json_key(&j, "url_id");
    dx_json_hex64(&j, dx_url_id(url->url));
    dx_domain_json(&j, url->domain);
    dx_json_key(&j, "domain_id");
    dx_json_hex64(&j, dx_domain_id(url->domain));
    rc = write_store_key(&j, asked, false, err);
    if (rc == DX_OK)
        rc = write_store_key(&j, asked, true, err);
    write_number(&j, n);
    dx_answer_end(&j, view->version);
    return rc == DX_OK && body->failed ? dx_buf_fail(body, err, "answer") : rc;
}

int dx_answer_keys(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                   struct dx_domain64_live *now, struct dx_answer_summary *summary,
                   struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct number number;
    struct dx_url url;
    int rc = dx_lookup_url(canon, asked, &url, problem);

    if (rc <= 0)
        return rc;
    find_number(view, &url, now, &number);
    rc = write_answer(view, asked, &url, &number, body, &err);
    if (rc == DX_OK) {
        dx_answer_summarize(summary,
                            (struct dx_answer_summary){ .domain_id = dx_domain_id(url.domain),
                                                        .has_domain_id = true });
        return 1;
    }
    dx_buf_clear(body);
    return dx_problem_of_error(problem, &err);
}
