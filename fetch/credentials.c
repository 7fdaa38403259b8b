/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/credentials.h"

#include <stdlib.h>
#include <string.h>

const char *dx_environment(const char *name)
{
    const char *value = getenv(name);

    return value == NULL || value[0] == '\0' ? NULL : value;
}

void dx_credentials_forget(struct dx_credentials *c)
{
    explicit_bzero(c, sizeof *c);
}

static struct dx_span trimmed(struct dx_span s)
{
    while (s.size > 0 && strchr(" \t\r", s.data[0]) != NULL && s.data[0] != '\0')
        s = (struct dx_span){ s.data + 1, s.size - 1 };
    while (s.size > 0 && strchr(" \t\r", s.data[s.size - 1]) != NULL && s.data[s.size - 1] != '\0')
        s.size--;
    return s;
}

bool dx_credentials_keep(char to[DX_CREDENTIAL_MAX], struct dx_span value)
{
    if (value.size >= DX_CREDENTIAL_MAX)
        return false;
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] <= 0x20 || value.data[i] >= 0x7f)
            return false;
    if (value.size > 0)
        memcpy(to, value.data, value.size);
    to[value.size] = '\0';
    return true;
}

static bool credential_line(struct dx_credentials *c, struct dx_span line)
{
    const uint8_t *equals = memchr(line.data, '=', line.size);
    struct dx_span name;
    struct dx_span value;

    if (equals == NULL)
        return true;
    name = trimmed(dx_span_of(line.data, (size_t)(equals - line.data)));
    value = trimmed(dx_span_of(equals + 1, line.size - (size_t)(equals - line.data) - 1));
    if (dx_span_equal(name, dx_span_str("aws_access_key_id")))
        return dx_credentials_keep(c->key_id, value);
    if (dx_span_equal(name, dx_span_str("aws_secret_access_key")))
        return dx_credentials_keep(c->secret, value);
    if (dx_span_equal(name, dx_span_str("aws_session_token")))
        return dx_credentials_keep(c->token, value);
    return true;
}

int dx_credentials_parse_file(struct dx_credentials *c, struct dx_span text, const char *profile,
                              struct dx_error *err)
{
    bool inside = false;
    size_t number = 0;

    memset(c, 0, sizeof *c);
    while (text.size > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t n = end == NULL ? text.size : (size_t)(end - text.data);
        struct dx_span line = trimmed(dx_span_of(text.data, n));

        number++;
        n += end != NULL;
        text = dx_span_from(text, n);
        if (line.size == 0 || line.data[0] == '#' || line.data[0] == ';')
            continue;
        if (line.data[0] == '[') {
            struct dx_span name = dx_span_of(line.data + 1, line.size - 1);

            if (name.size == 0 || name.data[name.size - 1] != ']')
                return dx_fail(err, DX_E_INVALID, "line %zu: a section without its ]", number);
            name.size--;
            inside = dx_span_equal(trimmed(name), dx_span_str(profile));
        } else if (inside && !credential_line(c, line)) {
            return dx_fail(err, DX_E_INVALID, "line %zu: a credential of odd bytes or length",
                           number);
        }
    }
    return c->key_id[0] != '\0' && c->secret[0] != '\0';
}
