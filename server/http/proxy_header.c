/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/proxy_header.h"

#include "base/decimal.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define SIGNATURE_BYTES 12
#define FIXED_BYTES 16 /* of version 2, before the addresses */
#define LINE_MAX_BYTES 107
#define LINE_BEGIN "PROXY "
#define WORDS 5

static bool begins(struct dx_span bytes, const char *with, size_t size)
{
    size_t some = bytes.size < size ? bytes.size : size;

    return some == 0 || memcmp(bytes.data, with, some) == 0;
}

static void take_inet(const uint8_t *address, const uint8_t *port, struct sockaddr_storage *from)
{
    struct sockaddr_in in = { .sin_family = AF_INET };

    memcpy(&in.sin_addr, address, sizeof in.sin_addr);
    memcpy(&in.sin_port, port, sizeof in.sin_port);
    memcpy(from, &in, sizeof in);
}

static void take_inet6(const uint8_t *address, const uint8_t *port, struct sockaddr_storage *from)
{
    struct sockaddr_in6 in = { .sin6_family = AF_INET6 };

    memcpy(&in.sin6_addr, address, sizeof in.sin6_addr);
    memcpy(&in.sin6_port, port, sizeof in.sin6_port);
    memcpy(from, &in, sizeof in);
}

/* Of a client that the header does not name: no proxy has the address, which is of a prefix that leads nowhere (RFC 6666). The
 * proxy's own would give its trust to a stranger. */
static void take_unnamed(struct sockaddr_storage *from)
{
    static const uint8_t nowhere[16] = { 1, [15] = 1 };

    take_inet6(nowhere, nowhere + 2, from);
}

/* ---- version 2: binary ---- */

static enum dx_proxy_header parse_binary(struct dx_span bytes, size_t *used,
                                         struct sockaddr_storage *from)
{
    const uint8_t *p = bytes.data;
    const uint8_t *addresses = p + FIXED_BYTES;
    size_t size;

    if (bytes.size < FIXED_BYTES)
        return DX_PROXY_MORE;
    size = (size_t)p[14] << 8 | p[15];
    if (p[12] >> 4 != 2 || (p[12] & 15) > 1 || FIXED_BYTES + size > DX_PROXY_HEADER_MAX)
        return DX_PROXY_BAD;
    if (bytes.size < FIXED_BYTES + size)
        return DX_PROXY_MORE;
    *used = FIXED_BYTES + size;
    if ((p[12] & 15) == 0) /* LOCAL: whatever the addresses say */
        return DX_PROXY_DONE;
    /* TCP over IPv4 or IPv6: source, destination, ports. */
    if (p[13] == 0x11 && size >= 12)
        take_inet(addresses, addresses + 8, from);
    else if (p[13] == 0x21 && size >= 36)
        take_inet6(addresses, addresses + 32, from);
    else if (p[13] == 0x11 || p[13] == 0x21)
        return DX_PROXY_BAD;
    else
        take_unnamed(from);
    return DX_PROXY_DONE;
}

/* ---- version 1: a line ---- */

/* Words with one space between them; their number, or WORDS + 1. */
static size_t split(char *line, const char *words[WORDS])
{
    size_t count = 0;

    for (char *word = line; word != NULL; count++) {
        char *space = strchr(word, ' ');

        if (count == WORDS)
            return WORDS + 1;
        if (space != NULL)
            *space++ = '\0';
        words[count] = word;
        word = space;
    }
    return count;
}

static bool is_port(const char *text, uint8_t port[2])
{
    uint64_t value;
    bool ok = dx_decimal_plain(dx_span_str(text), UINT16_MAX, &value);

    port[0] = (uint8_t)(value >> 8);
    port[1] = (uint8_t)value;
    return ok;
}

static enum dx_proxy_header take_line(char *line, struct sockaddr_storage *from)
{
    const char *words[WORDS];
    size_t count;
    uint8_t source[16];
    uint8_t other[16];
    uint8_t port[2];
    uint8_t other_port[2];
    int family;

    if (strcmp(line, "UNKNOWN") == 0 || strncmp(line, "UNKNOWN ", 8) == 0) {
        take_unnamed(from);
        return DX_PROXY_DONE;
    }
    count = split(line, words);
    if (count != WORDS || (strcmp(words[0], "TCP4") != 0 && strcmp(words[0], "TCP6") != 0))
        return DX_PROXY_BAD;
    family = words[0][3] == '4' ? AF_INET : AF_INET6;
    if (inet_pton(family, words[1], source) != 1 || inet_pton(family, words[2], other) != 1 ||
        !is_port(words[3], port) || !is_port(words[4], other_port))
        return DX_PROXY_BAD;
    if (family == AF_INET)
        take_inet(source, port, from);
    else
        take_inet6(source, port, from);
    return DX_PROXY_DONE;
}

static enum dx_proxy_header parse_line(struct dx_span bytes, size_t *used,
                                       struct sockaddr_storage *from)
{
    size_t some = bytes.size < LINE_MAX_BYTES ? bytes.size : LINE_MAX_BYTES;
    const uint8_t *end = memmem(bytes.data, some, "\r\n", 2);
    size_t begin = strlen(LINE_BEGIN);
    char line[LINE_MAX_BYTES + 1];
    size_t size;

    if (end == NULL)
        return bytes.size < LINE_MAX_BYTES ? DX_PROXY_MORE : DX_PROXY_BAD;
    size = (size_t)(end - bytes.data);
    if (size < begin || memchr(bytes.data, '\0', size) != NULL)
        return DX_PROXY_BAD;
    memcpy(line, bytes.data + begin, size - begin);
    line[size - begin] = '\0';
    *used = size + 2;
    return take_line(line, from);
}

enum dx_proxy_header dx_proxy_header_parse(struct dx_span bytes, size_t *used,
                                           struct sockaddr_storage *from)
{
    enum dx_proxy_header rc;

    memset(from, 0, sizeof *from);
    from->ss_family = AF_UNSPEC;
    *used = 0;
    if (bytes.size == 0)
        return DX_PROXY_MORE;
    if (begins(bytes, SIGNATURE, SIGNATURE_BYTES))
        rc = bytes.size < SIGNATURE_BYTES ? DX_PROXY_MORE : parse_binary(bytes, used, from);
    else if (begins(bytes, LINE_BEGIN, strlen(LINE_BEGIN)))
        rc = parse_line(bytes, used, from);
    else
        rc = DX_PROXY_BAD;
    if (rc != DX_PROXY_DONE)
        *used = 0;
    return rc;
}
