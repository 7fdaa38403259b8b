/* SPDX-License-Identifier: Apache-2.0
 * settings.h - the settings of domaindexd, from its command line and its file.
 *
 *   struct dx_settings s;
 *   rc = dx_settings_parse(&s, argc, argv, &err);    file first, the command line wins
 *   dx_settings_release(&s);                         texts are borrowed from it and argv
 *
 * One table (dx_settings_table) is the command line, the keys of the file, --help and the
 * manual. Every value has bounds; what is out of them is refused with the option's name,
 * and, from a file, its path and line. One thread.
 */
#ifndef DX_SERVER_PROCESS_SETTINGS_H
#define DX_SERVER_PROCESS_SETTINGS_H

#include "base/command/shell_completion.h"
#include "config/config_file.h"
#include "fetch/source.h"
#include "server/engine/server.h"
#include "server/tls/tls_context.h"

enum dx_lease_mode { DX_LEASE_AUTO, DX_LEASE_YES, DX_LEASE_NO };
enum dx_sandbox_mode { DX_SANDBOX_AUTO, DX_SANDBOX_YES, DX_SANDBOX_NO };

struct dx_settings {
    bool help;
    bool show_version;
    bool man;
    enum dx_shell completion; /* print the script of this shell */
    const char *root;         /* NULL only with help, show_version or man */
    struct dx_server_options server;
    uint64_t cache_bytes_idx;
    uint64_t cache_bytes_payload;
    uint64_t cache_bytes_pages;
    const char *cursor_key_file;  /* NULL: of the build id */
    const char *receipt_key_file; /* NULL: no receipts */
    struct dx_tls_files tls;      /* of `listen`; certificate NULL: plain HTTP */
    bool verify;
    bool warm;
    unsigned resident_versions;
    uint64_t resident_bytes; /* 0: no cap */
    unsigned cursor_life_s;
    enum dx_lease_mode lease;
    unsigned lease_ttl_s;
    const char *server_name; /* NULL: the machine's */
    bool access_required;    /* no start without an access table */
    const char *access_file; /* that table; NULL: the root's */
    const char *cache_dir;   /* of remote roots; NULL: loader/mirror.h says */
    bool mirror_postings;
    const char *foreign; /* folder that rows of foreign files are read below; NULL: none are */
    struct dx_source_options source;
    unsigned poll_ms;        /* between two looks for a newer version; 0: none */
    unsigned drain_delay_ms; /* /readyz says 503 so long before accepting ends */
    unsigned grace_ms;       /* for requests in flight at the end */
    enum dx_sandbox_mode sandbox;
    bool selftest_sandbox;   /* try what it forbids, and serve nothing */
    bool check;              /* only look at the settings */
    bool print_config;       /* only print them */
    const char *config_path; /* NULL: no file */

    int argc; /* as they were given: a later look at the file begins with them again */
    char **argv;
    struct dx_options options; /* keep the texts */
    struct dx_config_file file;
};

extern const struct dx_option dx_settings_table[];
extern const size_t dx_settings_table_size;

int dx_settings_parse(struct dx_settings *s, int argc, char **argv, struct dx_error *err);
void dx_settings_release(struct dx_settings *s);

/* The longest that a request needs its version: its head, and the answer. */
uint64_t dx_settings_request_ms(const struct dx_settings *s);

#endif
