/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_out.h"
#include "canon/ids.h"
#include "canon/url.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/view/domain_json.h"
#include "query/view/view.h"

static void write_text(struct dx_json *j, const char *key, struct dx_span text)
{
    dx_json_key(j, key);
    dx_json_text(j, text);
}

/* Whether the text is more than a bare name: only then is it shown as a URL too. */
static bool is_url(struct dx_span asked)
{
    for (size_t i = 0; i < asked.size; i++)
        if (asked.data[i] == '/' || asked.data[i] == '?' || asked.data[i] == '#')
            return true;
    return false;
}

/* The other boundary: a text may have a domain by it alone, as github.io has. */
static void write_icann(struct dx_json *j, struct dx_canon *canon, struct dx_span asked)
{
    enum dx_reject why = DX_REJECT_NONE;
    struct dx_span domain;

    dx_json_key(j, "icann_domain");
    if (dx_canon_icann_domain(canon, asked, &domain, &why) == 1)
        dx_json_text(j, domain);
    else
        dx_json_null(j);
}

int dx_answer_normalize(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                        struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    enum dx_reject why = DX_REJECT_NONE;
    struct dx_span domain;
    struct dx_url url;
    struct dx_json j;
    bool ok;

    dx_json_open(&j, body);
    dx_json_object(&j);
    write_text(&j, "q", asked);
    ok = dx_canon_domain(canon, asked, &domain, &why) == 1;
    dx_json_key(&j, "domain");
    ok ? dx_json_text(&j, domain) : dx_json_null(&j);
    if (ok)
        dx_unicode_json(&j, "domain_unicode", domain);
    dx_json_key(&j, "domain_hash");
    ok ? dx_json_hex64(&j, dx_domain_id(domain)) : dx_json_null(&j);
    write_icann(&j, canon, asked);
    if (ok && is_url(asked) && dx_canon_url(canon, asked, &url, &why) == 1) {
        write_text(&j, "url", url.url);
        dx_json_key(&j, "url_id");
        dx_json_hex64(&j, dx_url_id(url.url));
        write_text(&j, "scheme", url.scheme);
        write_text(&j, "host", url.host);
        write_text(&j, "path_query", url.path_query);
    }
    dx_json_key(&j, "rejected");
    ok ? dx_json_null(&j) : dx_json_str(&j, dx_reject_name(why));
    dx_json_key(&j, "canon_version");
    dx_json_u64(&j, DX_CANON_VERSION);
    dx_json_key(&j, "version");
    dx_json_str(&j, view->version->entry.version);
    dx_json_end(&j);
    if (!body->failed)
        return 1;
    (void)dx_buf_fail(body, &err, "answer");
    dx_buf_clear(body);
    return dx_problem_of_error(problem, &err);
}
