/* SPDX-License-Identifier: Apache-2.0
 * domaindex.c - the program that builds and inspects; never serves. What people start is
 * domaindex_front.c, which starts this one for all that it does not do itself.
 *
 *   domaindex COMMAND [options]     domaindex help [--man] [COMMAND]     domaindex --version
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/command/near_name.h"
#include "base/command/password_argument.h"
#include "base/command/process.h"
#include "base/crypto/secret.h"
#include "base/log.h"
#include "builder/cli/commands.h"
#include "fetch/environment.h"
#include "fetch/fetch_limits.h"
#include "loader/build_info.h"
#include "loader/guard/bus_fault.h"

#define HELP_MAX (256 * 1024)
#define WIDTH 78

static const struct dx_command *find(const char *name)
{
    for (size_t i = 0; i < dx_command_count; i++)
        if (strcmp(dx_commands[i]->name, name) == 0)
            return dx_commands[i];
    return NULL;
}

/* The command that an unknown word resembles. */
static int unknown_command(const char *word)
{
    struct dx_near_name near = DX_NEAR_NAME_INIT(word, strlen(word));

    for (size_t i = 0; i < dx_command_count; i++)
        dx_near_name_try(&near, dx_commands[i]->name);
    if (word[0] == '-')
        (void)dx_line_print(
            stderr,
            "domaindex: '%s' stands where the command is expected; options follow the command: "
            "domaindex COMMAND %s ...",
            word, word);
    else if (near.best != NULL)
        (void)dx_line_print(stderr, "domaindex: unknown command '%s'; did you mean '%s'?", word,
                            near.best);
    else
        (void)dx_line_print(stderr, "domaindex: unknown command '%s'", word);
    (void)dx_line_print(stderr, "Try 'domaindex help'.");
    return DX_EXIT_USAGE;
}

/* Prints all of it, or says that it could not: help in a full pipe is a failure. */
static int print(const struct dx_buf *text)
{
    if (text->failed || fwrite(text->data, 1, text->size, stdout) != text->size ||
        fflush(stdout) != 0) {
        (void)dx_line_print(stderr, "domaindex: cannot write to standard output: %s",
                            strerror(errno));
        return DX_EXIT_REFUSED;
    }
    return DX_EXIT_DONE;
}

static void overview(struct dx_buf *out)
{
    dx_buf_str(out, "usage: domaindex COMMAND [options]\n"
                    "       domaindex help [--man] [COMMAND]\n"
                    "       domaindex --version\n\n"
                    "Which datasets contain this site, and which of its pages?\n\ncommands:\n");
    for (size_t i = 0; i < dx_command_count; i++)
        dx_buf_fmt(out, "  %-12s %s\n", dx_commands[i]->name, dx_commands[i]->summary);
    dx_buf_str(out, "\n'domaindex help COMMAND' tells more.\n"
                    "exit: 0 done, 1 refused or bad data, 2 usage, 3 verify found damage\n");
}

/* Paragraphs, folded at words. */
static void wrap_text(struct dx_buf *out, const char *text)
{
    size_t column = 0;

    while (*text != '\0') {
        size_t word = strcspn(text, " \n");

        if (column > 0 && column + 1 + word > WIDTH) {
            dx_buf_u8(out, '\n');
            column = 0;
        }
        if (column > 0 && word > 0)
            dx_buf_u8(out, ' ');
        dx_buf_append(out, text, word);
        column += word + (column > 0);
        text += word;
        if (*text == '\n') {
            dx_buf_u8(out, '\n');
            column = 0;
        }
        if (*text != '\0')
            text++;
    }
    dx_buf_u8(out, '\n');
}

static void help_text(const struct dx_command *c, struct dx_buf *out)
{
    dx_buf_fmt(out, "usage: domaindex %s %s\n\n", c->name, c->synopsis);
    wrap_text(out, c->description);
    dx_buf_str(out, "\noptions:\n");
    dx_options_help(c->options, c->option_count, out);
    dx_options_help(dx_command_general, dx_command_general_count, out);
    dx_buf_fmt(out, "\nexample:\n  %s\n", c->example);
}

/* Text for mdoc: backslashes and leading dots have a meaning there. */
static void mdoc_text(struct dx_buf *out, const char *text)
{
    bool line_start = true;
    bool after_stop = false;

    for (; *text != '\0'; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            dx_buf_str(out, "\\&");
        if (*text == '\\')
            dx_buf_str(out, "\\e");
        else if (*text == '\n' && text[1] == '\n') {
            dx_buf_str(out, "\n.Pp\n");
            text++;
        } else if (*text == ' ' && after_stop && isupper((unsigned char)text[1])) {
            dx_buf_u8(out, '\n'); /* mdoc wants a new line for a new sentence */
        } else
            dx_buf_u8(out, (uint8_t)*text);
        line_start = *text == '\n';
        after_stop = *text == '.';
    }
    dx_buf_u8(out, '\n');
}

static void exit_status(struct dx_buf *out)
{
    dx_buf_str(out, ".Sh EXIT STATUS\n"
                    "0 done; 1 refused or bad data, with a message on standard error; 2 usage; 3 "
                    "verify found damage.\n");
}

