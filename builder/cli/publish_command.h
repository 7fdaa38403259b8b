/* SPDX-License-Identifier: Apache-2.0
 * publish_command.h - what `publish` and `compact` have alike: options, the progress line, the end.
 *
 *   [OPT_MEMORY] = DX_PUBLISH_OPTION_MEMORY(AT(memory)), ...     rows of the command's table
 *   rc = dx_options_store(options, &o, &err);
 *   rc = dx_publish_command_take(options, &o, &err);             threads, now_us; DX_E_INVALID
 *
 *   struct dx_publish_screen screen = { .scanning = "scanning", .totals = true };
 *   o.progress = &screen.counters;
 *   dx_publish_screen_open(&screen);
 *   ... dx_publish(&o, ...) ...
 *   dx_publish_screen_close(&screen);
 *   status = dx_publish_command_end("publish", result.version, complete);    the exit status
 */
#ifndef DX_BUILDER_CLI_PUBLISH_COMMAND_H
#define DX_BUILDER_CLI_PUBLISH_COMMAND_H

#include "base/command/options.h"
#include "builder/publish/publish.h"
#include "builder/root/progress.h"

struct dx_periodic;

/* place: of the member root, memory, threads, work_dir. */
#define DX_PUBLISH_OPTION_ROOT(place)                                               \
    {                                                                               \
        "root", "ROOT", NULL,                                                       \
            "where the lake and the index live: a directory or s3://bucket/prefix", \
            DX_OPT_ONE_TEXT, place                                                  \
    }
#define DX_PUBLISH_OPTION_MEMORY(place)                                         \
    {                                                                           \
        "memory", "SIZE", "1G", "memory budget; K, M, G, T are powers of 1024", \
            DX_OPT_SIZE(DX_PUBLISH_MEMORY_MIN, UINT64_C(1) << 46), place        \
    }
#define DX_PUBLISH_OPTION_THREADS(place)                        \
    {                                                           \
        "threads", "N", "0", "threads; 0 is one for each core", \
            DX_OPT_NUMBER(0, DX_PUBLISH_THREADS_MAX), place     \
    }
#define DX_PUBLISH_OPTION_WORK_DIR(place)                                                       \
    {                                                                                           \
        "work-dir", "DIR", NULL, "for s3://: where temporary files go; else TMPDIR, else /tmp", \
            DX_OPT_TEXT, place                                                                  \
    }
#define DX_PUBLISH_OPTION_CACHE_DIR(place)                                                        \
    {                                                                                             \
        "cache-dir", "DIR", NULL,                                                                 \
            "for s3://: where copies of index files stay, so that the next publish fetches what " \
            "is new; else $CACHE_DIRECTORY, $XDG_CACHE_HOME/domaindex, or ~/.cache/domaindex",    \
            DX_OPT_TEXT, place                                                                    \
    }
#define DX_PUBLISH_THREADS_MAX 64

/* What the table alone does not say, when its values are stored. */
int dx_publish_command_take(const struct dx_options *options, struct dx_publish_options *o,
                            struct dx_error *err);

struct dx_publish_screen {
    const char *scanning; /* what the second phase is called */
    bool totals;          /* the counters say of how many bytes a phase is */
    struct dx_publish_progress counters;
    struct dx_progress progress;
    struct dx_periodic *ticker;
    int phase; /* that is shown */
};

void dx_publish_screen_open(struct dx_publish_screen *s);
void dx_publish_screen_close(struct dx_publish_screen *s);

/* Prints the version's name, alone on a line. complete: nothing was left out. */
int dx_publish_command_end(const char *command, const char *version, bool complete);

#endif
