/* SPDX-License-Identifier: Apache-2.0
 * asker.h - the current version of a test's root, opened, and what is needed to ask it.
 *
 *   struct asker a;
 *   open_asker(&a, root.path);                            no rules are looked at
 *   open_asker_with_rules(&a, root.path, DX_SUPPRESSIONS_LIVE_WAIT);
 *   close_asker(&a);
 *
 * An error ends the program with a message.
 */
#ifndef DX_TESTS_SUPPORT_ASKER_H
#define DX_TESTS_SUPPORT_ASKER_H

#include "loader/followed/suppressions_live.h"
#include "loader/version.h"

struct asker {
    struct dx_version *v;
    struct dx_caches *caches;
    struct dx_canon *canon;
};

void open_asker(struct asker *a, const char *root);
void open_asker_with_rules(struct asker *a, const char *root, enum dx_suppressions_live_use use);
void close_asker(struct asker *a);

#endif
