/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/cli/detect_report.h"

#include "base/utf8.h"
#include "builder/input/records/rejects.h"
#include "builder/lake/dataset_registry.h"

#define COLUMNS_SHOWN 40

static void put_line(struct dx_buf *out, const char *label, const char *text)
{
    dx_buf_fmt(out, "  %-10s ", label);
    dx_rejects_text(out, dx_span_str(text));
    dx_buf_u8(out, '\n');
}

static void put_columns(struct dx_buf *out, const struct dx_detected *d)
{
    size_t shown = d->column_count < COLUMNS_SHOWN ? d->column_count : COLUMNS_SHOWN;

    dx_buf_fmt(out, "  %-10s %zu%s\n", "columns", d->column_count,
               d->header ? ", named by a header" : "");
    for (size_t i = 0; i < shown; i++) {
        const struct dx_detected_column *c = &d->column[i];

        dx_buf_fmt(out, "    %-15s ", c->type[0] == '\0' ? "null" : c->type);
        dx_rejects_text(out, dx_span_str(c->name));
        if (c->values > 0 && c->urls * 10 >= c->values * 9)
            dx_buf_str(out, "  (URLs)");
        else if (c->values > 0 && c->times * 10 >= c->values * 9)
            dx_buf_str(out, "  (times)");
        dx_buf_u8(out, '\n');
    }
    if (d->column_count > shown)
        dx_buf_fmt(out, "    and %zu more\n", d->column_count - shown);
}

void dx_detect_report(struct dx_buf *out, const struct dx_detected *d, const char *path,
                      const char *why)
{
    dx_rejects_text(out, dx_span_str(path));
    dx_buf_str(out, "\n");
    if (d->format != DX_RECORD_AUTO)
        dx_buf_fmt(out, "  %-10s %s%s%s\n", "format", dx_record_format_name(d->format),
                   d->container[0] == '\0' ? "" : ", ", d->container);
    if (d->column_count > 0)
        put_columns(out, d);
    if (why != NULL) {
        put_line(out, "not read", why);
        return;
    }
    put_line(out, "profile",
             d->profile == NULL ? "none: the columns are found by their names and values"
                                : d->profile->name);
    put_line(out, "url", d->url);
    put_line(out, "time", d->ts[0] == '\0' ? "none" : d->ts);
    put_line(out, "dataset", d->dataset[0] == '\0' ? "to be named: --dataset" : d->dataset);
    dx_buf_fmt(out, "  %-10s %zu\n", "first rows", d->row_count);
    for (size_t i = 0; i < d->row_count; i++)
        dx_buf_fmt(out, "    %s\n", d->row[i]);
}

static bool is_plain(const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";

    return text[0] != '\0' && text[strspn(text, plain)] == '\0';
}

static bool is_printable(const char *text)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t left = strlen(text);
    size_t n = 1;

    for (; left > 0 && n > 0; p += n, left -= n)
        n = dx_utf8_printable_size(p, left);
    return n > 0;
}

/* As a word of a shell; $'...' is of bash, zsh, ksh and POSIX of 2024. */
static void put_word(struct dx_buf *out, const char *text)
{
    bool escaped = !is_printable(text);

    dx_buf_u8(out, ' ');
    if (is_plain(text)) {
        dx_buf_str(out, text);
        return;
    }
    dx_buf_str(out, escaped ? "$'" : "'");
    for (; *text != '\0'; text++) {
        uint8_t c = (uint8_t)*text;

        if (escaped && (c < 0x20 || c >= 0x7f))
            dx_buf_fmt(out, "\\%03o", c);
        else if (escaped && (c == '\'' || c == '\\'))
            dx_buf_fmt(out, "\\%c", c);
        else if (c == '\'')
            dx_buf_str(out, "'\\''");
        else
            dx_buf_u8(out, c);
    }
    dx_buf_u8(out, '\'');
}

static void put_option(struct dx_buf *out, const char *option, const char *value)
{
    if (value == NULL)
        return;
    dx_buf_fmt(out, " --%s", option);
    put_word(out, value);
}

void dx_detect_command(struct dx_buf *out, const struct dx_detected *d, const char *path,
                       const char *root, const char *const *operand, size_t count)
{
    char dataset[DX_DATASET_TEMPLATE_MAX];
    bool may_be_options = false;

    dx_buf_str(out, "domaindex ingest");
    put_option(out, "root", root == NULL ? "ROOT" : root);
    if (d->profile != NULL)
        put_option(out, "profile", d->profile->name);
    if (d->dataset[0] == '\0' &&
        (strcmp(path, "-") == 0 ||
         dx_dataset_template_fill("{file}", path, dataset, sizeof dataset, NULL) < 0 ||
         !dx_dataset_registry_name_valid(dx_span_str(dataset))))
        (void)snprintf(dataset, sizeof dataset, "NAME");
    if (d->dataset[0] == '\0')
        put_option(out, "dataset", dataset);
    if (d->format_given)
        put_option(out, "format", dx_record_format_name(d->format));
    put_option(out, "url-column", d->url_given);
    put_option(out, "ts-column", d->ts_given);
    for (size_t i = 0; i < count; i++)
        may_be_options = may_be_options || (operand[i][0] == '-' && operand[i][1] != '\0');
    dx_buf_str(out, may_be_options ? " --" : "");
    for (size_t i = 0; i < count; i++)
        put_word(out, operand[i]);
    dx_buf_u8(out, '\n');
}
