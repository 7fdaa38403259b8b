/* SPDX-License-Identifier: Apache-2.0
 * fuzz_input_time.c - any bytes as a time of an input: what is taken is stored and read back, in each unit; and a
 * time in the forms of the C library is taken as it is.
 */
#include "base/civil_time.h"
#include "builder/input/records/http_time.h"
#include "builder/input/records/input_time.h"

#include <stdlib.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_stored(int64_t us)
{
    char text[DX_CIVIL_TEXT];
    int64_t back;

    if (!dx_civil_is_stored(us) ||
        !dx_input_time(dx_span_of((const uint8_t *)text, dx_civil_text_us(us, text)), DX_TS_AUTO,
                       &back) ||
        back != us)
        abort();
}

/* At the end of a block, so that ASan sees a read behind it. */
static void check_any(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size + (size == 0));
    int64_t us, same;

    if (exact == NULL)
        abort();
    if (size > 0)
        memcpy(exact, data, size);
    for (int unit = DX_TS_AUTO; unit <= DX_TS_ARCHIVE; unit++) {
        bool ok = dx_input_time(dx_span_of(exact, size), (enum dx_ts_unit)unit, &us);

        if (ok)
            check_stored(us);
        if (dx_http_time(dx_span_of(exact, size), &same) && size <= 32 && (!ok || same != us))
            abort();
    }
    free(exact);
}

static void check_text(const char *text, time_t t)
{
    int64_t us;

    if (!dx_input_time(dx_span_str(text), DX_TS_AUTO, &us) || us != (int64_t)t * 1000000)
        abort();
}

static void check_written(time_t t)
{
    char text[64];
    struct tm tm;

    if (gmtime_r(&t, &tm) == NULL || tm.tm_year < -900 || tm.tm_year > 8099)
        return;
    (void)strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    check_text(text, t);
    (void)strftime(text, sizeof text, "%e %b %Y %H:%M:%S -0000", &tm);
    check_text(text, t);
    (void)strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &tm);
    check_text(text, t);
    (void)strftime(text, sizeof text, "%a %b %d %H:%M:%S +0000 %Y", &tm);
    check_text(text, t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_any(data, size);
    if (size >= 8)
        check_written((time_t)((int64_t)dx_load_u64(data) >> 25));
    return 0;
}
