/* SPDX-License-Identifier: Apache-2.0
 * The caller: fields of a request, from a proxy's and from any address. A header makes a principal
 * only if a proxy sent it, and no input has a valid token; the whole input is also a network.
 */
#include "server/policy/identity.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char table_text[] =
    "{\"format\":1,\"generation\":7,\"updated\":\"2026-11-22T04:00:00Z\","
    "\"dataset_acl\":[{\"dataset_id\":1,\"principals\":[\"*\",\"a\"]},"
    "{\"dataset_id\":2,\"principals\":[\"a\"]}],"
    "\"principals\":[{\"name\":\"boss\",\"all\":true,\"tokens\":[{\"sha256\":"
    "\"0000000000000000000000000000000000000000000000000000000000000000\","
    "\"created\":\"2026-11-22T04:00:00Z\"}]}]}";

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void ask(const struct dx_identity_rules *rules, const struct dx_access_table *table,
                struct dx_span bytes, bool from_proxy)
{
    static const uint8_t v4[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 };
    struct dx_address peer;
    struct dx_problem problem = { .slug = NULL };
    struct dx_request_head head;
    struct dx_who who;
    int rc;

    memcpy(peer.bytes, v4, sizeof v4);
    peer.bytes[12] = from_proxy ? 10 : 11;
    dx_request_head_begin(&head);
    head.names = &rules->names;
    if (dx_request_head_parse(&head, bytes) != DX_HEAD_DONE)
        return;
    rc = dx_identify(rules, table, &head, bytes, &peer, 0, &who, &problem);
    must(rc == 1 || (rc == 0 && problem.slug != NULL));
    if (from_proxy)
        return;
    must(memcmp(who.address.bytes, peer.bytes, sizeof peer.bytes) == 0);
    must(rc == 0 || who.principal == dx_access_table_anonymous(table));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dx_identity_rules rules = { .names = { "p", "a" }, .proxy_count = 1 };
    static const struct dx_access_table *table;
    struct dx_buf text = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_network network;

    if (table == NULL) {
        must(dx_access_table_parse(&table, dx_span_str(table_text), "t", NULL, NULL) == DX_OK);
        must(dx_network_parse(dx_span_str("10.0.0.0/8"), &rules.proxies[0]));
    }
    if (dx_network_parse(dx_span_of(data, size), &network))
        must(network.bits <= 128 && dx_network_has(&network, &network.address));
    dx_buf_str(&text, "GET / HTTP/1.1\r\nHost: h\r\n");
    dx_buf_append(&text, data, size);
    dx_buf_str(&text, "\r\n\r\n");
    ask(&rules, table, dx_span_of(text.data, text.size), false);
    ask(&rules, table, dx_span_of(text.data, text.size), true);
    dx_buf_release(&text);
    return 0;
}
