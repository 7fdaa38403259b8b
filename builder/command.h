/* SPDX-License-Identifier: Apache-2.0
 * command.h - what a subcommand of `domaindex` is.
 *
 * Each builder/cmd_<name>.c defines one `const struct dx_command dx_command_<name>`;
 * builder/domaindex.c lists them. `run` gets parsed options and returns the exit
 * code: 0 done, 1 refused or bad data (said on stderr), 3 verify found damage.
 * Usage errors are found before `run` where the table can tell, else `run`
 * returns DX_EXIT_USAGE with words on stderr.
 */
#ifndef DX_BUILDER_COMMAND_H
#define DX_BUILDER_COMMAND_H

#include "base/options.h"

/* Of this machine, for --threads: 1..most. */
unsigned dx_command_cores(unsigned most);

enum { DX_EXIT_DONE = 0, DX_EXIT_REFUSED = 1, DX_EXIT_USAGE = 2, DX_EXIT_DAMAGED = 3 };

struct dx_command {
    const char *name;
    const char *synopsis;    /* after the name: "--root ROOT INPUT..." */
    const char *summary;     /* one line */
    const char *description; /* paragraphs for --help and the manual */
    const char *example;     /* a command line that works */
    const struct dx_option *options;
    size_t option_count;
    int (*run)(const struct dx_options *options);
};

extern const struct dx_command dx_command_ingest;
extern const struct dx_command dx_command_publish;
extern const struct dx_command dx_command_verify;
extern const struct dx_command dx_command_inspect;
extern const struct dx_command dx_command_normalize;
extern const struct dx_command dx_command_lookup;
extern const struct dx_command dx_command_top_domains;
extern const struct dx_command dx_command_versions;
extern const struct dx_command dx_command_diff;
extern const struct dx_command dx_command_suppress;
extern const struct dx_command dx_command_access;
extern const struct dx_command dx_command_rollback;
extern const struct dx_command dx_command_gc;
extern const struct dx_command dx_command_remove;
extern const struct dx_command dx_command_compact;
extern const struct dx_command dx_command_overlap;
extern const struct dx_command dx_command_ship;
extern const struct dx_command dx_command_key;
extern const struct dx_command dx_command_export;
extern const struct dx_command dx_command_domain64;

#endif
