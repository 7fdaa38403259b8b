/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/regex.h"

#include "query/view/problem.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKSPACE 1000            /* ints, 3 for each state that is followed at once, twice */
#define COMPILED_MAX (256u << 10) /* bytes; PCRE2 refuses over 64 Ki, (a{1000}){1000} at once */
#define NESTED_MAX 20             /* parentheses */
#define CALLS_MAX 65536 /* one for each byte that a match may begin at, and for possessive groups */

struct dx_regex {
    pcre2_code *code;
    pcre2_match_data *found;
    pcre2_match_context *context;
    struct dx_regex_work *work;
    int space[WORKSPACE];
};

void dx_regex_free(struct dx_regex **r)
{
    if (*r == NULL)
        return;
    pcre2_match_data_free((*r)->found);
    pcre2_match_context_free((*r)->context);
    pcre2_code_free((*r)->code);
    free(*r);
    *r = NULL;
}

static int refuse(struct dx_problem *problem, struct dx_span pattern, const char *why)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                          "the regular expression '%.*s' is refused: %s",
                          pattern.size > 100 ? 100 : (int)pattern.size, (const char *)pattern.data,
                          why);
}

static int refuse_code(struct dx_problem *problem, struct dx_span pattern, int code, size_t at)
{
    struct dx_error err = DX_ERROR_INIT;
    char words[160];
    char why[200];

    if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED) {
        (void)dx_no_memory(&err, "regular expression");
        return dx_problem_of_error(problem, &err);
    }
    /* Groups have no numbers, and names are refused before. */
    if (code == PCRE2_ERROR_BAD_SUBPATTERN_REFERENCE)
        return refuse(problem, pattern,
                      "back references cannot be used, since no match goes back over what it has "
                      "read");
    if (pcre2_get_error_message(code, (PCRE2_UCHAR *)words, sizeof words) < 0)
        words[0] = '\0';
    (void)snprintf(why, sizeof why, "%s, at byte %zu", words, at);
    return refuse(problem, pattern, why);
}

/* "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?R", "(?1", "(?(", "(?C", "(*": what recurses or steers the matcher. Plain groups, names and
 * options are left. */
static bool is_simple(struct dx_span p)
{
    bool in_class = false;

    if (p.size > 0 && memchr(p.data, '\0', p.size) != NULL)
        return false;
    for (size_t i = 0; i < p.size; i++) {
        if (p.data[i] == '\\') {
            i++;
        } else if (in_class) {
            in_class = p.data[i] != ']';
        } else if (p.data[i] == '[') {
            in_class = true;
            i += i + 1 < p.size && p.data[i + 1] == '^';
            i += i + 1 < p.size && p.data[i + 1] == ']';
        } else if (p.data[i] == '(' && i + 1 < p.size && p.data[i + 1] == '*') {
            return false;
        } else if (p.data[i] == '(' && i + 2 < p.size && p.data[i + 1] == '?' &&
                   strchr(":ims-", p.data[i + 2]) == NULL) {
            return false;
        }
    }
    return true;
}

static pcre2_code *compile_pattern(struct dx_span pattern, unsigned flags, int *code, size_t *at)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    uint32_t options = PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_DOLLAR_ENDONLY |
                       PCRE2_NO_AUTO_CAPTURE |
                       /* each item is a step, and none is followed without being one */
                       PCRE2_AUTO_CALLOUT | PCRE2_NO_AUTO_POSSESS |
                       ((flags & DX_REGEX_BEGIN) != 0 ? PCRE2_ANCHORED : 0) |
                       ((flags & DX_REGEX_CASELESS) != 0 ? PCRE2_CASELESS : 0);
    pcre2_code *compiled;

    *code = PCRE2_ERROR_NOMEMORY;
    if (context == NULL)
        return NULL;
    (void)pcre2_set_parens_nest_limit(context, NESTED_MAX);
    compiled = pcre2_compile(pattern.data, pattern.size, options, code, at, context);
    pcre2_compile_context_free(context);
    return compiled;
}

/* The matcher ends at the shortest match, wherever that ends: so the end is a part of the expression. What is one without that, is
 * one with it. */
