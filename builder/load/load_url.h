/* SPDX-License-Identifier: Apache-2.0
 * load_url.h - the server that a person names: "http://HOST[:PORT][/PREFIX]", or https.
 *
 *   struct dx_load_url u;
 *   rc = dx_load_url_parse(&u, "http://localhost:8080/index", &err);
 *   u.host "localhost:8080", u.prefix "/index", u.address: what the name stands for now
 *   u.tls, u.name "localhost"
 *
 * A name is looked up once, and the first address is taken, so that all
 * requests reach one server. A prefix has no query and loses slashes at its end. May wait for DNS.
 */
#ifndef DX_BUILDER_LOAD_LOAD_URL_H
#define DX_BUILDER_LOAD_LOAD_URL_H

#include "builder/load/link.h"

#define DX_LOAD_URL_MAX 1024

struct dx_load_url {
    bool tls;
    char host[DX_LOAD_URL_MAX]; /* as in the field Host */
    char name[DX_LOAD_URL_MAX]; /* without port and brackets */
    char prefix[DX_LOAD_URL_MAX];
    char shown[80]; /* the address in numbers */
    struct dx_address address;
};

int dx_load_url_parse(struct dx_load_url *u, const char *text, struct dx_error *err);

#endif
