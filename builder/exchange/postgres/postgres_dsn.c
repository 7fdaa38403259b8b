/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/postgres/postgres_dsn.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <string.h>

static const char name_bytes[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

static bool is_uri(const char *text)
{
    return strncmp(text, "postgresql://", 13) == 0 || strncmp(text, "postgres://", 11) == 0;
}

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
    for (; options->keyword != NULL; options++)
        if (strcmp(options->keyword, keyword) == 0)
            return options->val == NULL ? "" : options->val;
    return "";
}

static int check_options(const PQconninfoOption *options, bool uri, struct dx_error *err)
{
    const char *port = value_of(options, "port");
    const char *host = value_of(options, "host");

    if (strspn(port, "0123456789,") != strlen(port))
        return dx_fail(err, DX_E_INVALID,
                       "connection string: the port is not a number; in a URI a '/' or '@' of a "
                       "password is written %%2F or %%40");
    if (strchr(host, '@') != NULL || (uri && strchr(value_of(options, "dbname"), '@') != NULL))
        return dx_fail(err, DX_E_INVALID,
                       "connection string: there is an '@' behind the host; in a URI a '/' or '@' "
                       "of a password is written %%2F or %%40");
    return DX_OK;
}

int dx_postgres_dsn_check(const char *text, struct dx_error *err)
{
    PQconninfoOption *options;
    char *words = NULL;
    int rc;

    if (strspn(text, name_bytes) == strlen(text)) /* a database; or nothing */
        return DX_OK;
    options = is_uri(text) || strchr(text, '=') != NULL ? PQconninfoParse(text, &words) : NULL;
    if (options == NULL) {
        if (words != NULL)
            explicit_bzero(words, strlen(words));
        PQfreemem(words);
        return dx_fail(err, DX_E_INVALID,
                       "connection string: neither 'postgresql://user@host:port/database' nor "
                       "'host=... dbname=...' nor the name of a database (it is not repeated "
                       "here, since it may hold a password)");
    }
    rc = check_options(options, is_uri(text), err);
    PQconninfoFree(options);
    return rc;
}
