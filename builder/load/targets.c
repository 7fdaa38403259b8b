/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/load/targets.h"

#include "base/file.h"
#include "builder/load/picker.h"

#include <stdlib.h>

#define METHOD "GET "

static int make_room(struct dx_targets *t, struct dx_error *err)
{
    size_t room = t->count == 0 ? 64 : 2 * t->count;
    void *more;

    if (t->count != 0 && (t->count < 64 || (t->count & (t->count - 1)) != 0))
        return DX_OK;
    if (room > 2 * (size_t)DX_PICKER_MAX)
        return dx_fail(err, DX_E_LIMIT, "more than %u targets", DX_PICKER_MAX);
    more = realloc(t->target, room * sizeof(*t->target));
    if (more != NULL)
        t->target = more;
    if (more != NULL && (more = realloc(t->weight, room * sizeof(*t->weight))) != NULL)
        t->weight = more;
    return more != NULL ? DX_OK : dx_no_memory(err, "%zu targets", room);
}

/* The text up to the next tab; false: there is none, or it is "-". */
static bool next_column(struct dx_span *line, char *out, size_t room)
{
    const uint8_t *tab = line->size == 0 ? NULL : memchr(line->data, '\t', line->size);
    size_t n = tab == NULL ? line->size : (size_t)(tab - line->data);
    size_t kept = n < room ? n : room - 1;

    if (n > 0)
        memcpy(out, line->data, kept);
    out[kept] = '\0';
    line->data += tab == NULL ? n : n + 1;
    line->size -= tab == NULL ? n : n + 1;
    return n > 0 && strcmp(out, "-") != 0;
}

static int parse_known(struct dx_span columns, struct dx_target *out, double *weight,
                       struct dx_error *err)
{
    char text[64], *end = text;

    *weight = 1;
    if (next_column(&columns, text, sizeof(text))) {
        *weight = strtod(text, &end);
        if (*end != '\0' || !(*weight >= 0))
            return dx_fail(err, DX_E_INVALID, "weight %s is not a number from 0 on", text);
    }
    if (next_column(&columns, text, sizeof(text))) {
        unsigned long status = strtoul(text, &end, 10);

        if (*end != '\0' || status < 200 || status > 599)
            return dx_fail(err, DX_E_INVALID, "status %s is not one of 200 to 599", text);
        out->status = (uint16_t)status;
    }
    if (next_column(&columns, text, sizeof(text))) {
        out->body_size = strtoull(text, &end, 10);
        if (*end != '\0' || out->body_size >> 53 != 0)
            return dx_fail(err, DX_E_INVALID, "%s is not a count of bytes", text);
    }
    if (next_column(&columns, text, sizeof(text))) {
        out->hash_known = dx_hash128_parse(dx_span_str(text), &out->hash);
        if (!out->hash_known)
            return dx_fail(err, DX_E_INVALID, "%s is not a hash of 32 hex digits", text);
    }
    return columns.size == 0 ? DX_OK : dx_fail(err, DX_E_INVALID, "more than five columns");
}

static int add_line(struct dx_targets *t, struct dx_span line, const char *host, const char *token,
                    struct dx_error *err)
{
    struct dx_target *out;
    const uint8_t *tab = memchr(line.data, '\t', line.size);
    size_t n = tab == NULL ? line.size : (size_t)(tab - line.data);
    int rc = make_room(t, err);

    if (rc < 0)
        return rc;
    if (n > DX_TARGET_MAX || line.data[0] != '/')
        return dx_fail(err, DX_E_INVALID, "not a target of up to %d bytes that begins with /",
                       DX_TARGET_MAX);
    for (size_t i = 0; i < n; i++)
        if (line.data[i] <= ' ' || line.data[i] >= 0x7f)
            return dx_fail(err, DX_E_INVALID, "byte 0x%02x in a target", line.data[i]);
    out = &t->target[t->count];
    *out = (struct dx_target){ .at = t->requests.size, .body_size = DX_TARGET_SIZE_UNKNOWN };
    dx_buf_str(&t->requests, METHOD);
    dx_buf_append(&t->requests, line.data, n);
    dx_buf_fmt(&t->requests, " HTTP/1.1\r\nHost: %s\r\n", host);
    if (token != NULL)
        dx_buf_fmt(&t->requests, "Authorization: Bearer %s\r\n", token);
    dx_buf_str(&t->requests, "\r\n");
    out->size = (uint32_t)(t->requests.size - out->at);
    line = tab == NULL ? dx_span_of(line.data, 0) : dx_span_of(tab + 1, line.size - n - 1);
    rc = parse_known(line, out, &t->weight[t->count], err);
    t->count++;
    return rc;
}

int dx_targets_parse(struct dx_targets *t, struct dx_span text, const char *name, const char *host,
                     const char *token, struct dx_error *err)
{
    size_t number = 0;
    int rc = DX_OK;

    *t = (struct dx_targets){ .requests = DX_BUF_INIT(4 * DX_TARGETS_FILE_MAX) };
    while (rc == DX_OK && text.size > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t n = end == NULL ? text.size : (size_t)(end - text.data);

        number++;
        if (n > 0 && (rc = add_line(t, dx_span_of(text.data, n), host, token, err)) < 0)
            rc = dx_fail_in(err, "%s:%zu", name, number);
        n += end != NULL;
        text = dx_span_from(text, n);
    }
    if (rc == DX_OK && t->requests.failed)
        rc = dx_buf_fail(&t->requests, err, name);
    if (rc == DX_OK && t->count == 0)
        rc = dx_fail(err, DX_E_INVALID, "%s: no targets", name);
    if (rc < 0)
        dx_targets_release(t);
    return rc;
}

int dx_targets_read(struct dx_targets *t, const char *path, const char *host, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_TARGETS_FILE_MAX);
    int rc = dx_file_read(path, DX_TARGETS_FILE_MAX, &text, err);

    if (rc == DX_OK)
        rc = dx_targets_parse(t, dx_span_of(text.data, text.size), path, host, NULL, err);
    else
        *t = (struct dx_targets){ .count = 0 };
    dx_buf_release(&text);
    return rc;
}

int dx_targets_write(const struct dx_targets *t, const char *path, struct dx_error *err)
{
    struct dx_buf out = DX_BUF_INIT(DX_TARGETS_FILE_MAX);
    int rc;

    for (size_t i = 0; i < t->count; i++) {
        const struct dx_target *one = &t->target[i];
        const uint8_t *target = dx_targets_request(t, i).data + sizeof(METHOD) - 1;
        const uint8_t *end = memchr(target, ' ', one->size);
        char hash[DX_HASH128_TEXT] = "-";

        dx_buf_append(&out, target, (size_t)(end - target));
        dx_buf_fmt(&out, "\t%.17g", t->weight[i]);
        if (one->hash_known)
            dx_hash128_text(&one->hash, hash);
        if (one->status == 0)
            dx_buf_str(&out, "\t-");
        else
            dx_buf_fmt(&out, "\t%u", one->status);
        if (one->body_size == DX_TARGET_SIZE_UNKNOWN)
            dx_buf_fmt(&out, "\t-\t%s\n", hash);
        else
            dx_buf_fmt(&out, "\t%llu\t%s\n", (unsigned long long)one->body_size, hash);
    }
    rc = out.failed ? dx_buf_fail(&out, err, path)
                    : dx_file_replace(path, dx_span_of(out.data, out.size), err);
    dx_buf_release(&out);
    return rc;
}

void dx_targets_release(struct dx_targets *t)
{
    free(t->target);
    free(t->weight);
    dx_buf_release(&t->requests);
    *t = (struct dx_targets){ .count = 0 };
}
