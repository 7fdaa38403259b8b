/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/load/load_url.h"

#include <netdb.h>
#include <stdio.h>
#include <strings.h>

/* The name without port and brackets; the port or NULL. */
static const char *split_port(char *host, char **name, const char *usual)
{
    char *colon = strrchr(host, ':'), *bracket = strchr(host, ']');

    *name = host;
    if (host[0] == '[' && bracket != NULL) {
        *bracket = '\0';
        (*name)++;
        return bracket[1] == ':' ? bracket + 2 : bracket[1] == '\0' ? usual : NULL;
    }
    if (colon == NULL)
        return usual;
    *colon = '\0';
    return colon + 1;
}

static int find_address(struct dx_load_url *u, struct dx_error *err)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char copy[DX_LOAD_URL_MAX], address[64], *name;
    const char *port;
    int rc;

    memcpy(copy, u->host, sizeof(copy));
    port = split_port(copy, &name, u->tls ? "443" : "80");
    if (port == NULL || *port == '\0' || *name == '\0')
        return dx_fail(err, DX_E_INVALID, "%s: not HOST or HOST:PORT", u->host);
    (void)snprintf(u->name, sizeof(u->name), "%s", name);
    rc = getaddrinfo(name, port, &hints, &found);
    if (rc != 0)
        return dx_fail(err, DX_E_INVALID, "%s: %s", u->host, gai_strerror(rc));
    memcpy(&u->address.storage, found->ai_addr, found->ai_addrlen);
    u->address.size = found->ai_addrlen;
    rc = getnameinfo(found->ai_addr, found->ai_addrlen, address, sizeof(address), NULL, 0,
                     NI_NUMERICHOST);
    (void)snprintf(u->shown, sizeof(u->shown),
                   found->ai_family == AF_INET6 ? "[%s]:%.5s" : "%s:%.5s", rc == 0 ? address : "?",
                   port);
    freeaddrinfo(found);
    return DX_OK;
}

int dx_load_url_parse(struct dx_load_url *u, const char *text, struct dx_error *err)
{
    static const char plain[] = "http://", tls[] = "https://";
    size_t size, host;

    *u = (struct dx_load_url){ .tls = strncasecmp(text, tls, strlen(tls)) == 0 };
    if (!u->tls && strncasecmp(text, plain, strlen(plain)) != 0)
        return dx_fail(err, DX_E_INVALID,
                       "%s: neither http://HOST[:PORT][/PREFIX] nor https://HOST[:PORT][/PREFIX]",
                       text);
    text += strlen(u->tls ? tls : plain);
    size = strlen(text);
    host = strcspn(text, "/?#");
    if (size >= DX_LOAD_URL_MAX || text[strcspn(text, "?#@ \r\n")] != '\0')
        return dx_fail(err, DX_E_INVALID, "%s: no user, query or fragment, and below %d bytes",
                       text, DX_LOAD_URL_MAX);
    memcpy(u->host, text, host);
    while (size > host && text[size - 1] == '/')
        size--;
    memcpy(u->prefix, text + host, size - host);
    return find_address(u, err);
}
