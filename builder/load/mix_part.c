/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/load/mix_part.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int parse_words(struct dx_mix_part *p, char *path, struct dx_law *law, struct dx_error *err)
{
    char *share = strchr(path, ':'), *words, *end;

    p->share = 1;
    if (share == NULL)
        return DX_OK;
    *share++ = '\0';
    words = strchr(share, ':');
    if (words != NULL)
        *words++ = '\0';
    p->share = strtod(share, &end);
    if (end == share || *end != '\0' || !(p->share >= 0) || !isfinite(p->share))
        return dx_fail(err, DX_E_INVALID, "%s: share %s is not a number from 0 on", path, share);
    return words == NULL ? DX_OK : dx_law_parse(words, law, err);
}

static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = strdup(slash == NULL ? path : slash + 1);
    char *dot = name == NULL ? NULL : strrchr(name, '.');

    if (dot != NULL && dot != name)
        *dot = '\0';
    return name;
}

/* Targets are there. */
static int finish(struct dx_mix_part *p, const char *name, const struct dx_law *law,
                  struct dx_error *err)
{
    int rc = dx_hdr_init(&p->latency, err);

    if (rc == DX_OK && (p->name = name_of(name)) == NULL)
        rc = dx_no_memory(err, "%s", name);
    if (rc == DX_OK) {
        rc = dx_picker_init(&p->picker, law, p->targets.count, p->targets.weight, err);
        if (rc < 0)
            (void)dx_fail_in(err, "%s", name);
    }
    return rc;
}

int dx_mix_part_of(struct dx_mix_part *p, struct dx_span lines, const char *name,
                   const struct dx_law *law, const char *host, const char *token,
                   struct dx_error *err)
{
    int rc;

    *p = (struct dx_mix_part){ .share = 1 };
    rc = dx_targets_parse(&p->targets, lines, name, host, token, err);
    if (rc == DX_OK)
        rc = finish(p, name, law, err);
    if (rc < 0)
        dx_mix_part_release(p);
    return rc;
}

int dx_mix_part_open(struct dx_mix_part *p, const char *text, const struct dx_law *law,
                     const char *host, struct dx_error *err)
{
    struct dx_law own = *law;
    char *path = strdup(text);
    int rc;

    *p = (struct dx_mix_part){ .share = 1 };
    if (path == NULL)
        return dx_no_memory(err, "%s", text);
    rc = parse_words(p, path, &own, err);
    if (rc == DX_OK)
        rc = dx_targets_read(&p->targets, path, host, err);
    if (rc == DX_OK)
        rc = finish(p, path, &own, err);
    if (rc < 0)
        dx_mix_part_release(p);
    free(path);
    return rc;
}

void dx_mix_part_release(struct dx_mix_part *p)
{
    free(p->name);
    p->name = NULL;
    dx_hdr_release(&p->latency);
    dx_targets_release(&p->targets);
    dx_picker_release(&p->picker);
}

uint32_t dx_mix_part_next(struct dx_mix_part *p, uint64_t *random)
{
    return dx_picker_next(&p->picker, random);
}

bool dx_mix_part_knows_body(const struct dx_mix_part *p, uint32_t target)
{
    assert(target < p->targets.count);
    return p->targets.target[target].hash_known;
}

/* "GET /v1/…": the first line of the request, for words about it. */
static int line_of(const struct dx_mix_part *p, uint32_t target)
{
    struct dx_span request = dx_targets_request(&p->targets, target);
    const uint8_t *end = memchr(request.data, '\r', request.size);

    return (int)(end - request.data) - (int)strlen(" HTTP/1.1");
}

bool dx_mix_part_judge(struct dx_mix_part *p, uint32_t target, const struct dx_reply_head *head,
                       const struct dx_hash128 *hash, struct dx_error *why)
{
    const struct dx_target *want = &p->targets.target[target];
    const char *line = (const char *)dx_targets_request(&p->targets, target).data;

    assert(target < p->targets.count && head->status < DX_PART_STATUS_END);
    p->status[head->status]++;
    if (want->status != 0 && want->status != head->status) {
        p->wrong_status++;
        (void)dx_fail(why, DX_E_CORRUPT, "%.*s: status %u, not %u", line_of(p, target), line,
                      head->status, want->status);
        return false;
    }
    if (want->body_size != DX_TARGET_SIZE_UNKNOWN && want->body_size != head->body_size) {
        p->wrong_size++;
        (void)dx_fail(why, DX_E_CORRUPT, "%.*s: %llu bytes, not %llu", line_of(p, target), line,
                      (unsigned long long)head->body_size, (unsigned long long)want->body_size);
        return false;
    }
    if (hash == NULL || !want->hash_known)
        return true;
    p->verified++;
    if (dx_hash128_equal(hash, &want->hash))
        return true;
    p->wrong_body++;
    (void)dx_fail(why, DX_E_CORRUPT, "%.*s: another body than was expected", line_of(p, target),
                  line);
    return false;
}

void dx_mix_part_learn(struct dx_mix_part *p, uint32_t target, const struct dx_reply_head *head,
                       const struct dx_hash128 *hash)
{
    struct dx_target *to = &p->targets.target[target];

    assert(target < p->targets.count && head->status < DX_PART_STATUS_END);
    p->status[head->status]++;
    to->status = (uint16_t)head->status;
    to->body_size = head->body_size;
    to->hash = *hash;
    to->hash_known = true;
}
