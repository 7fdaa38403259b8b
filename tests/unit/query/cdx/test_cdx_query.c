/* SPDX-License-Identifier: Apache-2.0
 * test_cdx_query.c - parameters of CDX requests: what they set, and what is refused.
 */
#include "query/cdx/cdx_query.h"

#include <stdio.h>
#include <string.h>

#include "query/view/problem.h"

static int failures;

static void failed(const char *query, const char *what)
{
    (void)printf("?%s: %s\n", query, what);
    failures++;
}

static int parse(const char *query, enum dx_cdx_dialect dialect, struct dx_buf *text,
                 struct dx_cdx_ask *ask, struct dx_problem *problem)
{
    dx_buf_init(text, strlen(query) + 1);
    memset(problem, 0, sizeof *problem);
    return dx_cdx_query_parse(dx_span_str(query), dialect, text, ask, problem);
}

/* match: -1: refused, with these words. */
static const struct {
    const char *query;
    int match;
    const char *url;
} urls[] = {
    { "url=example.com", DX_CDX_EXACT, "example.com" },
    { "url=example.com/*", DX_CDX_PREFIX, "example.com/" },
    { "url=example.com*", DX_CDX_PREFIX, "example.com" },
    { "url=*.example.com", DX_CDX_DOMAIN, "example.com" },
    { "url=*.example.com/*", DX_CDX_DOMAIN, "example.com/" },
    { "url=%2A.example.com%2F%2A", DX_CDX_DOMAIN, "example.com/" },
    { "url=a+b%zz%2", DX_CDX_EXACT, "a b%zz%2" },
    { "url=x&url=y", DX_CDX_EXACT, "y" },
    { "matchType=host&url=x", DX_CDX_HOST, "x" },
    { "matchType=prefix&url=x/*", DX_CDX_PREFIX, "x/*" },
    { "junk&url=x&&=&a=b=c&gzip=false", DX_CDX_EXACT, "x" },
    { "", -1, "url" },
    { "url=", -1, "url" },
    { "url=*", -1, "url" },
    { "url=x&matchType=range", -1, "matchType" },
    { "url=x&from=2015-01", -1, "from" },
    { "url=x&limit=-", -1, "limit" },
    { "url=x&limit=99999999999999999999", -1, "limit" },
    { "url=x&output=links", -1, "output" },
    { "url=x&collapse=urlkey:x", -1, "collapse" },
    { "url=x&collapse=orig.length", -1, "collapse" },
    { "url=x&collapseTime=15", -1, "collapseTime" },
    { "url=x&pageSize=0", -1, "pageSize" },
    { "url=x&pageSize=51", -1, "pageSize" },
    { "url=x&page=1&resumeKey=a", -1, "resumeKey" },
    { "url=x&sort=reverse&resumeKey=a", -1, "resumeKey" },
    { "url=x&sort=up", -1, "sort" },
    { "url=x&closest=now", -1, "closest" },
    { "url=x&fl=urlkey,nope", -1, "nope" },
    { "url=x&closest=2015-01", -1, "closest" },
    { "url=x&closest=2015/01", -1, "closest" },
    { "url=x&showPagedIndex=true", -1, "showPagedIndex" },
    { "url=x&showPagedIndex=0", DX_CDX_EXACT, "x" },
    { "url=x&showPagedIndex=OFF", DX_CDX_EXACT, "x" },
    { "url=x&showPagedIndex=f", DX_CDX_EXACT, "x" },
    { "url=x&collapse=", DX_CDX_EXACT, "x" }, /* as if it were not there */
    { "url=x&reverse=false&resumeKey=a", DX_CDX_EXACT, "x" },
    { "url=x&reverse=off&resumeKey=a", DX_CDX_EXACT, "x" },
    { "url=x&reverse=1&resumeKey=a", -1, "resumeKey" },
    { "url=x&limit=-3&resumeKey=a", -1, "resumeKey" },
    { "url=x&offset=x", -1, "offset" },
    { "url=x&page=4294967296", -1, "page" },
    { "url=*.", -1, "names no site" },
    { "url=*.*", -1, "names no site" },
};

