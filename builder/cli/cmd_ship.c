/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/json_out.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/exchange/queue/amqp_url.h"
#include "builder/exchange/queue/ship.h"
#include "builder/lake/dataset_registry.h"
#include "builder/root/interrupt.h"
#include "builder/root/progress.h"
#include "format/exchange/segment_journal.h"

#define JSON_MAX ((size_t)1 << 20)

enum { OPT_TO, OPT_DATASET, OPT_MSS, OPT_WAIT, OPT_DRY_RUN, OPT_QUIET, OPT_JSON, OPT_COUNT };

#define AT(member) DX_OPT_PLACE(struct dx_ship_options, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_TO] = { "to", "URL", NULL, "amqp://host:port/vhost?queue=NAME, or amqps:// with TLS",
                 DX_OPT_ONE_TEXT },
    [OPT_DATASET] = { "dataset", "NAME", NULL, "dataset that the records belong to",
                      DX_OPT_ONE_TEXT, AT(dataset) },
    [OPT_MSS] = { "mss", "SIZE", "1M", "bytes of the file in a segment",
                  DX_OPT_SIZE(1, DX_SHIP_MSS_MAX), AT(mss) },
    [OPT_WAIT] = { "wait", "SECONDS", "60",
                   "how long to go on when the broker is away or confirms nothing",
                   DX_OPT_NUMBER(0, 1000000), AT(wait_ms), .scale = 1000 },
    [OPT_DRY_RUN] = DX_OPTION_DRY_RUN(
        AT(dry_run), "read FILE, ask the broker for the queue, say what would be sent; "
                     "nothing is made or sent"),
    [OPT_QUIET] = DX_OPTION_QUIET,
    [OPT_JSON] = DX_OPTION_JSON,
};

static void say(const char *text)
{
    (void)dx_line_print(stderr, "domaindex ship: %s; trying again", text);
}

static int read_options(const struct dx_options *options, struct dx_ship_options *o,
                        struct dx_amqp_url *url, struct dx_error *err)
{
    int rc = dx_options_store(options, o, err);

    if (rc < 0)
        return rc;
    if (dx_options_text(options, OPT_TO) == NULL)
        return dx_fail(err, DX_E_INVALID, "give --to URL");
    rc = dx_amqp_url_parse(url, dx_options_text(options, OPT_TO), err);
    if (rc < 0)
        return rc;
    if (o->dataset == NULL)
        return dx_fail(err, DX_E_INVALID, "give --dataset NAME");
    if (!dx_dataset_registry_name_valid(dx_span_str(o->dataset)))
        return dx_fail(
            err, DX_E_INVALID,
            "--dataset %.60s: a name is 1 to %d bytes of UTF-8 without control characters",
            o->dataset, DX_DATASET_REGISTRY_NAME_MAX);
    if (options->operand_count != 1)
        return dx_fail(err, DX_E_INVALID, "give one FILE");
    o->path = options->operand[0];
    o->url = url;
    return DX_OK;
}

static int print_json(const struct dx_ship_options *o, const struct dx_ship_stats *stats)
{
    struct dx_buf out = DX_BUF_INIT(JSON_MAX);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    dx_json_key(&j, "file");
    dx_json_str(&j, o->path);
    dx_json_key(&j, "dataset");
    dx_json_str(&j, o->dataset);
    dx_json_key(&j, "transfer");
    dx_json_str(&j, stats->id);
    dx_json_key_u64(&j, "bytes", stats->bytes);
    dx_json_key_u64(&j, "segments", stats->segments);
    dx_json_key_u64(&j, "messages_sent", stats->sent);
    dx_json_key(&j, "queue_created"); /* only a dry run looks */
    o->dry_run ? dx_json_bool(&j, stats->queue_is_new) : dx_json_null(&j);
    dx_json_key(&j, "dry_run");
    dx_json_bool(&j, o->dry_run);
    return dx_command_json_print("ship", DX_EXIT_DONE, &j, &out);
}

static int run_ship(const struct dx_options *options)
{
    struct dx_ship_options o = { .stopped = dx_interrupted, .say = say };
    struct dx_amqp_url url = DX_AMQP_URL_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_ship_stats stats;
    char size[32];
    int rc = read_options(options, &o, &url, &err);
    int code = DX_EXIT_DONE;

    if (rc < 0) {
        dx_amqp_url_release(&url);
        return dx_command_fail("ship", DX_EXIT_USAGE, &err);
    }
    dx_interrupt_catch();
    rc = dx_ship_run(&o, &stats, &err);
    if (rc < 0)
        code = dx_command_fail("ship", DX_EXIT_REFUSED, &err);
    else if (dx_options_has(options, OPT_JSON))
        code = print_json(&o, &stats);
    else if (o.dry_run && !dx_options_has(options, OPT_QUIET))
        (void)dx_line_print(
            stderr,
            "ship: dry run: nothing was sent; %s, %s, would go to %s%s; segments: %llu; transfer "
            "%s",
            o.path, dx_progress_size(stats.bytes, size), url.shown,
            stats.queue_is_new ? ", a queue that would be made" : "",
            (unsigned long long)stats.segments, stats.id);
    else if (!dx_options_has(options, OPT_QUIET))
        (void)dx_line_print(
            stderr, "shipped: %s, %s; segments: %llu; to %s; transfer %s; messages sent: %llu",
            o.path, dx_progress_size(stats.bytes, size), (unsigned long long)stats.segments,
            url.shown, stats.id, (unsigned long long)stats.sent);
    dx_amqp_url_release(&url);
    return code;
}

const struct dx_command dx_command_ship = {
    .name = "ship",
    .synopsis = "--to URL --dataset NAME [--dry-run] [options] FILE",
    .operands = DX_COMPLETE_FILES,
    .summary = "send a file to a message queue, as segments",
    .description =
        "Cuts FILE into segments that a broker takes and puts them into a queue (AMQP 0-9-1, "
        "RabbitMQ), where 'domaindex ingest --from' takes them. Each message has 8 bytes, its "
        "number and how many there are (u32, little-endian), and up to --mss bytes of the file; a "
        "file whose size is a multiple of that ends with an empty segment. The file is sent as "
        "it is, compressed or not.\n\n"
        "The messages are persistent, and the command ends when the broker has confirmed all of "
        "them. They carry the id of the transfer (message-id), the dataset and the SHA-256 of the "
        "file (headers `dataset`, `sha256`). The id follows from file, dataset and --mss: the "
        "same command again repeats or completes the same transfer, and what comes twice is "
        "known where it is received. A file that changes while it is sent is never sent whole.\n\n"
        "The queue is made, durable, if it is not there. User and password are best given as "
        "DOMAINDEX_AMQP_USER and DOMAINDEX_AMQP_PASSWORD, since arguments can be seen by others on "
        "the machine; DOMAINDEX_AMQP_CA names the certificates to trust with amqps://, "
        "/etc/ssl/certs/ca-certificates.crt if it is not set.",
    .example = "domaindex ship --to 'amqp://broker.example:5672/crawls?queue=pages' --mss 1M "
               "--dataset crawl-2026 pages.jsonl.zst",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_ship,
};
