/* SPDX-License-Identifier: Apache-2.0
 * mix_part.h - one part of a mix of requests: its targets, how they are picked, and what came of them.
 *
 *   rc = dx_mix_part_open(&p, "hit.txt:70:zipf=0.99", &law, "127.0.0.1:8080", &err);
 *   uint32_t i = dx_mix_part_next(&p, &random);
 *   bool hash = dx_mix_part_knows_body(&p, i);           then the body is to be hashed
 *   right = dx_mix_part_judge(&p, i, &head, &hash, &why);   false: `why` says what is wrong
 *   dx_mix_part_release(&p);
 *
 * FILE[:SHARE[:LAW]]: the share of requests, in proportion to those of the other parts (1); the law
 * as in picker.h (that of the caller). A name with a colon in it needs both. Status and length are
 * compared wherever they are known, the hash where the caller gives one. One thread at a time.
 */
#ifndef DX_BUILDER_LOAD_MIX_PART_H
#define DX_BUILDER_LOAD_MIX_PART_H

#include "builder/load/hdr.h"
#include "builder/load/picker.h"
#include "builder/load/reply_head.h"
#include "builder/load/targets.h"

#define DX_PART_STATUS_END 600

struct dx_mix_part {
    char *name; /* of the file, without folders and extension */
    double share;
    struct dx_targets targets;
    struct dx_picker picker;
    struct dx_hdr latency;               /* filled by the load, ns */
    uint64_t status[DX_PART_STATUS_END]; /* replies by status, as the rest of them: all replies */
    uint64_t verified;                   /* bodies whose hash was compared */
    uint64_t wrong_status, wrong_size, wrong_body;
};

int dx_mix_part_open(struct dx_mix_part *p, const char *text, const struct dx_law *law,
                     const char *host, struct dx_error *err);
/* The same of lines that are in memory; all is copied. token: as for dx_targets_parse. */
int dx_mix_part_of(struct dx_mix_part *p, struct dx_span lines, const char *name,
                   const struct dx_law *law, const char *host, const char *token,
                   struct dx_error *err);
void dx_mix_part_release(struct dx_mix_part *p);

uint32_t dx_mix_part_next(struct dx_mix_part *p, uint64_t *random);
bool dx_mix_part_knows_body(const struct dx_mix_part *p, uint32_t target);

/* hash: of the body, or NULL where none was made. */
bool dx_mix_part_judge(struct dx_mix_part *p, uint32_t target, const struct dx_reply_head *head,
                       const struct dx_hash128 *hash, struct dx_error *why);

/* What came is what is to come from now on. */
void dx_mix_part_learn(struct dx_mix_part *p, uint32_t target, const struct dx_reply_head *head,
                       const struct dx_hash128 *hash);

#endif