static void check_urls(void)
{
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct dx_buf text;
        struct dx_cdx_ask ask;
        struct dx_problem problem;
        int rc = parse(urls[i].query, DX_CDX_WAYBACK, &text, &ask, &problem);

        if (rc != (urls[i].match >= 0))
            failed(urls[i].query, problem.detail);
        else if (rc == 0 && strstr(problem.detail, urls[i].url) == NULL)
            failed(urls[i].query, problem.detail);
        else if (rc == 1 && ((int)ask.match != urls[i].match ||
                             !dx_span_equal(ask.url, dx_span_str(urls[i].url))))
            failed(urls[i].query, "another URL or match");
        dx_buf_release(&text);
    }
}

/* Of a long value its beginning is shown. */
static void check_long(void)
{
    static const char query[] = "url=x&closest="
                                "0123456789012345678901234567890123456789012345678901234567a"
                                "bc";
    struct dx_buf text;
    struct dx_cdx_ask ask;
    struct dx_problem problem;

    if (parse(query, DX_CDX_WAYBACK, &text, &ask, &problem) != 0 ||
        strstr(problem.detail,
               "closest '0123456789012345678901234567890123456789012345678901234567ab' ") == NULL)
        failed(query, problem.detail);
    dx_buf_release(&text);
}

static void check_values(void)
{
    static const char query[] = "url=x&from=2&to=201502&limit=-7&filter=a:b&filter=!c:d&collapse="
                                "timestamp:4&collapse=digest&sort=reverse&offset=3&showNumPages="
                                "false&showResumeKey=1&resolveRevisits=true&output=cdxj&version=q";
    struct dx_buf text;
    struct dx_cdx_ask ask;
    struct dx_problem problem;

    if (parse(query, DX_CDX_PYWB, &text, &ask, &problem) != 1)
        failed(query, problem.detail);
    if (ask.from != UINT64_C(20000101000000) || ask.to != UINT64_C(20150231235959) ||
        ask.limit != 7 || !ask.last || ask.filter_count != 2 || ask.collapse_count != 2 ||
        ask.collapses[0].characters != 4 || ask.collapses[1].column != DX_CDX_DIGEST ||
        !ask.reverse || ask.offset != 3 || ask.count_pages || !ask.show_resume_key ||
        !ask.resolve_revisits || ask.output != DX_CDX_CDXJ ||
        !dx_span_equal(ask.filters[1], dx_span_str("!c:d")))
        failed(query, "other values");
    dx_buf_release(&text);
    if (!dx_span_equal(dx_cdx_query_value(dx_span_str(query), "version"), dx_span_str("q")))
        failed(query, "the version");
}

/* As warcio.timeutils.timestamp_to_sec. */
static const struct {
    const char *text;
    int64_t second;
} closest[] = {
    { "2", 32503679999 },
    { "2014", 1420070399 },
    { "201402", 1393631999 },
    { "20160229", 1456790399 },
    { "2015010203", 1420171199 },
    { "20150102030405", 1420167845 },
    { "201501020304059", 1420167845 },
    { "19000101000000", -2208988800 },
    { "200002", 951868799 },   /* the 29th: every 400 years there is one */
    { "190002", -2203891201 }, /* the 28th */
    { "20000230", 951868799 }, /* the last there is */
    { "20000001000000", 946684800 },
    { "18000101000000", -2208988800 },
};

static void check_closest(void)
{
    for (size_t i = 0; i < sizeof closest / sizeof *closest; i++) {
        char query[60];
        struct dx_buf text;
        struct dx_cdx_ask ask;
        struct dx_problem problem;

        (void)snprintf(query, sizeof query, "url=x&closest=%s", closest[i].text);
        if (parse(query, DX_CDX_PYWB, &text, &ask, &problem) != 1 || !ask.has_closest ||
            ask.closest_s != closest[i].second)
            failed(query, "another second");
        dx_buf_release(&text);
    }
}

int main(void)
{
    check_urls();
    check_long();
    check_values();
    check_closest();
    return failures != 0;
}
