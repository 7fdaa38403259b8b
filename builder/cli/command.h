/* SPDX-License-Identifier: Apache-2.0
 * command.h - what a subcommand of `domaindex` is.
 *
 * Each builder/cli/cmd_<name>.c defines one `const struct dx_command dx_command_<name>`;
 * builder/cli/commands.c lists them. `run` gets parsed options and returns the exit
 * code: 0 done, 1 refused or bad data (said on stderr), 3 verify found damage.
 * Usage errors are found before `run` where the table can tell, else `run`
 * returns DX_EXIT_USAGE with a message on stderr.
 */
#ifndef DX_BUILDER_CLI_COMMAND_H
#define DX_BUILDER_CLI_COMMAND_H

#include "base/command/options.h"
#include "base/command/shell_completion.h"
#include "base/json_out.h"

/* Rows of a table that several commands have; place: of the member. Waiting is in milliseconds
 * there. */
#define DX_OPTION_DRY_RUN(place, help_)                    \
    {                                                      \
        "dry-run", NULL, NULL, (help_), DX_OPT_FLAG, place \
    }
#define DX_OPTION_WAIT_KIND DX_OPT_NUMBER(0, 1000000000), .scale = 1000
#define DX_OPTION_WAIT(place)                                                            \
    {                                                                                    \
        "wait", "SECONDS", "0",                                                          \
            "in a directory: wait so long for another command that writes there to end", \
            DX_OPTION_WAIT_KIND, place                                                   \
    }

/* JSON, for programs; what people read goes to standard error then, as far as it is more than the result. */
#define DX_OPTION_JSON                                                          \
    {                                                                           \
        "json", NULL, NULL, "print the result as one line of JSON", DX_OPT_FLAG \
    }

/* Of a command that prints JSON anyway, so that a script may give it to all. */
#define DX_OPTION_JSON_ANYWAY                                                             \
    {                                                                                     \
        "json", NULL, NULL, "changes nothing: the result is JSON without it", DX_OPT_FLAG \
    }

/* The summary is what goes to standard error where all is well. */
#define DX_OPTION_QUIET                                                 \
    {                                                                   \
        "quiet", NULL, NULL, "no summary, and no progress", DX_OPT_FLAG \
    }

#define DX_OPTION_CACHE_DIR                                                             \
    {                                                                                   \
        "cache-dir", "DIR", NULL,                                                       \
            "where copies of a remote root's index are kept; else CACHE_DIRECTORY, or " \
            "domaindex in XDG_CACHE_HOME or in ~/.cache",                               \
            DX_OPT_TEXT                                                                 \
    }

/* "domaindex NAME: ERROR" on standard error, of a usage error also where help is; returns code. With --json all others
 * are an object with the member `error` on standard output, too, unless the command has printed its result. Memory that
 * lacks while options are read is not a usage error: DX_EXIT_REFUSED. */
int dx_command_fail(const char *name, int code, const struct dx_error *err);
/* The result that was printed has the error: dx_command_fail prints no other object. */
void dx_command_json_printed(void);

/* The text on standard output, all of it, and releases it. */
int dx_command_write(struct dx_buf *text, struct dx_error *err);
/* The same at a command's end: `code`, or DX_EXIT_REFUSED with a message. */
int dx_command_print(const char *name, int code, struct dx_buf *text);

/* One JSON object on one line: open, the members by dx_json_key and the like, then end, which ends
 * object and line, or print, which does dx_command_print too. */
void dx_command_json_open(struct dx_json *j, struct dx_buf *text);
void dx_command_json_end(struct dx_json *j, struct dx_buf *text);
int dx_command_json_print(const char *name, int code, struct dx_json *j, struct dx_buf *text);

/* Options of every command, beside those of its table: domaindex.c takes them. */
extern const struct dx_option dx_command_general[];
extern const size_t dx_command_general_count;

/* Of this machine, for --threads: 1..most. */
unsigned dx_command_cores(unsigned most);

enum { DX_EXIT_DONE = 0, DX_EXIT_REFUSED = 1, DX_EXIT_USAGE = 2, DX_EXIT_DAMAGED = 3 };

struct dx_command {
    const char *name;
    const char *synopsis;    /* after the name: "--root ROOT INPUT..." */
    const char *operands;    /* for completion: base/command/shell_completion.h */
    const char *summary;     /* one line */
    const char *description; /* paragraphs for --help and the manual */
    const char *example;     /* a command line that works */
    const struct dx_option *options;
    size_t option_count;
    int (*run)(const struct dx_options *options);
};

/* The command, and its output flushed: the exit code. */
int dx_command_run(const struct dx_command *c, const struct dx_options *o);

extern const struct dx_command dx_command_adopt;
extern const struct dx_command dx_command_commit_table;
extern const struct dx_command dx_command_ingest;
extern const struct dx_command dx_command_profiles;
extern const struct dx_command dx_command_publish;
extern const struct dx_command dx_command_verify;
extern const struct dx_command dx_command_inspect;
extern const struct dx_command dx_command_normalize;
extern const struct dx_command dx_command_lookup;
extern const struct dx_command dx_command_top_domains;
extern const struct dx_command dx_command_datasets;
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
extern const struct dx_command dx_command_backup;
extern const struct dx_command dx_command_files;
extern const struct dx_command dx_command_fetch_record;
extern const struct dx_command dx_command_capacity;
extern const struct dx_command dx_command_receipt;
extern const struct dx_command dx_command_doctor;
extern const struct dx_command dx_command_bench;
extern const struct dx_command dx_command_completion;

#endif