static pcre2_code *compile_to_end(struct dx_span pattern, unsigned flags, int *code, size_t *at)
{
    pcre2_code *plain = compile_pattern(pattern, flags, code, at);
    char text[DX_REGEX_MAX + sizeof "(?:)\\z"];
    int size = snprintf(text, sizeof text, "(?:%.*s)\\z", (int)pattern.size,
                        (const char *)pattern.data);

    if (plain == NULL || (flags & DX_REGEX_END) == 0)
        return plain;
    pcre2_code_free(plain);
    return compile_pattern(dx_span_of(text, (size_t)size), flags, code, at);
}

/* Of each item that is tried. */
static int count_step(pcre2_callout_block *block, void *of)
{
    struct dx_regex_work *work = of;

    (void)block;
    return ++work->steps > work->most ? PCRE2_ERROR_CALLOUT : 0;
}

/* Everything but the code. */
static bool make_room(struct dx_regex *r)
{
    r->found = pcre2_match_data_create(1, NULL);
    r->context = pcre2_match_context_create(NULL);
    if (r->context == NULL)
        return false;
    (void)pcre2_set_match_limit(r->context, CALLS_MAX);
    (void)pcre2_set_depth_limit(r->context, NESTED_MAX);
    (void)pcre2_set_heap_limit(r->context, 1024); /* KiB */
    (void)pcre2_set_callout(r->context, count_step, r->work);
    return r->found != NULL;
}

int dx_regex_new(struct dx_regex **out, struct dx_span pattern, unsigned flags,
                 struct dx_regex_work *work, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_regex *r;
    size_t size = 0;
    size_t at = 0;
    int code = 0;
    int rc;

    *out = NULL;
    if (pattern.size > DX_REGEX_MAX)
        return refuse(problem, pattern, "it has over 500 bytes");
    if (!is_simple(pattern))
        return refuse(problem, pattern,
                      "look around, conditions, recursion, atomic groups, verbs and NUL are not "
                      "supported, so that no match goes back over what it has read");
    r = calloc(1, sizeof *r);
    if (r != NULL)
        r->work = work;
    if (r == NULL || !make_room(r)) {
        dx_regex_free(&r);
        (void)dx_no_memory(&err, "regular expression");
        return dx_problem_of_error(problem, &err);
    }
    r->code = compile_to_end(pattern, flags, &code, &at);
    if (r->code == NULL) {
        dx_regex_free(&r);
        return refuse_code(problem, pattern, code, at);
    }
    (void)pcre2_pattern_info(r->code, PCRE2_INFO_SIZE, &size);
    rc = size > COMPILED_MAX ? DX_E_LIMIT : dx_regex_matches(r, dx_span_str(""), &err);
    if (rc == DX_E_NOMEM) {
        dx_regex_free(&r);
        return dx_problem_of_error(problem, &err);
    }
    if (rc < 0) {
        dx_regex_free(&r);
        return refuse(problem, pattern, "it takes too much, or has items that are not supported");
    }
    *out = r;
    return 1;
}

int dx_regex_matches(struct dx_regex *r, struct dx_span text, struct dx_error *err)
{
    int rc = pcre2_dfa_match(r->code, text.data == NULL ? (const uint8_t *)"" : text.data,
                             text.size, 0, PCRE2_DFA_SHORTEST, r->found, r->context, r->space,
                             WORKSPACE);

    if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH)
        return rc >= 0;
    if (rc == PCRE2_ERROR_NOMEMORY)
        return dx_no_memory(err, "regular expression");
    if (rc == PCRE2_ERROR_CALLOUT)
        return dx_fail(err, DX_E_LIMIT,
                       "the regular expressions of this question take over %llu steps of the "
                       "matcher: begin them with ^ or a literal, have fewer repeats, or ask about "
                       "fewer rows",
                       (unsigned long long)r->work->most);
    return dx_fail(err, DX_E_LIMIT,
                   "the regular expression takes too much for a text of %zu bytes (PCRE2: %d)",
                   text.size, rc);
}
