/* SPDX-License-Identifier: Apache-2.0 */
#include "query/range/suffix_name.h"

#include "base/json_out.h"
#include "base/limits.h"
#include "canon/url.h"
#include "query/view/domain_json.h"
#include "query/view/problem.h"

/* ".gov", "gov." and "*.gov" too. */
static struct dx_span without_dots(struct dx_span s)
{
    if (s.size > 1 && s.data[0] == '*' && s.data[1] == '.')
        s = dx_span_of(s.data + 1, s.size - 1);
    if (s.size > 0 && s.data[0] == '.')
        s = dx_span_of(s.data + 1, s.size - 1);
    if (s.size > 0 && s.data[s.size - 1] == '.')
        s.size--;
    return s;
}

bool dx_suffix_name_text(struct dx_span asked, uint8_t text[DX_HOST_ROOM], struct dx_span *name)
{
    enum dx_reject why = DX_REJECT_NONE;
    struct dx_host host = { .kind = DX_HOST_NAME };

    asked = without_dots(asked);
    if (asked.size == 0 || asked.size > DX_URL_MAX ||
        dx_host_parse(asked, text, DX_HOST_ROOM, &host, &why) == 0 || host.kind != DX_HOST_NAME ||
        memchr(host.text.data, '*', host.text.size) != NULL || host.text.size > DX_DOMAIN_MAX)
        return false;
    *name = host.text;
    return true;
}

int dx_suffix_name_read(struct dx_suffix_name *n, struct dx_canon *canon, struct dx_span asked,
                        struct dx_problem *problem)
{
    enum dx_reject why = DX_REJECT_NONE;

    if (!dx_suffix_name_text(asked, n->text, &n->suffix))
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "not-a-name", "Not a name",
                              "a suffix is a name, such as com, co.uk or github.io: no address, "
                              "and nothing but letters, digits, '-', '_' and dots between them");
    /* It is what the name ends in; what canon has is only good until it is used again. */
    (void)dx_canon_domain(canon, n->suffix, &n->domain, &why);
    n->domain = dx_span_of(n->suffix.data + n->suffix.size - n->domain.size, n->domain.size);
    return 1;
}

void dx_suffix_name_json(const struct dx_suffix_name *n, struct dx_json *j)
{
    dx_json_key(j, "suffix");
    dx_json_text(j, n->suffix);
    dx_unicode_json(j, "suffix_unicode", n->suffix);
    dx_json_key(j, "domain");
    n->domain.size > 0 ? dx_json_text(j, n->domain) : dx_json_null(j);
}
