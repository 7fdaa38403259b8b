/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/profile.h"

#include "base/command/near_name.h"

#define NEAR_MOST 3

/* clang-format off */
const struct dx_profile dx_profiles[] = {
#include "builder/input/records/profiles.def"
};
/* clang-format on */

#define COUNT (sizeof dx_profiles / sizeof dx_profiles[0])

const size_t dx_profile_count = COUNT;

static const struct dx_profile *find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(dx_profiles[i].name, name) == 0)
            return &dx_profiles[i];
    return NULL;
}

/* Names that are spelled nearly so. */
static void put_near(const char *name, struct dx_buf *out)
{
    bool shown[COUNT] = { false };

    for (int n = 0; n < NEAR_MOST; n++) {
        struct dx_near_name near = DX_NEAR_NAME_INIT(name, strlen(name));
        size_t best = COUNT;

        for (size_t i = 0; i < COUNT; i++) {
            const char *before = near.best;

            if (!shown[i])
                dx_near_name_try(&near, dx_profiles[i].name);
            if (near.best != before)
                best = i;
        }
        if (best == COUNT)
            return;
        dx_buf_fmt(out, "%s%s", n > 0 ? ", " : "; did you mean ", dx_profiles[best].name);
        shown[best] = true;
    }
}

int dx_profile_get(const struct dx_profile **profile, const char *name, struct dx_error *err)
{
    struct dx_buf near = DX_BUF_INIT(1024);
    int rc;

    *profile = find(name);
    if (*profile != NULL)
        return DX_OK;
    put_near(name, &near);
    if (near.size > 0)
        dx_buf_u8(&near, '?');
    dx_buf_u8(&near, 0);
    rc = dx_fail(err, DX_E_INVALID, "unknown profile '%.40s'%s 'domaindex profiles' lists them",
                 name, near.failed || near.size == 1 ? ";" : (const char *)near.data);
    dx_buf_release(&near);
    return rc;
}

void dx_profile_apply(const struct dx_profile *p, struct dx_columns_want *want)
{
    if (want->url == NULL && p->url[0] != NULL)
        want->url_names = p->url;
    if (want->ts == NULL && p->ts[0] != NULL)
        want->ts_names = p->ts;
    if (want->ts == NULL && p->no_ts)
        want->no_ts = true;
    if (want->extra_count > 0)
        return;
    for (size_t i = 0; p->extra[i] != NULL; i++)
        dx_columns_want_extra(want, p->extra[i]);
    want->extra_optional = want->extra_count;
}
