/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/target.h"

#include "base/buf.h"
#include "base/command/near_name.h"
#include "server/routes/route.h"
#include "server/routes/routes.h"

#include <string.h>

#define SEGMENTS_MAX 6

/* share=10% is what people type and browsers send on. */
static int decode_value(struct dx_ask *ask, const struct dx_param *param, struct dx_span raw,
                        struct dx_span *out, struct dx_problem *problem)
{
    if (param != NULL && param->percent && raw.size > 0 &&
        memchr(raw.data, '%', raw.size) == raw.data + raw.size - 1) {
        *out = raw;
        return 1;
    }
    return dx_ask_decode(ask, raw, out, problem);
}

/* Splits at '/'; the first byte is one, and one at the end means nothing. Returns the count, or
 * SEGMENTS_MAX + 1 if more. */
static size_t split_path(struct dx_span path, struct dx_span segments[SEGMENTS_MAX])
{
    size_t n = 0;
    size_t begin = 1;

    if (path.size == 0 || path.data[0] != '/')
        return 0;
    if (path.size > 1 && path.data[path.size - 1] == '/')
        path.size--;
    while (begin <= path.size) {
        const uint8_t *from = path.data + begin;
        const uint8_t *slash = memchr(from, '/', path.size - begin);
        size_t size = slash == NULL ? path.size - begin : (size_t)(slash - from);

        if (n == SEGMENTS_MAX)
            return SEGMENTS_MAX + 1;
        segments[n++] = (struct dx_span){ from, size };
        begin += size + 1;
    }
    return n;
}

/* The path before the query, in segments without "v1". */
static size_t split_target(struct dx_span target, struct dx_span segments[SEGMENTS_MAX])
{
    const uint8_t *mark = target.size == 0 ? NULL : memchr(target.data, '?', target.size);
    size_t count;

    if (mark != NULL)
        target.size = (size_t)(mark - target.data);
    if (target.size >= 3 && memcmp(target.data, "/v1", 3) == 0 &&
        (target.size == 3 || target.data[3] == '/')) {
        target = dx_span_from(target, 3);
        return target.size <= 1 ? 0 : split_path(target, segments);
    }
    count = split_path(target, segments);
    return count == 1 && segments[0].size == 0 ? 0 : count;
}

/* The next segment of a pattern; size 0: it is over. */
static struct dx_span next_segment(const char **pattern)
{
    const char *end = strchrnul(*pattern, '/');
    struct dx_span segment = dx_span_of(*pattern, (size_t)(end - *pattern));

    *pattern = end + (*end == '/');
    return segment;
}

/* "{dataset}-index" of a pattern is any text before "-index". */
static bool take_capture(struct dx_span segment, struct dx_span want, struct dx_span *capture)
{
    const uint8_t *end = want.data[0] == '{' ? memchr(want.data, '}', want.size) : NULL;
    size_t behind = end == NULL ? 0 : want.size - (size_t)(end + 1 - want.data);

    if (end == NULL || segment.size <= behind ||
        (behind > 0 && memcmp(segment.data + segment.size - behind, end + 1, behind) != 0))
        return false;
    *capture = dx_span_of(segment.data, segment.size - behind);
    return true;
}

static bool fits_pattern(const struct dx_span *segments, size_t count, const char *pattern,
                         struct dx_span captures[2])
{
    size_t captured = 0;

    if (pattern == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct dx_span want = next_segment(&pattern);

        if (want.size == 0)
            return false;
        if (take_capture(segments[i], want, &captures[captured]))
            captured++;
        else if (!dx_span_equal(segments[i], want))
            return false;
    }
    return *pattern == '\0';
}

/* The route with this path, with up to two captures, and of this method, or else of another one; DX_ROUTE_COUNT if there is
 * none. */
static enum dx_route_id find_route(const struct dx_span *segments, size_t count,
                                   struct dx_span captures[2], bool post)
{
    size_t found = DX_ROUTE_COUNT;

    for (size_t r = 0; r < DX_ROUTE_COUNT; r++) {
        if (dx_routes[r]->admin ||
            (!fits_pattern(segments, count, dx_routes[r]->pattern, captures) &&
             !fits_pattern(segments, count, dx_routes[r]->alias, captures)))
            continue;
        if (dx_routes[r]->post == post)
            return (enum dx_route_id)r;
        found = r;
    }
    return (enum dx_route_id)found;
}

/* ---- paths that no route has ---- */

#define NEAR_COUNT 3
#define NEAR_ENOUGH 16
#define LETTER 2
#define SEGMENT \
    3 /* a word that is missing, or one too many: more than a typing error, less than another word */

static size_t segment_distance(struct dx_span a, struct dx_span b)
{
    return LETTER *
           dx_near_name_distance((const char *)a.data, a.size, (const char *)b.data, b.size);
}

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How far a path is from a route: letters that differ, and segments that are missing or too many, wherever they are.
 * Of no segment at all each is as near as the other. */
