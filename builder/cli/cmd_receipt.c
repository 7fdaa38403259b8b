/* SPDX-License-Identifier: Apache-2.0
 * cmd_receipt.c - domaindex receipt verify: whether a server gave this answer.
 */
#include "builder/cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/crypto/jws.h"
#include "base/crypto/sha256.h"
#include "base/file.h"
#include "base/json_in.h"
#include "base/log.h"

#define PAYLOAD_MAX ((size_t)1 << 16)
#define FIELD "domaindex-receipt:"
#define READ_BYTES 8192

enum { OPT_KEY, OPT_JSON, OPT_COUNT };

static const struct dx_option table[OPT_COUNT] = {
    [OPT_KEY] = { "key", "FILE", NULL,
                  "the server's key in PEM, as /receipt-key has it; got from whom you trust, not "
                  "with the answer",
                  DX_OPT_TEXT },
    [OPT_JSON] = DX_OPTION_JSON_ANYWAY,
};

static struct dx_span trim(struct dx_span s)
{
    while (s.size > 0 && strchr(" \t\r\n", s.data[0]) != NULL)
        s = dx_span_of(s.data + 1, s.size - 1);
    while (s.size > 0 && strchr(" \t\r\n", s.data[s.size - 1]) != NULL)
        s.size--;
    return s;
}

/* Of a reply's head as curl --dump-header writes it the value of the field; else all of the text. */
static struct dx_span find_token(struct dx_span text)
{
    const uint8_t *end = text.data + text.size;

    for (const uint8_t *line = text.data; line != NULL && line < end;) {
        const uint8_t *stop = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)((stop == NULL ? end : stop) - line);

        if (size > strlen(FIELD) && strncasecmp((const char *)line, FIELD, strlen(FIELD)) == 0)
            return trim(dx_span_of(line + strlen(FIELD), size - strlen(FIELD)));
        line = stop == NULL ? NULL : stop + 1;
    }
    return trim(text);
}

static int hash_fd(int fd, const char *path, struct dx_sha256_state *state, uint64_t *size,
                   struct dx_error *err)
{
    uint8_t bytes[READ_BYTES];
    ssize_t n;

    *size = 0;
    while ((n = read(fd, bytes, sizeof bytes)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dx_fail_errno(err, errno, "%s", path);
        if (!dx_sha256_update(state, dx_span_of(bytes, (size_t)n)))
            return dx_no_memory(err, "%s", path);
        *size += (uint64_t)n;
    }
    return DX_OK;
}

static int read_stdin(struct dx_buf *text, struct dx_error *err)
{
    uint8_t bytes[READ_BYTES];
    ssize_t n;

    while (!text->failed && (n = read(STDIN_FILENO, bytes, sizeof bytes)) != 0) {
        if (n > 0)
            dx_buf_append(text, bytes, (size_t)n);
        else if (errno != EINTR)
            return dx_fail_errno(err, errno, "standard input");
    }
    return text->failed ? dx_buf_fail(text, err, "standard input") : DX_OK;
}

static int hash_file(const char *path, uint8_t sum[DX_SHA256_SIZE], uint64_t *size,
                     struct dx_error *err)
{
    struct dx_sha256_state *state = dx_sha256_new();
    struct stat st;
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : dx_file_open_input(path, &st, err);
    int rc = fd < 0          ? fd
             : state == NULL ? dx_no_memory(err, "%s", path)
                             : hash_fd(fd, path, state, size, err);

