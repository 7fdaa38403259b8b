/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/cli/command.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ERROR_MAX ((size_t)64 * 1024)

const struct dx_option dx_command_general[] = {
    { "verbose", NULL, NULL,
      "say on standard error which files are read and written, what a store is asked and how "
      "long that takes",
      DX_OPT_FLAG },
};
const size_t dx_command_general_count = sizeof dx_command_general / sizeof *dx_command_general;

/* Of the command that this process runs: whether an error is to be printed as JSON, too. */
static bool error_as_json;

static void print_error(const struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(ERROR_MAX);
    struct dx_json j;

    dx_command_json_open(&j, &text);
    dx_json_key(&j, "error");
    dx_json_str(&j, err->text);
    dx_command_json_end(&j, &text);
    (void)dx_command_write(&text, NULL); /* it stands on standard error */
}

int dx_command_fail(const char *name, int code, const struct dx_error *err)
{
    if (code == DX_EXIT_USAGE && err->code == DX_E_NOMEM)
        code = DX_EXIT_REFUSED; /* while options were read */
    (void)dx_line_print(stderr, "domaindex %s: %s", name, err->text);
    if (code == DX_EXIT_USAGE)
        (void)dx_line_print(stderr, "Try 'domaindex help %s'.", name);
    else if (error_as_json)
        print_error(err);
    return code;
}

void dx_command_json_printed(void)
{
    error_as_json = false;
}

int dx_command_write(struct dx_buf *text, struct dx_error *err)
{
    int rc = DX_OK;

    if (text->failed)
        rc = dx_buf_fail(text, err, "the result");
    else if ((text->size > 0 && fwrite(text->data, 1, text->size, stdout) != text->size) ||
             fflush(stdout) != 0)
        rc = dx_fail_errno(err, errno, "standard output");
    dx_buf_release(text);
    return rc;
}

int dx_command_print(const char *name, int code, struct dx_buf *text)
{
    struct dx_error err = DX_ERROR_INIT;

    dx_command_json_printed();
    return dx_command_write(text, &err) == DX_OK ? code
                                                 : dx_command_fail(name, DX_EXIT_REFUSED, &err);
}

void dx_command_json_open(struct dx_json *j, struct dx_buf *text)
{
    dx_json_open(j, text);
    dx_json_object(j);
}

void dx_command_json_end(struct dx_json *j, struct dx_buf *text)
{
    dx_json_end(j);
    dx_buf_u8(text, '\n');
}

int dx_command_json_print(const char *name, int code, struct dx_json *j, struct dx_buf *text)
{
    dx_command_json_end(j, text);
    return dx_command_print(name, code, text);
}

unsigned dx_command_cores(unsigned most)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 1 ? 1 : cores > (long)most ? most : (unsigned)cores;
}

/* Of commands that print without looking: what a full disk swallowed is not a success. */
static int flush_output(const struct dx_command *c)
{
    struct dx_error err = DX_ERROR_INIT;

    if (fflush(stdout) == 0 && !ferror(stdout))
        return DX_EXIT_DONE;
    (void)dx_fail(&err, DX_E_IO, "cannot write to standard output: %s", strerror(errno));
    return dx_command_fail(c->name, DX_EXIT_REFUSED, &err);
}

static bool asks_for_json(const struct dx_command *c, const struct dx_options *o)
{
    for (size_t i = 0; i < c->option_count; i++)
        if (strcmp(c->options[i].name, "json") == 0)
            return dx_options_has(o, i);
    return false;
}

int dx_command_run(const struct dx_command *c, const struct dx_options *o)
{
    int code;

    error_as_json = asks_for_json(c, o);
    code = c->run(o);
    return code == DX_EXIT_DONE ? flush_output(c) : code;
}
