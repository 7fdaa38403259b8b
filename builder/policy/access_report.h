/* SPDX-License-Identifier: Apache-2.0
 * access_report.h - what an access table says, for people (text) and programs (JSON).
 *
 *   dx_access_list(&j, datasets, &of, json, &out);     principals and what they see; of: all, or one
 *   dx_access_tokens(&j, name, now_s, json, &out);     of all principals, or of one
 *   dx_access_status(&j, now_s, json, &out);
 *   dx_access_log(&j, json, &out);
 *
 * A token is shown by the beginning of its SHA-256. Errors are those of the buffer.
 * No state; any thread.
 */
#ifndef DX_BUILDER_POLICY_ACCESS_REPORT_H
#define DX_BUILDER_POLICY_ACCESS_REPORT_H

#include "base/buf.h"
#include "format/root/access_json.h"

#define DX_ACCESS_TOKEN_ID 17 /* 16 digits and NUL */

struct dx_dataset_registry;

struct dx_access_of {
    uint32_t dataset_id;   /* 0: all */
    const char *principal; /* NULL: all */
};

void dx_access_list(const struct dx_access_json *j, const struct dx_dataset_registry *datasets,
                    const struct dx_access_of *of, bool json, struct dx_buf *out);
void dx_access_tokens(const struct dx_access_json *j, const char *principal, int64_t now_s,
                      bool json, struct dx_buf *out);
void dx_access_status(const struct dx_access_json *j, int64_t now_s, bool json, struct dx_buf *out);
void dx_access_log(const struct dx_access_json *j, bool json, struct dx_buf *out);

void dx_access_token_id(const struct dx_access_token *t, char id[DX_ACCESS_TOKEN_ID]);

#endif
