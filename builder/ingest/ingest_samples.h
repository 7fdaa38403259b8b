/* SPDX-License-Identifier: Apache-2.0
 * ingest_samples.h - the first rejected records of each reason, and the first rows, for people.
 *
 *   struct dx_ingest_samples s = { .row_count = 0 };
 *   dx_ingest_samples_reject(&s, why, input, line, record);     keeps the first of each reason
 *   dx_ingest_samples_row(&s, text);                            keeps the first rows
 *   dx_ingest_samples_add(&all, &s);                            batches in the order of the input
 *
 * Texts are cut and escaped, so that a terminal can show them. Fixed size, nothing to release;
 * `input` is borrowed. One thread at a time.
 */
#ifndef DX_BUILDER_INGEST_INGEST_SAMPLES_H
#define DX_BUILDER_INGEST_INGEST_SAMPLES_H

#include "base/bytes.h"
#include "builder/input/records/rejects.h"

#define DX_SAMPLE_REJECTS 3 /* a reason */
#define DX_SAMPLE_ROWS 5
#define DX_SAMPLE_TEXT 160

struct dx_reject_sample {
    const char *input;
    uint64_t line;
    char text[DX_SAMPLE_TEXT];
};

struct dx_ingest_samples {
    struct dx_reject_sample reject[DX_ROW_REJECT_COUNT][DX_SAMPLE_REJECTS];
    uint8_t reject_count[DX_ROW_REJECT_COUNT];
    char row[DX_SAMPLE_ROWS][DX_SAMPLE_TEXT];
    size_t row_count;
};

void dx_ingest_samples_clear(struct dx_ingest_samples *s);
void dx_ingest_samples_reject(struct dx_ingest_samples *s, int why, const char *input,
                              uint64_t line, struct dx_span record);
void dx_ingest_samples_row(struct dx_ingest_samples *s, struct dx_span text);
void dx_ingest_samples_add(struct dx_ingest_samples *all, const struct dx_ingest_samples *more);

#endif
