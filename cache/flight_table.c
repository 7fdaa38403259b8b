/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/flight_table.h"

#include "base/clock.h"

#include <assert.h>
#include <stdlib.h>

int dx_flights_new(struct dx_flights **flights, struct dx_error *err)
{
    struct dx_flights *f = calloc(1, sizeof *f);

    *flights = f;
    if (f == NULL)
        return dx_no_memory(err, "flights");
    (void)pthread_mutex_init(&f->lock, NULL);
    dx_cond_init(&f->ended);
    return DX_OK;
}

void dx_flights_free(struct dx_flights **flights)
{
    struct dx_flights *f = *flights;

    *flights = NULL;
    if (f == NULL)
        return;
    assert(f->counts.now == 0);
    (void)pthread_cond_destroy(&f->ended);
    (void)pthread_mutex_destroy(&f->lock);
    free(f);
}
