/* SPDX-License-Identifier: Apache-2.0
 * Mistyped names: the known one that is near, or none.
 */
#include "base/command/near_name.h"

#include "tests/support/damage.h"

static unsigned failures;

static const char *const known[] = { "root", "memory", "url-column", "ts-column", "threads" };

static const struct {
    const char *typed;
    const char *want; /* NULL: none is near */
} rows[] = {
    { "rot", "root" },
    { "raot", "root" },
    { "ROOT", "root" },
    { "orot", "root" },
    { "memroy", "memory" },
    { "url_column", "url-column" },
    { "url-colunm", "url-column" },
    { "colum", "url-column" }, /* a piece of two: the first */
    { "treads", "threads" },
    { "xyz", NULL },
    { "", NULL },
    { "r", NULL },
    { "a-name-that-is-much-longer-than-any-option-of-ours", NULL },
};

/* The nearest of several; equal ones, the first. A long name is not an answer to anything. */
static void check_nearest(void)
{
    static const char *const names[] = {
        "abcdxxyh", "abcdefxh", "abcdefyh",
        "abcdefghabcdefghabcdefghabcdefghabcdefghabcdefghabcdefghabcdefghabcdefghabcdefgh"
    };
    struct dx_near_name near = DX_NEAR_NAME_INIT("abcdefgh", 8);

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        dx_near_name_try(&near, names[k]);
    EXPECT(near.best == names[1], "%s", near.best == NULL ? "nothing" : near.best);
}

int main(void)
{
    check_nearest();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *typed = rows[i].typed;
        struct dx_near_name near = DX_NEAR_NAME_INIT(typed, strlen(typed));

        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
            dx_near_name_try(&near, known[k]);
        EXPECT(rows[i].want == NULL ? near.best == NULL
                                    : near.best != NULL && strcmp(near.best, rows[i].want) == 0,
               "'%s': %s", typed, near.best == NULL ? "nothing" : near.best);
    }
    return failures > 0;
}
