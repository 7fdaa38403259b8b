/* SPDX-License-Identifier: Apache-2.0
 * input_detect.h - what an input looks like: format, columns with types, profile, first records.
 *
 *   rc = dx_input_detect(&d, path, DX_RECORD_AUTO, NULL or a profile, &err);
 *   d->format, d->container, d->column[i].name ... d->profile, d->row[i] ...
 *   dx_input_detect_free(&d);
 *
 * Looks at the first records only (DX_DETECT_RECORDS), and at the footer of a Parquet file. A
 * column of URLs or times is found by its usual name or the profile's, else by its values: url_given
 * and ts_given then say it, as --url-column and --ts-column want it. An input that ingest does not
 * read is an error with a way out, one without a URL too; d is filled as far as it is known then.
 * Texts are fit for a terminal. May block. One thread.
 */
#ifndef DX_BUILDER_INPUT_FILES_INPUT_DETECT_H
#define DX_BUILDER_INPUT_FILES_INPUT_DETECT_H

#include "builder/input/records/profile.h"

#define DX_DETECT_RECORDS 100
#define DX_DETECT_COLUMNS 300 /* further ones are counted */
#define DX_DETECT_ROWS 3
#define DX_DETECT_TEXT 400

struct dx_detected_column {
    char name[DX_COLUMN_LABEL * 2]; /* as --url-column takes it */
    char type[40];
    unsigned values; /* looked at that are not empty; of them: */
    unsigned urls;
    unsigned times;
};

struct dx_detected {
    enum dx_record_format format;
    bool format_given;     /* asked for, or not certain: --format has to say it */
    const char *container; /* "plain", "gzip" ...; the codec of Parquet */
    bool header;
    struct dx_detected_column column[DX_DETECT_COLUMNS];
    size_t column_count;              /* may be more than column[] has */
    const struct dx_profile *profile; /* NULL: none fits */
    const char *url_given;            /* NULL: it is found by its name */
    const char *ts_given;
    char url[DX_COLUMN_LABEL]; /* the columns that are used; "": none */
    char ts[DX_COLUMN_LABEL];
    char dataset[DX_DATASET_TEMPLATE_MAX]; /* "": the path does not give the profile's name */
    char row[DX_DETECT_ROWS][DX_DETECT_TEXT];
    size_t row_count;
};

int dx_input_detect(struct dx_detected **d, const char *path, enum dx_record_format format,
                    const struct dx_profile *profile, struct dx_error *err);
void dx_input_detect_free(struct dx_detected **d);

#endif
