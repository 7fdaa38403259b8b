/* SPDX-License-Identifier: Apache-2.0 */
#include "format/root/access_token.h"

#define PREFIX "dxk_"
#define PREFIX_SIZE (sizeof PREFIX - 1)
#define SECRET_SIZE 43 /* 62^43 is above 2^256 */
#define SUM_SIZE 6     /* 62^6 is above 2^32 */

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static bool is_digit(uint8_t c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* A byte's step is that of its low half and that of its high half, together: two small tables that
 * can be looked at side by side. */
static uint32_t crc32_of(const char *text, size_t size)
{
    static const uint32_t low[16] = { 0x00000000, 0x77073096, 0xee0e612c, 0x990951ba,
                                      0x076dc419, 0x706af48f, 0xe963a535, 0x9e6495a3,
                                      0x0edb8832, 0x79dcb8a4, 0xe0d5e91e, 0x97d2d988,
                                      0x09b64c2b, 0x7eb17cbd, 0xe7b82d07, 0x90bf1d91 };
    static const uint32_t high[16] = { 0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                       0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                       0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c };
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < size; i++) {
        uint32_t byte = (crc ^ (uint8_t)text[i]) & 0xff;

        crc = crc >> 8 ^ low[byte & 15] ^ high[byte >> 4];
    }
    return ~crc;
}

static void write_sum(char token[DX_ACCESS_TOKEN_TEXT])
{
    uint32_t crc = crc32_of(token, PREFIX_SIZE + SECRET_SIZE);

    for (size_t i = DX_ACCESS_TOKEN_SIZE; i-- > PREFIX_SIZE + SECRET_SIZE; crc /= 62)
        token[i] = digits[crc % 62];
    token[DX_ACCESS_TOKEN_SIZE] = '\0';
}

void dx_access_token_write(const uint8_t random[DX_ACCESS_TOKEN_RANDOM],
                           char token[DX_ACCESS_TOKEN_TEXT])
{
    uint8_t left[DX_ACCESS_TOKEN_RANDOM];

    memcpy(left, random, sizeof left);
    memcpy(token, PREFIX, PREFIX_SIZE);
    for (size_t i = PREFIX_SIZE + SECRET_SIZE; i-- > PREFIX_SIZE;) {
        unsigned rest = 0; /* long division of a number of 32 digits to the base 256 */

        for (size_t k = 0; k < sizeof left; k++) {
            unsigned v = rest << 8 | left[k];

            left[k] = (uint8_t)(v / 62);
            rest = v % 62;
        }
        token[i] = digits[rest];
    }
    write_sum(token);
}

bool dx_access_token_ok(struct dx_span text)
{
    char token[DX_ACCESS_TOKEN_TEXT];

    if (text.size != DX_ACCESS_TOKEN_SIZE || memcmp(text.data, PREFIX, PREFIX_SIZE) != 0)
        return false;
    for (size_t i = PREFIX_SIZE; i < text.size; i++)
        if (!is_digit(text.data[i]))
            return false;
    memcpy(token, text.data, DX_ACCESS_TOKEN_SIZE);
    write_sum(token);
    return memcmp(token, text.data, DX_ACCESS_TOKEN_SIZE) == 0;
}
