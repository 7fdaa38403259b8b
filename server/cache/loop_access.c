/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cache/loop_access.h"

#include "loader/followed/access.h"

#include <stddef.h>

const struct dx_access_table *dx_loop_access_now(struct dx_loop_access *l, struct dx_access *access)
{
    uint64_t turn = dx_access_turn(access);

    if (turn == l->turn)
        return l->table;
    /* The number is from before the pin: if the table changed in between, it is pinned again. */
    dx_access_unpin(l->table);
    l->table = dx_access_pin(access);
    l->turn = turn;
    return l->table;
}

void dx_loop_access_release(struct dx_loop_access *l)
{
    dx_access_unpin(l->table);
    *l = (struct dx_loop_access){ NULL, 0 };
}
