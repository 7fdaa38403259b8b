/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_time.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

int dx_publish_time(int64_t *us, bool *fixed, struct dx_error *err)
{
    const char *text = getenv("SOURCE_DATE_EPOCH");
    char *end = NULL;
    long long seconds;

    *fixed = false;
    if (text == NULL || *text == '\0') {
        *us = (int64_t)time(NULL) * 1000000;
        return DX_OK;
    }
    errno = 0;
    seconds = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || seconds < 0 || seconds > 253402300799ll)
        return dx_fail(err, DX_E_INVALID, "SOURCE_DATE_EPOCH=%s: not seconds since 1970", text);
    *us = seconds * 1000000;
    *fixed = true;
    return DX_OK;
}
