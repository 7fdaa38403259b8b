/* SPDX-License-Identifier: Apache-2.0
 * The request head: no cut of the input into reads changes the verdict or where it falls,
 * and what is accepted is within the stated bounds; its target goes on into the router. */
#include "server/http/request_head.h"
#include "server/routes/target.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum dx_head_verdict parse(struct dx_request_head *h, const uint8_t *data, size_t size,
                                  size_t step)
{
    enum dx_head_verdict verdict = DX_HEAD_MORE;

    dx_request_head_begin(h);
    for (size_t n = step; verdict == DX_HEAD_MORE && n < size; n += step)
        verdict = dx_request_head_parse(h, (struct dx_span){ data, n });
    if (verdict == DX_HEAD_MORE)
        verdict = dx_request_head_parse(h, (struct dx_span){ data, size });
    return verdict;
}

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void check_accepted(const struct dx_request_head *h, const uint8_t *data)
{
    static struct dx_ask ask;
    struct dx_problem problem;
    struct dx_span head = { data, h->size };

    must(h->size <= DX_HEAD_MAX && h->target.size <= DX_TARGET_MAX);
    must(h->method == DX_METHOD_GET || h->method == DX_METHOD_HEAD || h->method == DX_METHOD_POST);
    must(h->content_type.at + h->content_type.size <= h->size);
    if (h->method == DX_METHOD_POST) {
        struct dx_span target = dx_head_slice(head, h->target);

        /* One framing, and only where it is taken. */
        must(h->chunked ? h->length_count == 0 && h->coding_count == 1 : h->length_count == 1);
        must(h->body_size <= DX_BODY_SIZE_MAX && !h->http_1_0);
        must(dx_target_parse(target, true, &ask, &problem) == 0 || ask.route == DX_ROUTE_NAMES);
    } else {
        must(!h->chunked && !h->expects && h->body_size == 0 && h->content_type.size == 0);
    }
    must(memcmp(data + h->size - 4, "\r\n\r\n", 4) == 0);
    must(memchr(data, 0, h->size) == NULL);
    /* Each LF stands behind a CR, each CR before an LF: no two readers see other lines. */
    for (size_t i = 0; i < h->size; i++)
        must((data[i] == '\n') == (i > 0 && data[i - 1] == '\r'));
    must(h->target.at + h->target.size <= h->size);
    must(h->if_none_match.at + h->if_none_match.size <= h->size);
    (void)dx_target_parse(dx_head_slice(head, h->target), h->method == DX_METHOD_POST, &ask,
                          &problem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_request_head whole;
    enum dx_head_verdict verdict = parse(&whole, data, size, size + 1);
    static const size_t steps[] = { 1, 2, 3, 7, 64, 1000 };

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct dx_request_head cut;
        enum dx_head_verdict again;

        if (size / steps[i] > 4000)
            continue; /* keep it fast */
        again = parse(&cut, data, size, steps[i]);
        must(again == verdict && cut.at == whole.at && cut.size == whole.size);
        must(cut.reject_status == whole.reject_status && cut.method == whole.method);
        must(cut.target.at == whole.target.at && cut.target.size == whole.target.size);
        must(cut.close == whole.close && cut.if_none_match.at == whole.if_none_match.at &&
             cut.if_none_match.size == whole.if_none_match.size);
    }
    for (unsigned round = 0; round < 2;
         round++) { /* with the fields of this head, or of the one before, known */
        static struct dx_head_memory memory;
        struct dx_request_head known;

        dx_request_head_begin(&known);
        known.memory = &memory;
        must(dx_request_head_parse(&known, (struct dx_span){ data, size }) == verdict);
        must(known.at == whole.at && known.size == whole.size && known.close == whole.close);
        must(known.target.at == whole.target.at && known.host.at == whole.host.at);
        must(known.if_none_match.at == whole.if_none_match.at &&
             known.accept_encoding.size == whole.accept_encoding.size);
    }
    if (verdict == DX_HEAD_DONE)
        check_accepted(&whole, data);
    if (verdict == DX_HEAD_REJECT)
        must(whole.reject_status >= 400 && whole.reject_reason != NULL);
    return 0;
}
