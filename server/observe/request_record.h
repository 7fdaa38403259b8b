/* SPDX-License-Identifier: Apache-2.0
 * request_record.h - what is remembered of one request until its reply is out, for log and metrics.
 *
 * A connection fills it as the request goes along; when the last byte of the reply has gone, or the
 * connection ends before, it gives it once to the log and the counts (server/observe/request_log.h,
 * request_counts.h). It holds ids, counts and times: of what a client sent only `target`, which is
 * used only if --log-targets is set.
 */
#ifndef DX_SERVER_OBSERVE_REQUEST_RECORD_H
#define DX_SERVER_OBSERVE_REQUEST_RECORD_H

#include "base/bytes.h"
#include "format/version/manifest.h"
#include "server/http/request_head.h"
#include "server/http/trace_id.h"
#include "server/policy/identity.h"
#include "server/routes/target.h"

enum dx_stage {
    DX_STAGE_HEAD,    /* first byte to last byte of the head */
    DX_STAGE_QUEUE,   /* until a worker had time */
    DX_STAGE_ANSWER,  /* computing */
    DX_STAGE_STORAGE, /* waiting for blocks: of a disk, of a store, of another request */
    DX_STAGE_SEND,    /* until the client had taken the reply */
    DX_STAGE_COUNT
};

enum dx_answer_from {               /* where the bytes came from */
                      DX_FROM_LOOP, /* computed on the loop */
                      DX_FROM_WORKER,
                      DX_FROM_REPLY_CACHE, /* a whole reply that was kept */
                      DX_FROM_BODY_CACHE,  /* a body that was kept */
                      DX_FROM_NONE         /* a refusal */
};

struct dx_request_record {
    uint64_t number;  /* of the process; shown in problems of failures and in the log */
    int64_t began_us; /* since 1970 */
    int64_t first_us; /* monotonic: the first byte of its head; stages are measured from here */
    int64_t stage_us[DX_STAGE_COUNT];
    enum dx_route_id route; /* DX_ROUTE_COUNT: unknown */
    enum dx_method method;
    enum dx_answer_from from;
    int status;                   /* 0: ended before a reply */
    const char *refusal;          /* static: slug of a problem; NULL: none */
    enum dx_identity_fault fault; /* why there is no principal */
    /* the client's trace id (server/http/trace_id.h); "": it sent none */
    char trace[DX_TRACE_TEXT];
    uint64_t sent_bytes;
    uint64_t body_bytes; /* received, of a POST */
    char version[DX_VERSION_NAME];
    char principal[32]; /* beginning of its name in the table; "": there is no table */
    struct dx_answer_summary summary;
    uint32_t dataset_id; /* of the question; 0: none */
    uint64_t names;      /* that the answer has */
    uint32_t storage_requests, storage_retries;
    uint64_t storage_bytes;
    uint32_t disk_reads;
    uint64_t disk_bytes;
    struct dx_span target; /* valid while the record is given away only; size 0: not kept */
};

#endif