static size_t route_distance(const struct dx_span *segments, size_t count, const char *pattern)
{
    size_t far[SEGMENTS_MAX + 1]; /* [j]: of the first j segments from the pattern so far */
    struct dx_span want;

    for (size_t j = 0; j <= count; j++)
        far[j] = j * SEGMENT;
    while ((want = next_segment(&pattern)).size > 0) {
        size_t missing = want.data[0] == '{' ? 1 : SEGMENT;
        size_t before = far[0];

        far[0] += missing;
        for (size_t j = 1; j <= count; j++) {
            size_t same = before +
                          (want.data[0] == '{' ? 0 : segment_distance(segments[j - 1], want));

            before = far[j];
            far[j] = least_of(same, least_of(missing + far[j], SEGMENT + far[j - 1]));
        }
    }
    return count == 0 ? 0 : far[count];
}

/* "/v1/domain/{d}/hosts", "POST /v1/domains", "/v1/url?u=". */
static void put_endpoint(const struct dx_route *route, const char *pattern, struct dx_buf *out)
{
    dx_buf_fmt(out, "%s%s/%s", route->post ? "POST " : "", route->own || route->bare ? "" : "/v1",
               pattern);
    if (route->needs != NULL)
        dx_buf_fmt(out, "?%s=", route->needs);
}

/* Of route i / 2: its path, or the alias. NULL: there is none, or not on this listener. */
static const char *nth_pattern(size_t i)
{
    const struct dx_route *route = dx_routes[i / 2];

    return route->admin ? NULL : i % 2 == 0 ? route->pattern : route->alias;
}

/* The nearest routes, the first ones of the table where several are as near, or all are far. */
static void put_nearest(const struct dx_span *segments, size_t count, struct dx_buf *out)
{
    bool taken[2 * DX_ROUTE_COUNT] = { false };

    for (unsigned n = 0; n < NEAR_COUNT; n++) {
        size_t best = 0;
        size_t least = SIZE_MAX;

        for (size_t i = 0; i < 2 * DX_ROUTE_COUNT; i++) {
            const char *pattern = taken[i] || dx_routes[i / 2]->bare ? NULL : nth_pattern(i);
            size_t distance = pattern == NULL ? SIZE_MAX : route_distance(segments, count, pattern);

            if (distance < least) {
                least = distance;
                best = i;
            }
        }
        if (n > 0 && least > NEAR_ENOUGH)
            break;
        if (least > NEAR_ENOUGH)
            best = count = 0;
        taken[best] = true;
        dx_buf_str(out, n == 0 ? "" : ", ");
        put_endpoint(dx_routes[best / 2], nth_pattern(best), out);
    }
    dx_buf_u8(out, '\0');
}

static int set_no_route(const struct dx_span *segments, size_t count, struct dx_problem *problem)
{
    struct dx_buf nearest = DX_BUF_INIT(512);
    int rc;

    put_nearest(segments, count < SEGMENTS_MAX ? count : SEGMENTS_MAX, &nearest);
    rc = dx_problem_set(
        problem, DX_PROBLEM_NOT_FOUND, "no-such-resource", "No such resource",
        "no resource has this path; the nearest ones are %s. A '/' inside a domain, "
        "URL or tag is written %%2F",
        nearest.failed ? "in docs/API.md" : (const char *)nearest.data);
    dx_buf_release(&nearest);
    return rc;
}

const char *dx_target_methods(struct dx_span target)
{
    struct dx_span segments[SEGMENTS_MAX] = { { NULL, 0 } };
    struct dx_span captures[2];
    size_t count = split_target(target, segments);
    enum dx_route_id get = find_route(segments, count, captures, false);
    enum dx_route_id post = find_route(segments, count, captures, true);

    if (get == DX_ROUTE_COUNT)
        return NULL;
    if (get != post)
        return "GET, HEAD, POST";
    return dx_routes[get]->post ? "POST" : "GET, HEAD";
}

/* ---- parameters ---- */

static int unknown_param(const struct dx_route *route, struct dx_span name,
                         struct dx_problem *problem)
{
    const struct dx_param *param;
    struct dx_buf known = DX_BUF_INIT(400);
    int rc;

    for (size_t p = 0; (param = dx_route_param(route, p)) != NULL; p++)
        dx_buf_fmt(&known, "%s%s", p == 0 ? "" : ", ", param->name);
    dx_buf_u8(&known, '\0');
    rc = dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "unknown-parameter", "Unknown parameter",
                        "'%.*s' is not a parameter of this resource; %s%s", dx_shown(name),
                        (const char *)name.data, known.size <= 1 ? "it takes none" : "it takes ",
                        known.failed ? "" : (const char *)known.data);
    dx_buf_release(&known);
    return rc;
}

static int set_param(const struct dx_param *param, struct dx_span value, struct dx_ask *ask,
                     struct dx_problem *problem)
{
    void *member = (uint8_t *)ask + param->member;

    if (param->set != NULL)
        return param->set(value, ask, problem);
    if (param->words[0] == NULL) {
        *(struct dx_span *)member = value;
        return 1;
    }
    *(bool *)member = dx_span_equal(value, dx_span_str(param->words[1]));
    if (*(bool *)member || dx_span_equal(value, dx_span_str(param->words[0])))
        return 1;
    return dx_route_refuse(problem, "%s '%.*s' is neither %s nor %s", param->name, dx_shown(value),
                           (const char *)value.data, param->words[0], param->words[1]);
}