static void write_manual(const struct dx_command *c, struct dx_buf *out)
{
    dx_buf_fmt(out, ".Dd $Mdocdate$\n.Dt DOMAINDEX-%s 1\n.Os\n.Sh NAME\n.Nm domaindex-%s\n.Nd ",
               c->name, c->name);
    mdoc_text(out, c->summary);
    dx_buf_fmt(out, ".Sh SYNOPSIS\n.Nm domaindex %s\n", c->name);
    mdoc_text(out, c->synopsis);
    dx_buf_str(out, ".Sh DESCRIPTION\n");
    mdoc_text(out, c->description);
    dx_buf_str(out, ".Pp\nThe options are:\n");
    if (c->option_count > 0)
        dx_options_mdoc(c->options, c->option_count, out);
    dx_options_mdoc(dx_command_general, dx_command_general_count, out);
    exit_status(out);
    dx_buf_str(out, ".Sh EXAMPLES\n.Bd -literal\n");
    mdoc_text(out, c->example);
    dx_buf_str(out, ".Ed\n.Sh SEE ALSO\n.Xr domaindex 1 ,\n.Xr domaindexd 1\n");
}

static void manual_overview(struct dx_buf *out)
{
    dx_buf_str(out, ".Dd $Mdocdate$\n.Dt DOMAINDEX 1\n.Os\n.Sh NAME\n.Nm domaindex\n"
                    ".Nd which datasets contain this site, and which of its pages\n"
                    ".Sh SYNOPSIS\n.Nm domaindex\n.Ar COMMAND\n.Op options\n"
                    ".Sh DESCRIPTION\nThe commands are:\n.Bl -tag -width normalize\n");
    for (size_t i = 0; i < dx_command_count; i++)
        dx_buf_fmt(out, ".It Cm %s\n%s.\nSee\n.Xr domaindex-%s 1 .\n", dx_commands[i]->name,
                   dx_commands[i]->summary, dx_commands[i]->name);
    dx_buf_str(out, ".El\n");
    dx_environment_mdoc(out);
    dx_environment_queues_mdoc(out);
    exit_status(out);
    dx_buf_str(out, ".Sh SEE ALSO\n.Xr domaindexd 1\n");
}

static int print_help(int argc, char **argv)
{
    struct dx_buf out = DX_BUF_INIT(HELP_MAX);
    const struct dx_command *c = NULL;
    bool man = false;
    int rc;

    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--man") == 0) {
            man = true;
        } else if (c != NULL || (c = find(argv[i])) == NULL) {
            return unknown_command(argv[i]);
        }
    }
    if (c == NULL && man)
        manual_overview(&out);
    else if (c == NULL)
        overview(&out);
    else if (man)
        write_manual(c, &out);
    else
        help_text(c, &out);
    rc = print(&out);
    dx_buf_release(&out);
    return rc;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* Takes --verbose out of the arguments. */
static int take_verbose(int argc, char **argv)
{
    int kept = 1;
    bool only_operands = false;

    for (int i = 1; i < argc; i++) {
        only_operands = only_operands || strcmp(argv[i], "--") == 0;
        if (!only_operands && strcmp(argv[i], "--verbose") == 0)
            dx_trace_to(stderr);
        else
            argv[kept++] = argv[i];
    }
    argv[kept] = NULL;
    return kept;
}

static int run_command(const struct dx_command *c, int argc, char **argv)
{
    struct dx_options options;
    struct dx_error err = DX_ERROR_INIT;
    int code;

    if (asks_for_help(argc, argv)) {
        char *asked[] = { "domaindex", "help", argv[0] };

        return print_help(3, asked);
    }
    argc = take_verbose(argc, argv);
    code = dx_options_parse(&options, c->options, c->option_count, argc, argv, &err);
    if (code < 0)
        return dx_command_fail(c->name, DX_EXIT_USAGE, &err);
    code = dx_command_run(c, &options);
    dx_options_release(&options);
    return code;
}

static int version(void)
{
    struct dx_buf out = DX_BUF_INIT(HELP_MAX);
    int rc;

    dx_build_info(&out, "domaindex");
    rc = print(&out);
    dx_buf_release(&out);
    return rc;
}

/* A command may wait for a store for minutes: what it waits for, and until when. From any thread. */
static void tell_silence(void *ctx, const struct dx_retry_silence *s)
{
    time_t until = time(NULL) + (time_t)((s->left_ms + 999) / 1000);
    struct tm at;

    (void)ctx;
    if (s->what == NULL)
        (void)dx_line_print(stderr, "domaindex: the store answers again");
    else if (gmtime_r(&until, &at) != NULL)
        (void)dx_line_print(stderr,
                            "domaindex: the store does not answer: %s; trying until "
                            "%02d:%02d:%02d UTC, for up to %llu s",
                            s->what, at.tm_hour, at.tm_min, at.tm_sec,
                            (unsigned long long)(s->left_ms + 999) / 1000);
}

int main(int argc, char **argv)
{
    const struct dx_command *c;

    dx_process_begin();
    dx_secret_begin();
    if (dx_password_arguments_hide(argc, argv))
        dx_secret_held();
    /* Without it a lake file with a page that is lost ends the process. */
    (void)dx_bus_install(-1, NULL);
    dx_retry_watch_set(&dx_fetch_limits_shared()->watch, tell_silence, NULL);
    if (argc < 2) {
        struct dx_buf out = DX_BUF_INIT(HELP_MAX);

        overview(&out);
        if (!out.failed)
            (void)fwrite(out.data, 1, out.size, stderr);
        dx_buf_release(&out);
        return DX_EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0)
        return print_help(argc, argv);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 ||
        strcmp(argv[1], "version") == 0)
        return version();
    c = find(argv[1]);
    return c == NULL ? unknown_command(argv[1]) : run_command(c, argc - 1, argv + 1);
}
