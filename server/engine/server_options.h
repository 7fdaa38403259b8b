/* SPDX-License-Identifier: Apache-2.0
 * server_options.h - what a server is started with, and what it counts. Data alone; server.h uses it.
 */
#ifndef DX_SERVER_ENGINE_SERVER_OPTIONS_H
#define DX_SERVER_ENGINE_SERVER_OPTIONS_H

#include "server/policy/admission.h"
#include "server/policy/identity.h"

struct dx_access;
struct dx_jws_key;
struct dx_tls;

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
    const char *admin;    /* as `listen`, or unix:PATH; NULL: no listener for those who run it */
    int admin_fd;         /* as listen_fd, in place of `admin` */
    unsigned socket_mode; /* of the file of either, where it is unix:PATH */
    const char *log_requests; /* "stderr" or a file; NULL: none */
    bool log_targets;         /* what was asked is in it too */
    enum dx_compress { DX_COMPRESS_AUTO, DX_COMPRESS_YES, DX_COMPRESS_NO } compress;
    const char *origin; /* whose scripts may read replies, or "*"; NULL: no others */
    const char *
        public_url; /* where clients find it, for addresses in answers; NULL: http:// and their Host */
    unsigned
        version_max_age_s; /* caches may keep what a request with a version got; 0: they ask again */
    bool web;              /* the page of server/http/web_file.h at / */
    bool server_timing;    /* say in replies what the stages took */
    unsigned queue_timeout_ms; /* of that, until a worker begins with it; 0: no limit of its own */
    unsigned storage_timeout_ms; /* and of each batch of reads; 0: the same */
    unsigned job_timeout_ms;     /* until a worker's answer */
    unsigned write_timeout_ms;   /* until the client has taken the reply */
    size_t reply_memory;         /* bytes of replies that may wait for slow clients, all together */
    size_t hot_memory;           /* bytes of replies that are kept to be sent again; 0: none */
    uint64_t answer_cache;       /* bytes of answers that are kept; 0: none */
    struct dx_admission_options admission;
    struct dx_access *access; /* the access table; must outlive the server. NULL: everybody all */
    struct dx_identity_rules identity;
    bool proxy_protocol; /* connections of identity.proxies begin with server/http/proxy_header.h */
    struct dx_tls *tls;  /* of `listen`; must outlive the server. NULL: plain HTTP */
    const struct dx_jws_key *receipt_key; /* private; must outlive the server. NULL: no receipts */
};

enum dx_handshake_end {
    DX_HANDSHAKE_FULL,
    DX_HANDSHAKE_RESUMED,
    DX_HANDSHAKE_FAILED,
    DX_HANDSHAKES
};

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
    uint64_t handshakes[DX_HANDSHAKES]; /* of TLS */
    uint64_t hot_hits;                  /* replies that were kept, and sent once more */
    uint64_t hot_bytes;                 /* of those that are kept now */
    uint64_t accept_pauses; /* the listener rested: descriptors or connections ran out */
};

#endif
