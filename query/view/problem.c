/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int dx_problem_set(struct dx_problem *p, enum dx_problem_kind kind, const char *slug,
                   const char *title, const char *fmt, ...)
{
    va_list ap;

    p->kind = kind;
    p->slug = slug;
    p->title = title;
    p->retry_s = 0;
    p->restart[0] = '\0';
    p->says_message = false;
    va_start(ap, fmt);
    (void)vsnprintf(p->detail, sizeof p->detail, fmt, ap);
    va_end(ap);
    return 0;
}

int dx_problem_of_error(struct dx_problem *p, const struct dx_error *err)
{
    bool damaged = err->code == DX_E_CORRUPT || err->code == DX_E_TRUNCATED ||
                   err->code == DX_E_UNSUPPORTED;

    if (err->code == DX_E_LIMIT)
        (void)dx_problem_set(p, DX_PROBLEM_TOO_MUCH, "too-much", "The answer is over a limit",
                             "%s.", err->text);
    else if (err->code == DX_E_CONFLICT)
        (void)dx_problem_set(p, DX_PROBLEM_DAMAGED, "data-replaced",
                             "A stored object is not the one that was indexed",
                             "%s. No answer is given rather than a mixed one. Publish again, or "
                             "restore the object.",
                             err->text);
    else if (err->code == DX_E_NOT_FOUND)
        (void)dx_problem_set(p, DX_PROBLEM_DAMAGED, "data-missing",
                             "Something that was indexed is not there any more",
                             "%s. Restore it, or publish again.", err->text);
    else if (damaged)
        (void)dx_problem_set(p, DX_PROBLEM_DAMAGED, "data-damaged",
                             "Stored data does not match its checksum or layout",
                             "%s. No answer is given rather than a wrong one. Run `domaindex "
                             "verify` on this root.",
                             err->text);
    else
        (void)dx_problem_set(p, DX_PROBLEM_UNAVAILABLE, "data-unavailable",
                             "Something needed for the answer could not be read",
                             "%s. Try again later.", err->text);
    return (int)err->code;
}

int dx_problem_advised(struct dx_problem *p, const struct dx_error *err, const char *advice)
{
    int rc = dx_problem_of_error(p, err);
    size_t size = strlen(p->detail);

    if (rc == DX_E_LIMIT)
        (void)snprintf(p->detail + size, sizeof p->detail - size, " %s", advice);
    return rc;
}
