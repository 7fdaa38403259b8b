/* SPDX-License-Identifier: Apache-2.0
 * gaps.h - which segments of a transfer are missing, as those show that came before their time.
 *
 *   struct dx_gaps g = DX_GAPS_INIT;
 *   dx_gaps_add(&g, key, expected, count, &segment);    one that is not the expected one
 *   dx_gaps_words(&g, all, text, size);                 all: nothing else is in the queue
 *   dx_gaps_clear(&g);                                  before they come again
 *
 * Of the transfer that came first; segments of others change nothing. Up to DX_GAPS_MAX are
 * remembered; what is missing is said only if these are all there are. No threads.
 */
#ifndef DX_BUILDER_EXCHANGE_QUEUE_GAPS_H
#define DX_BUILDER_EXCHANGE_QUEUE_GAPS_H

#include "format/exchange/segment.h"

#define DX_GAPS_MAX 4096
#define DX_GAPS_KEY 40

struct dx_gaps {
    char key[DX_GAPS_KEY]; /* "": none came */
    uint32_t expected;
    uint32_t count;
    struct dx_segment last; /* without its payload */
    size_t n;
    bool too_many;
    uint32_t seen[DX_GAPS_MAX];
};

#define DX_GAPS_INIT \
    {                \
        .key = ""    \
    }

void dx_gaps_clear(struct dx_gaps *g);
void dx_gaps_add(struct dx_gaps *g, const char *key, uint32_t expected, uint32_t count,
                 const struct dx_segment *s);
void dx_gaps_words(struct dx_gaps *g, bool all, char *text, size_t size);

#endif