    if (state != NULL && !dx_sha256_end(&state, sum) && rc >= 0)
        rc = dx_no_memory(err, "%s", path);
    if (fd > STDERR_FILENO)
        (void)close(fd);
    return rc < 0 ? rc : DX_OK;
}

/* Whether the body is that of the receipt; members that a later server adds are passed over. */
static int compare_body(struct dx_span payload, const char *path, struct dx_error *err)
{
    struct dx_json_in in;
    const struct dx_json_node *o = dx_json_in_open(&in, payload, PAYLOAD_MAX, "receipt");
    uint8_t want[DX_SHA256_SIZE];
    uint8_t have[DX_SHA256_SIZE];
    uint64_t size = 0;
    uint64_t bytes = dx_json_in_u64(&in, o, "size", 0, INT64_MAX);
    int rc;

    dx_json_in_hex(&in, o, "sha256", want, sizeof want);
    rc = dx_json_in_close(&in, err);
    if (rc == DX_OK)
        rc = hash_file(path, have, &size, err);
    if (rc == DX_OK && (size != bytes || memcmp(want, have, sizeof want) != 0))
        rc = dx_fail(
            err, DX_E_INVALID,
            "%s is not the body that the receipt is of: it has %llu bytes, that one %llu%s", path,
            (unsigned long long)size, (unsigned long long)bytes,
            size == bytes ? ", and other ones" : "");
    return rc;
}

static int verify_receipt(const char *key_path, const char *receipt_path, const char *body_path,
                          struct dx_buf *payload, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_JWS_MAX);
    struct dx_jws_key *key = NULL;
    int rc = dx_jws_key_read(&key, key_path, err);

    if (rc == DX_OK)
        rc = strcmp(receipt_path, "-") == 0 ? read_stdin(&text, err)
                                            : dx_file_read(receipt_path, DX_JWS_MAX, &text, err);
    if (rc == DX_OK) {
        rc = dx_jws_verify(key, find_token(dx_span_of(text.data, text.size)), payload, err);
        if (rc < 0)
            (void)dx_fail_in(err, "%s", receipt_path);
        else
            rc = rc == 1 ? DX_OK
                         : dx_fail(err, DX_E_INVALID,
                                   "%s: the key in %s did not sign this receipt, or it was changed",
                                   receipt_path, key_path);
    }
    if (rc == DX_OK)
        rc = compare_body(dx_span_of(payload->data, payload->size), body_path, err);
    dx_jws_key_free(&key);
    dx_buf_release(&text);
    return rc;
}

static int run_receipt(const struct dx_options *options)
{
    const char *key = dx_options_text(options, OPT_KEY);
    struct dx_buf payload = DX_BUF_INIT(PAYLOAD_MAX);
    struct dx_error err = DX_ERROR_INIT;

    if (key == NULL || options->operand_count != 3 || strcmp(options->operand[0], "verify") != 0) {
        (void)dx_line_print(stderr,
                            "domaindex receipt: --key FILE and the operands verify, RECEIPT and "
                            "BODY are needed");
        return DX_EXIT_USAGE;
    }
    if (strcmp(options->operand[1], "-") == 0 && strcmp(options->operand[2], "-") == 0) {
        (void)dx_line_print(stderr,
                            "domaindex receipt: '-' is standard input, which can be RECEIPT or "
                            "BODY, but not both");
        return DX_EXIT_USAGE;
    }
    if (verify_receipt(key, options->operand[1], options->operand[2], &payload, &err) < 0) {
        dx_buf_release(&payload);
        return dx_command_fail("receipt", DX_EXIT_REFUSED, &err);
    }
    dx_buf_u8(&payload, '\n');
    return dx_command_print("receipt", DX_EXIT_DONE, &payload);
}

const struct dx_command dx_command_receipt = {
    .name = "receipt",
    .synopsis = "verify --key FILE RECEIPT BODY",
    .operands = DX_COMPLETE_FILES,
    .summary = "check that a server gave an answer",
    .description =
        "A server with --receipt-key-file adds a signed statement to an answer that is asked for "
        "with receipt=1: question, status, version, build, time, and the SHA-256 of the body. "
        "RECEIPT is a file with the reply's head (curl --dump-header) or with the value of its "
        "field Domaindex-Receipt, BODY the reply's body; one of them can be '-', standard input. "
        "Where the key "
        "signed it and the body is the one that was signed, the statement is printed as a line of "
        "JSON. It is a JWS (RFC 7515, EdDSA), so other programs can check it too.",
    .example = "curl -sD head -o body 'http://127.0.0.1:8080/v1/domain/example.com?receipt=1' && "
               "domaindex receipt verify --key receipt.pub head body",
    .options = table,
    .option_count = OPT_COUNT,
    .run = run_receipt,
};
