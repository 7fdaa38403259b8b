/* SPDX-License-Identifier: Apache-2.0
 * counts_only.h - how many datasets of counts have a domain: answers about URLs say how many they leave out.
 *
 *   rc = dx_counts_only_datasets(&view, &found, &withheld, &count, &err);
 *
 * Counted are those of the view's scope of which something is visible, whether the view shows them or not. Reads nothing
 * where the version has none. Any thread.
 */
#ifndef DX_QUERY_SUPPRESSION_COUNTS_ONLY_H
#define DX_QUERY_SUPPRESSION_COUNTS_ONLY_H

#include "query/suppression/suppression_view.h"

int dx_counts_only_datasets(const struct dx_view *view, const struct dx_found *found,
                            const struct dx_suppression_view *withheld, uint64_t *count,
                            struct dx_error *err);

#endif
