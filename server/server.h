/* SPDX-License-Identifier: Apache-2.0
 * server.h - the HTTP server: sockets, event loops and workers around a table of answers.
 *
 *   struct dx_server_options options = dx_server_options_default();
 *   rc = dx_server_start(&s, &options, &answers, &err);     listens and serves when it returns
 *   dx_server_address(s)                                    "127.0.0.1:8080", the real port
 *   dx_server_admin_address(s)                              the same of the other listener; NULL: none
 *   dx_server_version_changed(s);                           after a reload
 *   ok = dx_server_lives(s, within_ms, &why);               for a watchdog
 *   dx_server_drain(s);                                     /readyz says 503, all else goes on
 *   clean = dx_server_stop(&s, grace_ms);                   no accepts, in-flight finish, threads end
 *
 * One event loop a thread. One thread accepts, for itself and, in turn, for the others: a
 * listener for each loop (SO_REUSEPORT) spreads connections by chance, lets a second server
 * share the port by mistake, and resets what waits in a listener that closes.
 *
 * `answers` must outlive the server. Signals: block those you handle before start; the
 * server's threads inherit the mask. All functions here are for one thread, the owner.
 */
#ifndef DX_SERVER_SERVER_H
#define DX_SERVER_SERVER_H

#include "base/error.h"
#include "server/admission.h"
#include "server/answers.h"
#include "server/identity.h"

struct dx_access;
struct dx_server;

#define DX_SERVER_LOOPS_MAX 256

struct dx_server_options {
    const char *listen; /* HOST:PORT, [V6]:PORT; port 0: any free one */
    int listen_fd;      /* listens already, in place of `listen`, and is the server's from start on;
                                  -1: none */
    unsigned loops;     /* threads with an event loop */
    unsigned workers;   /* threads that read the lake */
    unsigned queue_max; /* listings that may wait for a worker or a store */
    size_t read_memory; /* stored bytes that listings under way may hold, all together */
    unsigned connections_max; /* lowered to what the limit of descriptors allows */
    unsigned head_timeout_ms; /* from open, or from the first byte of a later head, to its end */
    unsigned idle_timeout_ms; /* between a reply and the next head */
    const char *admin; /* as `listen`, or unix:PATH; NULL: no listener for those who run it */
    int admin_fd;      /* as listen_fd, in place of `admin` */
    const char *log_requests;  /* "stderr" or a file; NULL: none */
    bool log_targets;          /* what was asked is in it too */
    bool server_timing;        /* say in replies what the stages took */
    unsigned queue_timeout_ms; /* of that, until a worker begins with it; 0: no limit of its own */
    unsigned storage_timeout_ms; /* and of each wave of reads; 0: the same */
    unsigned job_timeout_ms;     /* until a worker's answer */
    unsigned write_timeout_ms;   /* until the client has taken the reply */
    size_t reply_memory;         /* bytes of replies that may wait for slow clients, all together */
    size_t hot_memory;           /* bytes of replies that are kept to be sent again; 0: none */
    uint64_t answer_cache;       /* bytes of answers that are kept; 0: none */
    struct dx_admission_options admission;
    struct dx_access *access; /* who may see what; must outlive the server. NULL: everybody all */
    struct dx_identity_rules identity;
};

struct dx_server_options dx_server_options_default(void);

/* Sums over all loops since start; a snapshot, exact once nothing moves. */
struct dx_server_counts {
    uint64_t accepted;   /* connections */
    uint64_t open;       /* connections now */
    uint64_t requests;   /* heads answered */
    uint64_t begun;      /* heads of which a byte came */
    uint64_t ended;      /* of them: the reply is out, or the connection has ended */
    uint64_t rejected;   /* heads refused by the parser */
    uint64_t timeouts;   /* connections ended by a deadline other than idle */
    uint64_t shed;       /* idle connections closed for new ones */
    uint64_t overloaded; /* refused because the workers' queue was full */
    uint64_t expired;    /* refused because they waited too long in it */
    struct dx_admission_counts admission;
    uint64_t hot_hits;      /* replies that were kept, and sent once more */
    uint64_t hot_bytes;     /* of those that are kept now */
    uint64_t accept_pauses; /* the listener rested: descriptors or connections ran out */
};

int dx_server_start(struct dx_server **server, const struct dx_server_options *options,
                    const struct dx_answers *answers, struct dx_error *err);
const char *dx_server_address(const struct dx_server *s);
const char *dx_server_admin_address(const struct dx_server *s); /* NULL: there is none */
void dx_server_reopen_log(struct dx_server *s); /* of requests; its file was moved */
void dx_server_version_changed(struct dx_server *s);
void dx_server_drain(struct dx_server *s);

/* Whether each loop has turned within that time, and some worker is not at one and the same job for
 * longer than two jobs may take. What is slow or gone outside makes no difference: jobs that wait for a store
 * are with no worker, or with half of them at most. False: `why` has the words. */
bool dx_server_lives(const struct dx_server *s, unsigned within_ms, struct dx_error *why);

/* Takes up to grace_ms and a little. True: all freed. False: a worker still hangs in a read
 * of the lake; its thread and what it uses stay, and the caller should end the process. */
bool dx_server_stop(struct dx_server **server, unsigned grace_ms);

struct dx_server_counts dx_server_counts_of(const struct dx_server *s);

#endif
