/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/accept.h"

#include "server/http/request_head.h"

/* "0", "1", with up to three decimals; in thousandths. */
int dx_accept_quality(struct dx_span text)
{
    int weight;

    if (text.size == 0 || text.size > 5 || (text.data[0] != '0' && text.data[0] != '1') ||
        (text.size > 1 && text.data[1] != '.'))
        return 0;
    weight = (text.data[0] - '0') * DX_ACCEPT_MOST;
    for (size_t i = 2, unit = 100; i < text.size; i++, unit /= 10) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return 0;
        weight += (text.data[i] - '0') * (int)unit;
    }
    return weight <= DX_ACCEPT_MOST ? weight : 0;
}

/* The part before the next ';', trimmed; rest: behind it. */
static struct dx_span next_part(struct dx_span *rest)
{
    const uint8_t *mark = rest->size == 0 ? NULL : memchr(rest->data, ';', rest->size);
    struct dx_span part = *rest;

    if (mark == NULL) {
        *rest = dx_span_of(NULL, 0);
    } else {
        part.size = (size_t)(mark - rest->data);
        *rest = dx_span_of(mark + 1, rest->size - part.size - 1);
    }
    return dx_span_trimmed(part);
}

/* Of "text/csv;header=present;q=0.5": the range, and the weight. */
static int split_range(struct dx_span element, struct dx_span *range)
{
    int weight = DX_ACCEPT_MOST;

    *range = next_part(&element);
    while (element.size > 0) {
        struct dx_span part = next_part(&element);

        if (part.size >= 2 && (part.data[0] | 0x20) == 'q' && part.data[1] == '=')
            weight = dx_accept_quality(dx_span_of(part.data + 2, part.size - 2));
    }
    return weight;
}

/* 3: this type; 2: all of its kind; 1: all; 0: another one. */
static int exactness(struct dx_span range, const char *type)
{
    size_t size = strcspn(type, ";");
    size_t kind = strcspn(type, "/") + 1;

    if (range.size == size && strncasecmp((const char *)range.data, type, size) == 0)
        return 3;
    if (range.size == kind + 1 && range.data[kind] == '*' &&
        strncasecmp((const char *)range.data, type, kind) == 0)
        return 2;
    return dx_span_equal(range, dx_span_str("*/*")) ? 1 : 0;
}

int dx_accept_weight(struct dx_span field, const char *type)
{
    struct dx_span element;
    bool any = false;
    int best = 0;
    int weight = 0;

    while (dx_head_list_next(&field, &element)) {
        struct dx_span range;
        int w = split_range(element, &range);
        int exact = exactness(range, type);

        any = true;
        if (exact > best || (exact == best && exact > 0 && w > weight)) {
            best = exact;
            weight = w;
        }
    }
    return any ? weight : DX_ACCEPT_MOST;
}
