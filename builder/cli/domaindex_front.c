/* SPDX-License-Identifier: Apache-2.0
 * domaindex_front.c - the program `domaindex`: answers what needs no network itself, and starts the program of all
 * commands (domaindex.c, libexec/domaindex/domaindex) for the rest.
 *
 * `lookup` of a directory and `normalize` may run once a name, in a shell's loop. libcurl, libpq and librabbitmq
 * load 27 libraries, which took longer than the answer; this program has none of them (no_remote.c). The other
 * program gets the same arguments and takes the place of this one: same process, descriptors and environment.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/command/process.h"
#include "base/crypto/secret.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/root/root.h"

/* Of a build tree, and of an installation's bin folder. */
static const char *const places[] = { "libexec/domaindex/domaindex",
                                      "../libexec/domaindex/domaindex" };

/* Returns only if it cannot be started. */
static int run_all_commands(char **argv)
{
    char path[PATH_MAX + 64] = "";
    ssize_t size = readlink("/proc/self/exe", path, PATH_MAX);
    char *name = size > 0 ? memrchr(path, '/', (size_t)size) : NULL;

    for (size_t i = 0; name != NULL && i < sizeof places / sizeof *places; i++) {
        (void)snprintf(name + 1, sizeof path - (size_t)(name + 1 - path), "%s", places[i]);
        (void)execv(path, argv);
        if (errno != ENOENT)
            break;
    }
    (void)dx_line_print(stderr,
                        "domaindex: cannot start %s, which has all commands: %s; install both "
                        "programs below one folder, as bin/domaindex and "
                        "libexec/domaindex/domaindex ('cmake --install' and the packages do)",
                        name == NULL ? "/proc/self/exe" : path, strerror(errno));
    return DX_EXIT_REFUSED;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static const struct dx_command *find(const char *name)
{
    static const struct dx_command *const commands[] = { &dx_command_lookup,
                                                         &dx_command_normalize };

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static bool is_local(const struct dx_command *c, const struct dx_options *o)
{
    for (size_t i = 0; i < c->option_count; i++)
        if (strcmp(c->options[i].name, "root") == 0) {
            const char *root = dx_options_text(o, i);

            return root != NULL && dx_root_in_place(root);
        }
    return true;
}

/* *code is set only if true: what is wrong with the arguments is for the other program to say. */
static bool run_here(const struct dx_command *c, int argc, char **argv, int *code)
{
    struct dx_options options;
    bool here;

    if (asks_for_help(argc, argv) ||
        dx_options_parse(&options, c->options, c->option_count, argc, argv, NULL) < 0)
        return false;
    here = is_local(c, &options);
    if (here)
        *code = dx_command_run(c, &options);
    dx_options_release(&options);
    return here;
}

int main(int argc, char **argv)
{
    const struct dx_command *c = argc < 2 ? NULL : find(argv[1]);
    int code;

    dx_process_begin();
    dx_secret_begin();
    if (c != NULL && run_here(c, argc - 1, argv + 1, &code))
        return code;
    return run_all_commands(argv);
}
