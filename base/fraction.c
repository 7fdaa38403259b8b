/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fraction.h"

#include "base/json_out.h"
#include "base/put.h"

#include <assert.h>

#define UNITS 1000000000u /* in 1 */
#define DECIMALS 9

__extension__ typedef unsigned __int128 wide;

/* part / whole in billionths: half up. */
static uint32_t billionths(uint64_t part, uint64_t whole)
{
    wide doubled;

    if (whole == 0)
        return 0;
    /* Most wholes are far below 2^62, and a division of 128 bits takes four times as long. */
    if (part <= UINT32_MAX && whole >> 62 == 0)
        return (uint32_t)((2 * part * UNITS + whole) / (2 * whole));
    doubled = (wide)part * (2 * UNITS) + whole;
    return (uint32_t)(doubled / ((wide)2 * whole));
}

static void put_pair(uint8_t *p, uint32_t v)
{
    memcpy(p, dx_put_pairs + 2 * (size_t)v, 2);
}

uint8_t *dx_put_fraction(uint8_t *p, uint64_t part, uint64_t whole)
{
    uint32_t units = billionths(part, whole);
    uint32_t high = units / 10000;
    uint32_t low = units % 10000;
    unsigned digits = DECIMALS;

    assert(part <= whole);
    if (units == 0 || units == UNITS) {
        *p = units == 0 ? '0' : '1';
        return p + 1;
    }
    p = DX_PUT(p, "0.");
    p[0] = (uint8_t)('0' + high / 10000);
    put_pair(p + 1, high % 10000 / 100);
    put_pair(p + 3, high % 100);
    put_pair(p + 5, low / 100);
    put_pair(p + 7, low % 100);
    while (p[digits - 1] == '0')
        digits--;
    return p + digits;
}

void dx_json_fraction(struct dx_json *j, uint64_t part, uint64_t whole)
{
    uint8_t text[DX_FRACTION_MAX];

    dx_json_number(j, dx_span_of(text, (size_t)(dx_put_fraction(text, part, whole) - text)));
}
