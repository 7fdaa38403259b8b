/* SPDX-License-Identifier: Apache-2.0
 * Buckets of addresses are made and used while memory runs out. */
#include "server/policy/admission.h"

#include "tests/runner/fail_alloc.h"

static int admission(void *ctx, struct dx_error *err)
{
    const struct dx_admission_options o = {
        .address_cost_per_s = 1, .address_burst = 2, .address_connections = 1, .addresses_max = 64
    };
    struct dx_admission *a = NULL;
    int rc = dx_admission_new(&a, &o, 42, err);

    (void)ctx;
    for (uint8_t i = 1; rc == DX_OK && i < 200; i++) {
        const struct dx_who who = { .address = { { [10] = 0xff, [11] = 0xff, [12] = i } } };
        unsigned wait_s;

        if (!dx_admission_connect(a, &who.address) || dx_admission_connect(a, &who.address) ||
            !dx_admission_take(a, &who, 3, 0, &wait_s) || dx_admission_take(a, &who, 3, 0, &wait_s))
            rc = dx_fail(err, DX_E_CORRUPT, "address %u: another budget", i);
        dx_admission_gone(a, &who.address);
    }
    dx_admission_free(&a);
    return rc;
}

int main(void)
{
    return fail_alloc_each("admission", 0, admission, NULL) > 0;
}
