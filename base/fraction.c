/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fraction.h"

#include "base/json_out.h"
#include "base/put.h"

#include <assert.h>

#define UNITS 1000000000u /* in 1 */
#define DECIMALS 9

__extension__ typedef unsigned __int128 wide;

static __attribute__((noinline)) uint32_t wide_billionths(uint64_t part, uint64_t whole)
{
    wide doubled = (wide)part * (2 * UNITS) + whole;

    return whole == 0 ? 0 : (uint32_t)(doubled / ((wide)2 * whole));
}

/* part / whole in billionths: half up. Most wholes are far below 2^62, and a division of 128 bits takes four times as long. */
static inline uint32_t billionths(uint64_t part, uint64_t whole)
{
    if (part <= UINT32_MAX && whole - 1 < UINT64_C(1) << 62)
        return (uint32_t)((2 * part * UNITS + whole) / (2 * whole));
    return wide_billionths(part, whole);
}

uint8_t *dx_put_fraction(uint8_t *p, uint64_t part, uint64_t whole)
{
    uint32_t units = billionths(part, whole);
    uint32_t high = units / 10000;
    uint32_t first = high / 10000;
    uint8_t *end = p + DX_PUT_SIZE("0.") + DECIMALS;

    assert(part <= whole);
    if (units - 1 >= UNITS - 1) { /* all or nothing */
        *p = units == 0 ? '0' : '1';
        return p + 1;
    }
    p = DX_PUT(p, "0.");
    *p = (uint8_t)('0' + first);
    (void)dx_put_four(dx_put_four(p + 1, high - 10000 * first), units - 10000 * high);
    while (end[-1] == '0')
        end--;
    return end;
}

void dx_json_fraction(struct dx_json *j, uint64_t part, uint64_t whole)
{
    uint8_t text[DX_FRACTION_MAX];

    dx_json_number(j, dx_span_of(text, (size_t)(dx_put_fraction(text, part, whole) - text)));
}
