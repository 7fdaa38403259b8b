/* SPDX-License-Identifier: Apache-2.0
 * What stands below index/ of a store without a manifest: first publishes that died, however many, and
 * a manifest that was lost.
 */
#include "builder/publish/publish_listing.h"

#include <stdio.h>

#include "fetch/store/store.h"
#include "tests/support/damage.h"

#define CLAIM(name) "index/claims/" name
#define PACK(name) "index/" name "/part.pack"
#define ONE "000001-20260921T143946Z"
#define ONE_LATER "000001-20260921T144042Z"
#define TWO "000002-20260921T144042Z"

static unsigned failures;

static const struct sample {
    const char *objects[5];
    uint64_t sequence;
    bool lost;
} samples[] = {
    { { NULL }, 0, false },
    { { CLAIM(ONE) }, 0, false },
    { { PACK(ONE), CLAIM(ONE) }, 0, false },
    { { PACK(ONE), PACK(ONE_LATER), CLAIM(ONE), CLAIM(ONE_LATER) }, 0, false },
    { { CLAIM(ONE), CLAIM(TWO) }, 2, false },
    { { PACK(ONE), "index/" TWO "/domains.mphf", CLAIM(TWO) }, 2, false },
    { { PACK(TWO) }, 2, true },
    { { PACK(ONE), PACK(TWO), CLAIM(ONE), CLAIM(TWO) }, 2, true },
};

static void try_sample(const struct sample *s, const char *name)
{
    struct dx_manifest none = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_publish_listing l;

    dx_publish_listing_init(&l, &none, 0);
    for (size_t i = 0; s->objects[i] != NULL; i++) {
        const struct dx_listed listed = { .object = s->objects[i], .size = 1, .etag = "\"e\"" };

        EXPECT(dx_publish_listing_see(&l, &listed, &err) == DX_OK, "%s: %s", name, err.text);
    }
    EXPECT(l.sequence == s->sequence, "%s: %llu", name, (unsigned long long)l.sequence);
    EXPECT((dx_publish_listing_check_lost(&l, "s3://r", 2, &err) < 0) == s->lost, "%s: %s", name,
           err.text);
    dx_publish_listing_release(&l);
}

int main(void)
{
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        char name[24];

        (void)snprintf(name, sizeof name, "sample %zu", i);
        try_sample(&samples[i], name);
    }
    return failures > 0;
}