/* One "name=value". seen: bits of the route's parameters. */
static int take_pair(const struct dx_route *route, struct dx_span pair, unsigned *seen,
                     struct dx_ask *ask, struct dx_problem *problem)
{
    const struct dx_param *param;
    const uint8_t *equals = pair.size == 0 ? NULL : memchr(pair.data, '=', pair.size);
    size_t n = equals == NULL ? pair.size : (size_t)(equals - pair.data);
    struct dx_span raw_value = { pair.data + n, 0 };
    struct dx_span name;
    struct dx_span value;
    size_t p = 0;

    if (equals != NULL)
        raw_value = (struct dx_span){ equals + 1, pair.size - n - 1 };
    if (dx_ask_decode(ask, (struct dx_span){ pair.data, n }, &name, problem) == 0)
        return 0;
    while ((param = dx_route_param(route, p)) != NULL &&
           !dx_span_equal(name, dx_span_str(param->name)))
        p++;
    if (decode_value(ask, param, raw_value, &value, problem) == 0)
        return 0;
    if (param == NULL)
        return unknown_param(route, name, problem);
    if ((*seen >> p & 1) != 0 && param->times == 0)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "duplicate-parameter",
                              "Parameter given twice", "%s is given more than once", param->name);
    *seen |= 1u << p;
    return set_param(param, value, ask, problem);
}

static bool has_needed(const struct dx_route *route, unsigned seen)
{
    size_t p = 0;

    while (route->needs != NULL && strcmp(route->params[p]->name, route->needs) != 0)
        p++;
    return route->needs == NULL || (seen >> p & 1) != 0;
}

static int take_query(const struct dx_route *route, struct dx_span query, struct dx_ask *ask,
                      struct dx_problem *problem)
{
    unsigned seen = 0;
    size_t begin = 0;

    if (route->query != NULL) {
        ask->query = query; /* else twice as much text would have to be copied */
        return route->query(query, ask, problem);
    }
    for (size_t i = 0; query.size > 0 && i <= query.size; i++) {
        if (i < query.size && query.data[i] != '&')
            continue;
        if (take_pair(route, (struct dx_span){ query.data + begin, i - begin }, &seen, ask,
                      problem) == 0)
            return 0;
        begin = i + 1;
    }
    if (!has_needed(route, seen))
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "missing-parameter",
                              "Parameter missing", "this resource needs the parameter %s",
                              route->needs);
    return 1;
}

static int take_captures(const char *pattern, const struct dx_span *captured, struct dx_ask *ask,
                         struct dx_problem *problem)
{
    while ((pattern = strchr(pattern, '{')) != NULL)
        if (dx_route_capture(pattern++, *captured++, ask, problem) == 0)
            return 0;
    return 1;
}

int dx_target_parse(struct dx_span target, bool post, struct dx_ask *ask,
                    struct dx_problem *problem)
{
    const uint8_t *mark = target.size == 0 ? NULL : memchr(target.data, '?', target.size);
    struct dx_span query = { NULL, 0 };
    struct dx_span segments[SEGMENTS_MAX] = { { NULL, 0 } };
    struct dx_span captures[2] = { { NULL, 0 }, { NULL, 0 } };
    size_t count = split_target(target, segments);
    const struct dx_route *route;

    if (mark != NULL)
        query = (struct dx_span){ mark + 1, target.size - (size_t)(mark + 1 - target.data) };
    memset(ask, 0, offsetof(struct dx_ask, from.filter));
    ask->text_size = 0;
    ask->field_bits = DX_FIELDS_DEFAULT;
    ask->route = find_route(segments, count, captures, post);
    if (ask->route == DX_ROUTE_COUNT)
        return set_no_route(segments, count, problem);
    route = dx_routes[ask->route];
    ask->page = (struct dx_page_of){ 0, route->limit.usual };
    if (take_captures(route->pattern, captures, ask, problem) == 0)
        return 0;
    if (take_query(route, query, ask, problem) == 0)
        return 0;
    return route->check == NULL ? 1 : route->check(ask, problem);
}

void dx_ask_copy(struct dx_ask *copy, const struct dx_ask *ask)
{
    enum { FIRST = offsetof(struct dx_ask, asked), END = offsetof(struct dx_ask, filter.below) };
    _Static_assert((END - FIRST) % sizeof(struct dx_span) == 0, "nothing but spans");

    memcpy(copy, ask, offsetof(struct dx_ask, text));
    copy->text_size = 0;
    for (size_t at = FIRST; at < END; at += sizeof(struct dx_span)) {
        struct dx_span *text = (struct dx_span *)(void *)((uint8_t *)copy + at);
        uint8_t *to = copy->text + copy->text_size;

        if (text->data == NULL)
            continue;
        if (text->size > sizeof copy->text - copy->text_size)
            text->size = 0; /* cannot happen: all comes from one target, or its cursor */
        memcpy(to, text->data, text->size);
        text->data = to;
        copy->text_size += text->size;
    }
}
