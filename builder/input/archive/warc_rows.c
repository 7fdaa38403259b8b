/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/archive/warc_rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "builder/input/archive/arc_head.h"
#include "builder/input/archive/warc_head.h"
#include "builder/input/bytes/input.h"
#include "builder/input/records/row_record.h"

#define WINDOW (320u << 10)
#define HISTORY (64u << 10) /* bytes behind the reader that it may go back to */
#define READ_MIN (64u << 10)
#define HEAD_MAX (64u << 10)
#define ARC_LOOK 17 /* bytes by which what begins a record of ARC is distinguished first */
#define FIELDS_MAX (DX_ROW_EXTRA + DX_EXTRA_COLUMNS_MAX)
#define TEXT_MAX ((size_t)1 << 24)
#define TEXT_FIRST 4096
#define MEMBERS_TRIED 16 /* to find what a file is whose first members are damaged */

#define HEADERS "Envelope.\"WARC-Header-Metadata\"."
#define HTTP "Envelope.\"Payload-Metadata\".\"HTTP-Response-Metadata\"."

enum from {
    FROM_NONE,
    FROM_URL,
    FROM_HEAD, /* the field `name` of the record's head */
    FROM_HTTP, /* the same of the HTTP reply */
    FROM_STATUS,
    FROM_MIME,
    FROM_DIGEST,
    FROM_FILENAME,
    FROM_OFFSET,
    FROM_LENGTH,
    FROM_JSON /* of a WAT only */
};

struct value {
    size_t at; /* in text */
    size_t size;
    bool there;
};

struct field {
    enum from from;
    const char *name; /* points into the name that was asked for, or is constant */
    struct value value;
    char *json; /* the path of the same in a WAT; owned */
};

/* What the content of a record makes it. */
enum content { CONTENT_PASSED, CONTENT_CAPTURE, CONTENT_FLAWED };

/* What a flaw leaves to do before the next record. */
enum next { NEXT_RECORD, NEXT_SCAN, NEXT_RECOVER };

struct dx_warc_rows {
    struct dx_input *in;
    struct dx_columns cols;
    struct field field[FIELDS_MAX];
    size_t field_count;
    bool wants_http;
    struct dx_json_path path[FIELDS_MAX + 1]; /* of each field, and of the type that a WAT says */
    const char *filename;
    bool is_arc;

    uint8_t *data; /* [at, end) is still to be read, [0, at) was */
    size_t at;
    size_t end;
    uint64_t pos;         /* of data[at], in the file if it is plain, else in the member */
    bool is_plain;        /* the file, or of a WACZ the WARC file at hand */
    bool is_open;         /* inside a member */
    bool is_ended;        /* nothing of it comes behind data[end) */
    uint64_t member_at;   /* its offset in the file */
    uint64_t in_member;   /* records of it so far, behind the last flawed one */
    bool many_per_member; /* a member held more than one */
    uint64_t number;      /* of the record */
    enum next next;
    struct dx_error damage; /* why to recover */
    bool is_gap; /* behind what is flawed not all that was passed could be gone back over */

    /* the current record */
    uint64_t begin; /* its pos */
    uint64_t content;
    struct dx_buf text;
    struct dx_buf body; /* JSON of a WAT */
    struct dx_buf scratch;
    struct dx_buf head; /* of ARC, as that of a WARC */
    struct dx_record record;
    bool has_record; /* read, not yet in a batch */
    bool partial;    /* the batch given last was too small for it */
};

static const struct {
    const char *name;
    enum from from;
    const char *field;
} names[] = {
    { "url", FROM_URL, NULL },
    { "original", FROM_URL, NULL },
    { "WARC-Target-URI", FROM_URL, NULL },
    { "timestamp", FROM_HEAD, "WARC-Date" },
    { "status", FROM_STATUS, NULL },
    { "statuscode", FROM_STATUS, NULL },
    { "mime", FROM_MIME, NULL },
    { "mimetype", FROM_MIME, NULL },
    { "digest", FROM_DIGEST, "WARC-Payload-Digest" },
    { "type", FROM_HEAD, "WARC-Type" },
    { "redirect", FROM_HTTP, "Location" },
    { "ip", FROM_HEAD, "WARC-IP-Address" },
    { "filename", FROM_FILENAME, NULL },
    { "offset", FROM_OFFSET, NULL },
    { "length", FROM_LENGTH, NULL },
};

/* ---- columns ---- */

static bool begins(const char *text, const char *with)
{
    return strncasecmp(text, with, strlen(with)) == 0;
}

/* Where a WAT says the same. */
static int json_path(const struct field *f, char **out, struct dx_error *err)
{
    static const char *const paths[] = {
        [FROM_URL] = HEADERS "\"WARC-Target-URI\"",
        [FROM_STATUS] = HTTP "\"Response-Message\".Status",
        [FROM_MIME] = HTTP "Headers.\"Content-Type\"",
        [FROM_DIGEST] = HEADERS "\"WARC-Payload-Digest\"",
        [FROM_FILENAME] = "Container.Filename",
        [FROM_OFFSET] = "Container.Offset",
        [FROM_LENGTH] = "Container.\"Gzip-Metadata\".\"Deflate-Length\""
    };
    int n = -1;

    if (f->from == FROM_JSON)
        *out = strdup(f->name);
    else if (f->from == FROM_HEAD)
        n = asprintf(out, HEADERS "\"%s\"", f->name);
    else if (f->from == FROM_HTTP)
        n = asprintf(out, HTTP "Headers.\"%s\"", f->name);
    else
        *out = strdup(paths[f->from]);
    if ((f->from == FROM_HEAD || f->from == FROM_HTTP) && n < 0)
        *out = NULL;
    return *out == NULL ? dx_no_memory(err, "columns") : DX_OK;
}

static bool find_known(struct field *f, const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i].name) == 0) {
            f->from = names[i].from;
            f->name = names[i].field;
            return true;
        }
    return false;
}

static bool find_source(struct field *f, const char *name)
{
    if (find_known(f, name))
        return true;
    f->name = name;
    if (begins(name, "http.") && name[5] != '\0') {
        f->from = FROM_HTTP;
        f->name = name + 5;
    } else if (begins(name, "WARC-") || begins(name, "Content-")) {
        f->from = FROM_HEAD;
    } else if (strchr(name, '.') != NULL) {
        f->from = FROM_JSON;
    }
    return f->from != FROM_NONE && strchr(f->from == FROM_JSON ? "" : f->name, '"') == NULL;
}

static int add_field(struct dx_warc_rows *w, const char *name, char label[DX_COLUMN_LABEL],
                     struct dx_error *err)
{
    size_t i = w->field_count++;
    struct field *f = &w->field[i];
    int rc;

    if (name == NULL)
        return dx_json_path_parse(&w->path[i], "\"\"", err); /* nothing has that name */
    if (!find_source(f, name))
        return dx_fail(err, DX_E_INVALID,
                       "%s: the records of a WARC have no '%s'; they have url, timestamp, status, "
                       "mime, digest, type, redirect, ip, filename, offset, length, the fields of "
                       "their heads (WARC-...), http.NAME of the reply and, in a WAT, dotted paths",
                       dx_input_name(w->in), name);
    (void)snprintf(label, DX_COLUMN_LABEL, "%s", name);
    rc = json_path(f, &f->json, err);
    if (rc == DX_OK)
        rc = dx_json_path_parse(&w->path[i], f->json, err);
    w->path[i].any_case = f->from != FROM_JSON;
    w->wants_http = w->wants_http || f->from == FROM_STATUS || f->from == FROM_MIME ||
                    f->from == FROM_HTTP;
    return rc;
}

/* As of dx_columns: a field by its own name may be a mistake, but for the time's. */
static uint64_t by_record(const struct dx_columns_want *want, const char *ts)
{
    bool is_usual = strcasecmp(ts, "WARC-Date") == 0;
    struct field known;
    uint64_t bits = is_usual || find_known(&known, ts) ? 0 : DX_COLUMNS_TS;

    for (size_t i = 0; i < want->extra_count; i++)
        if (!find_known(&known, want->extra[i]))
            bits |= UINT64_C(1) << i;
    return bits;
}

static int add_fields(struct dx_warc_rows *w, struct dx_columns_want *want, struct dx_error *err)
{
    const char *ts = want->ts != NULL ? want->ts : "WARC-Date";
    struct dx_column_labels labels = { .url = "" };
    int rc;

    rc = add_field(w, want->url != NULL ? want->url : "WARC-Target-URI", labels.url, err);
    if (rc == DX_OK)
        rc = add_field(w, want->no_ts ? NULL : ts, labels.ts, err);
    if (rc == DX_OK)
        rc = add_field(w, want->dataset, labels.dataset, err);
    for (size_t i = 0; rc == DX_OK && i < want->extra_count; i++)
        rc = add_field(w, want->extra[i], labels.extra[i], err);
    labels.by_record = by_record(want, ts);
    if (rc == DX_OK)
        rc = dx_json_path_parse(&w->path[w->field_count], HEADERS "\"WARC-Type\"", err);
    if (rc == DX_OK)
        rc = dx_columns_of_row(&w->cols, want, &labels, dx_input_name(w->in), err);
    w->cols.format = w->is_arc ? DX_RECORD_ARC : DX_RECORD_WARC;
    w->cols.ts_archive = strcasecmp(ts, "WARC-Date") == 0 || strcasecmp(ts, "timestamp") == 0;
    return rc;
}

/* ---- opening ---- */

static bool is_damage(int rc)
{
    return rc == DX_E_CORRUPT || rc == DX_E_TRUNCATED;
}

static bool begins_warc(struct dx_span first)
{
    return first.size >= 5 && memcmp(first.data, "WARC/", 5) == 0;
}

/* Whether a member behind the damaged one begins a record. */
static bool has_later_record(struct dx_input *in)
{
    struct dx_error unsaid = DX_ERROR_INIT;
    struct dx_span head;

    for (unsigned i = 0; i < MEMBERS_TRIED; i++) {
        if (dx_input_recover(in, begins_warc, &unsaid) != 1)
            return false;
        if (dx_input_peek(in, &head, &unsaid) == DX_OK && dx_warc_begins(head))
            return true;
    }
    return false;
}

/* What its records begin with is in many other files too. */
static bool is_named_arc(const char *name)
{
    const char *slash = strrchr(name, '/');

    return strstr(slash == NULL ? name : slash, ".arc.") != NULL;
}

int dx_warc_rows_is(struct dx_input *in, enum dx_record_format asked, struct dx_error *err)
{
    struct dx_span head;
    bool is_warc;
    bool is_arc = asked == DX_RECORD_ARC;
    int rc;

    if (is_arc || (asked != DX_RECORD_AUTO && asked != DX_RECORD_WARC))
        return is_arc ? DX_RECORD_ARC : 0;
    rc = dx_input_peek(in, &head, err);
    is_warc = rc == DX_OK && dx_warc_begins(head);
    is_arc = rc == DX_OK && asked == DX_RECORD_AUTO && dx_arc_begins(head);
    /* Its first record may be the damaged one, which yields other bytes before its checksum says so. */
    if (rc == DX_OK ? !is_warc && !is_arc && dx_input_front_is_damaged(in) : is_damage(rc)) {
        is_arc = asked == DX_RECORD_AUTO && is_named_arc(dx_input_name(in));
        is_warc = !is_arc && has_later_record(in);
        if (rc == DX_OK || is_warc || is_arc)
            rc = dx_input_restart(in)
                     ? DX_OK
                     : dx_fail(err, DX_E_CORRUPT, "%s: its front is damaged", dx_input_name(in));
    }
    return rc < 0 ? rc : is_warc ? DX_RECORD_WARC : is_arc ? DX_RECORD_ARC : 0;
}

int dx_warc_rows_open(struct dx_warc_rows **out, struct dx_input *in, enum dx_record_format format,
                      struct dx_columns_want *want, struct dx_error *err)
{
    struct dx_warc_rows *w = calloc(1, sizeof *w);
    const char *slash = strrchr(dx_input_name(in), '/');
    int rc;

    *out = w;
    if (w == NULL)
        return dx_no_memory(err, "%s", dx_input_name(in));
    w->in = in;
    w->is_arc = format == DX_RECORD_ARC;
    w->filename = slash == NULL ? dx_input_name(in) : slash + 1;
    dx_buf_init(&w->text, TEXT_MAX);
    dx_buf_init(&w->body, DX_LINE_MAX);
    dx_buf_init(&w->scratch, 2u * DX_LINE_MAX);
    dx_buf_init(&w->head, 2 * HEAD_MAX);
    w->data = malloc(WINDOW);
    rc = w->data == NULL || dx_buf_reserve(&w->text, TEXT_FIRST) == NULL
             ? dx_no_memory(err, "%s", dx_input_name(in))
             : add_fields(w, want, err);
    if (rc < 0)
        dx_warc_rows_close(out);
    return rc;
}

void dx_warc_rows_close(struct dx_warc_rows **out)
{
    struct dx_warc_rows *w = *out;

    if (w == NULL)
        return;
    for (size_t i = 0; i < w->field_count; i++)
        free(w->field[i].json);
    dx_buf_release(&w->text);
    dx_buf_release(&w->body);
    dx_buf_release(&w->scratch);
    dx_buf_release(&w->head);
    free(w->data);
    free(w);
    *out = NULL;
}

const struct dx_columns *dx_warc_rows_columns(const struct dx_warc_rows *w)
{
    return &w->cols;
}

/* ---- bytes ---- */

static struct dx_span rest(const struct dx_warc_rows *w)
{
    return dx_span_of(w->data + w->at, w->end - w->at);
}

static void pass(struct dx_warc_rows *w, size_t n)
{
    w->at += n;
    w->pos += n;
}

/* 1: more bytes wait; 0: the member has ended. */
static int read_more(struct dx_warc_rows *w, struct dx_error *err)
{
    ssize_t n;

    if (w->is_ended)
        return 0;
    if (WINDOW - w->end < READ_MIN) {
        size_t keep = w->at < HISTORY ? w->at : HISTORY;
        size_t drop = w->at - keep;

        memmove(w->data, w->data + drop, w->end - drop);
        w->at = keep;
        w->end -= drop;
    }
    n = dx_input_member_read(w->in, w->data + w->end, WINDOW - w->end, err);
    if (n < 0)
        return (int)n;
    w->is_ended = n == 0;
    w->end += (size_t)n;
    return n > 0;
}

/* Until n bytes wait, or the member ends. */
static int look_ahead(struct dx_warc_rows *w, size_t n, struct dx_error *err)
{
    int rc = 1;

    assert(n <= HEAD_MAX);
    while (rc > 0 && w->end - w->at < n)
        rc = read_more(w, err);
    return rc < 0 ? rc : DX_OK;
}

/* What begins here and has the size that `head_size` tells; *size 0: it does not end within `max` bytes or
 * the member. */
static int find_head(struct dx_warc_rows *w, size_t (*head_size)(struct dx_span), size_t max,
                     size_t *size, struct dx_error *err)
{
    int rc = 1;

    *size = head_size(rest(w));
    while (rc > 0 && *size == 0 && w->end - w->at < max) {
        rc = read_more(w, err);
        *size = head_size(rest(w));
    }
    return rc < 0 ? rc : DX_OK;
}

/* Whether a record begins here: of ARC the whole line says so. */
static int record_begins(struct dx_warc_rows *w, struct dx_error *err)
{
    struct dx_arc_head arc;
    size_t size = 0;
    int rc = look_ahead(w, ARC_LOOK, err);

    if (!w->is_arc)
        return rc < 0 ? rc : dx_warc_begins(rest(w));
    if (rc < 0 || !dx_arc_may_begin(rest(w)))
        return rc;
    rc = find_head(w, dx_arc_head_size, HEAD_MAX, &size, err);
    return rc < 0 ? rc
                  : size <= HEAD_MAX && dx_arc_head_parse(dx_span_of(w->data + w->at, size), &arc);
}

static int open_member(struct dx_warc_rows *w, struct dx_error *err)
{
    int rc = dx_input_member_next(w->in, err);

    if (rc <= 0)
        return rc;
    w->is_open = true;
    w->is_ended = false;
    w->at = w->end = 0;
    w->member_at = dx_input_member_at(w->in);
    w->is_plain = dx_input_is_plain(w->in);
    w->pos = w->is_plain ? w->member_at : 0;
    w->in_member = 0;
    return 1;
}

/* Back to a position that was read, or as near to it as can be. */
static int go_back(struct dx_warc_rows *w, uint64_t to, struct dx_error *err)
{
    uint64_t back = w->pos - to;
    int rc = 0;

    if (back > w->at && w->is_plain)
        rc = dx_input_seek(w->in, to, err);
    if (rc > 0) {
        w->at = w->end = 0;
        w->is_ended = false;
        w->pos = to;
    } else {
        w->is_gap = back > w->at;
        back = back < w->at ? back : w->at;
        w->at -= (size_t)back;
        w->pos -= back;
    }
    return rc < 0 ? rc : DX_OK;
}

/* ---- values ---- */

static void set_value(struct dx_warc_rows *w, struct field *f, struct dx_span s)
{
    bool folded = s.size > 0 && memchr(s.data, '\n', s.size) != NULL;

    f->value = (struct value){ w->text.size, 0, s.data != NULL };
    if (!folded) {
        dx_buf_append(&w->text, s.data, s.size);
    } else {
        bool blank = false;

        for (size_t i = 0; i < s.size; i++) {
            bool white = strchr(" \t\r\n", s.data[i]) != NULL && s.data[i] != 0;

            if (!white || !blank)
                dx_buf_u8(&w->text, white ? ' ' : s.data[i]);
            blank = white;
        }
    }
    f->value.size = w->text.size - f->value.at;
}

static void set_number(struct dx_warc_rows *w, struct field *f, uint64_t n)
{
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%" PRIu64, n);
    set_value(w, f, dx_span_str(digits));
}

static struct dx_span without_sha1(struct dx_span s)
{
    return s.size > 5 && strncasecmp((const char *)s.data, "sha1:", 5) == 0
               ? dx_span_of(s.data + 5, s.size - 5)
               : s;
}

static void take_head(struct dx_warc_rows *w, struct dx_span head, const struct dx_warc_head *r)
{
    dx_buf_clear(&w->text);
    for (size_t i = 0; i < w->field_count; i++) {
        struct field *f = &w->field[i];
        struct dx_span s = { NULL, 0 };

        if (f->from == FROM_URL)
            s = r->url;
        else if (f->from == FROM_HEAD)
            s = dx_head_field(head, f->name);
        else if (f->from == FROM_DIGEST)
            s = without_sha1(dx_head_field(head, f->name));
        else if (f->from == FROM_FILENAME)
            s = dx_span_str(w->filename);
        else if (f->from == FROM_MIME)
            s = dx_head_mime(r->content_type);
        else if (f->from == FROM_STATUS && w->is_arc)
            s = dx_head_field(head, "Result-Code");
        set_value(w, f, s);
    }
}

/* An HTTP reply says more than its record. */
static void take_http(struct dx_warc_rows *w, struct dx_span block)
{
    struct dx_span status = dx_http_status(block);

    if (status.data == NULL)
        return;
    for (size_t i = 0; i < w->field_count; i++) {
        struct field *f = &w->field[i];

        if (f->from == FROM_STATUS)
            set_value(w, f, status);
        else if (f->from == FROM_MIME)
            set_value(w, f, dx_head_mime(dx_head_field(block, "Content-Type")));
        else if (f->from == FROM_HTTP)
            set_value(w, f, dx_head_field(block, f->name));
    }
}

static bool is_capture(enum dx_warc_type type)
{
    return type != DX_WARC_OTHER && type != DX_WARC_METADATA;
}

/* What a WAT says of a record. */
static int take_json(struct dx_warc_rows *w, enum content *content, struct dx_error *err)
{
    struct dx_json_value value[FIELDS_MAX + 1];

    *content = CONTENT_FLAWED;
    dx_buf_clear(&w->scratch);
    if (!dx_json_pick(dx_span_of(w->body.data, w->body.size), w->path, w->field_count + 1, value,
                      &w->scratch))
        return w->scratch.no_memory ? dx_no_memory(err, "a WAT record") : DX_OK;
    *content = CONTENT_PASSED;
    if (value[w->field_count].kind != DX_JSON_STRING ||
        !is_capture(dx_warc_type(value[w->field_count].text)))
        return DX_OK;
    for (size_t i = 0; i < w->field_count; i++) {
        struct field *f = &w->field[i];
        struct dx_span s = value[i].text;

        if (!dx_json_has_text(&value[i]))
            s = (struct dx_span){ NULL, 0 };
        if (f->from == FROM_MIME)
            set_value(w, f, dx_head_mime(s)); /* not that of the JSON itself */
        else if (f->from == FROM_DIGEST || f->from == FROM_FILENAME)
            set_value(w, f, without_sha1(s));
        else if (s.data != NULL)
            set_value(w, f, s);
    }
    *content = CONTENT_CAPTURE;
    return DX_OK;
}

/* http, https, ftp, or not even a scheme: then it is rejected as a URL, not passed over. */
static bool is_web(struct dx_span url)
{
    static const char *const schemes[] = { "http:", "https:", "ftp:" };
    size_t n = 0;

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (url.size > strlen(schemes[i]) && begins((const char *)url.data, schemes[i]))
            return true;
    while (n < url.size && url.data[n] != 0 &&
           strchr("abcdefghijklmnopqrstuvwxyz0123456789+-", url.data[n] | 0x20) != NULL)
        n++;
    return n == 0 || n == url.size || url.data[n] != ':';
}

/* ---- one record ---- */

/* The current record as a flawed one: "offset 1234: reason". */
static int give_flaw(struct dx_warc_rows *w, enum dx_record_flaw flaw, const char *reason)
{
    struct value *url = &w->field[DX_ROW_URL].value;
    size_t at = w->text.size;

    dx_buf_fmt(&w->text, "record at offset %" PRIu64, w->is_plain ? w->begin : w->member_at);
    if (!w->is_plain && w->begin > 0)
        dx_buf_fmt(&w->text, ", %" PRIu64 " bytes unpacked", w->begin);
    dx_buf_fmt(&w->text, ": %s", reason);
    if (url->there && url->size > 0 && dx_buf_reserve(&w->text, url->size + 3) != NULL) {
        dx_buf_str(&w->text, " (");
        dx_buf_append(&w->text, w->text.data + url->at, url->size);
        dx_buf_u8(&w->text, ')');
    }
    for (size_t i = 0; i < w->field_count; i++)
        w->field[i].value.there = false;
    *url = (struct value){ at, w->text.size - at, true };
    w->record.flaw = (uint8_t)flaw;
    w->has_record = true;
    return 1;
}

/* Damage of the bytes: the record that they belong to is lost, the next one is looked for. */
static int give_damage(struct dx_warc_rows *w, const struct dx_error *damage)
{
    size_t name = strlen(dx_input_name(w->in));
    const char *text = damage->text;

    if (strncmp(text, dx_input_name(w->in), name) == 0 && strncmp(text + name, ": ", 2) == 0)
        text += name + 2;
    w->damage = *damage;
    w->next = NEXT_RECOVER;
    return give_flaw(w, DX_FLAW_MALFORMED, text);
}

static int flawed_at(struct dx_warc_rows *w, uint64_t scan_from, const char *reason,
                     struct dx_error *err)
{
    int rc = go_back(w, scan_from, err);

    w->next = NEXT_SCAN;
    w->in_member = 0;
    return rc < 0 ? rc : give_flaw(w, DX_FLAW_MALFORMED, reason);
}

/* Passes n bytes; 0: the member ends before. */
static int skip_content(struct dx_warc_rows *w, uint64_t n, struct dx_error *err)
{
    int rc = 1;

    for (;;) {
        size_t have = w->end - w->at;

        if (have >= n) {
            pass(w, (size_t)n);
            return 1;
        }
        pass(w, have);
        n -= have;
        rc = read_more(w, err);
        if (rc <= 0)
            return rc;
    }
}

/* The JSON of a WAT; 0: the member ends before. */
static int read_body(struct dx_warc_rows *w, uint64_t n, struct dx_error *err)
{
    dx_buf_clear(&w->body);
    while (n > 0) {
        size_t have = w->end - w->at < n ? w->end - w->at : (size_t)n;
        int rc = 1;

        dx_buf_append(&w->body, w->data + w->at, have);
        pass(w, have);
        n -= have;
        if (n > 0)
            rc = read_more(w, err);
        if (rc <= 0)
            return rc;
    }
    return w->body.failed ? dx_buf_fail(&w->body, err, "a WAT record") : 1;
}

/* Passes up to `max` line ends; how many. */
static int skip_line_ends(struct dx_warc_rows *w, unsigned max, struct dx_error *err)
{
    unsigned n = 0;

    while (n < max) {
        int rc = look_ahead(w, 2, err);
        struct dx_span s = rest(w);

        if (rc < 0)
            return rc;
        if (s.size >= 2 && s.data[0] == '\r' && s.data[1] == '\n')
            pass(w, 2);
        else if (s.size >= 1 && s.data[0] == '\n')
            pass(w, 1);
        else
            break;
        n++;
    }
    return (int)n;
}

/* ---- the next record ---- */

static bool is_line_start(const struct dx_warc_rows *w)
{
    return w->at > 0 && w->data[w->at - 1] == '\n';
}

/* Whether a record begins at "WARC/": inside of a line only one whose head is whole, where the one before was
 * cut. */
static int warc_begins_here(struct dx_warc_rows *w, struct dx_error *err)
{
    struct dx_warc_head r;
    size_t size;
    int rc;

    if (is_line_start(w))
        return 1;
    rc = find_head(w, dx_warc_head_size, HEAD_MAX, &size, err);
    return rc < 0 ? rc
                  : size > 0 && dx_warc_head_parse(dx_span_of(w->data + w->at, size), &r) == NULL;
}

/* The same for WARC and ARC: 1 at a record, 0 not in the bytes at hand. */
static int find_warc(struct dx_warc_rows *w, struct dx_error *err)
{
    const size_t n = strlen("WARC/");
    struct dx_span s = rest(w);
    const uint8_t *hit;
    int rc = 0;

    while (rc == 0 && s.size >= n && (hit = memmem(s.data, s.size, "WARC/", n)) != NULL) {
        pass(w, (size_t)(hit - s.data));
        rc = warc_begins_here(w, err);
        if (rc == 0)
            pass(w, 1);
        s = rest(w);
    }
    if (rc == 0 && s.size >= n)
        pass(w, s.size - n + 1);
    return rc;
}

static int find_arc(struct dx_warc_rows *w, struct dx_error *err)
{
    for (;;) {
        size_t size, at;
        int rc = find_head(w, dx_arc_head_size, HEAD_MAX, &size, err);

        if (rc < 0)
            return rc;
        if (size == 0 ||
            size > HEAD_MAX) { /* only the end of a longer line may be the head of one */
            size_t most = size == 0 ? w->end - w->at : size;

            pass(w, most > HEAD_MAX / 2 ? most - HEAD_MAX / 2 : 0);
            if (size == 0)
                return 0;
            continue;
        }
        at = dx_arc_find(dx_span_of(w->data + w->at, size), is_line_start(w));
        pass(w, at);
        if (at < size)
            return 1;
    }
}

/* Moves to where the next record begins: at a line, or inside of one behind a record that was cut there; 0:
 * this member has no other record. */
static int scan(struct dx_warc_rows *w, struct dx_error *err)
{
    for (;;) {
        int rc = w->is_arc ? find_arc(w, err) : find_warc(w, err);

        if (rc != 0)
            return rc;
        rc = read_more(w, err);
        if (rc <= 0)
            return rc;
    }
}

/* The line ends behind a content and whether a record follows; of one that was cut there may be "\r" alone, or
 * none. */
static int end_content(struct dx_warc_rows *w, int *lines, struct dx_error *err)
{
    size_t size;
    int rc;

    *lines = skip_line_ends(w, w->is_arc ? INT32_MAX : 2, err);
    rc = *lines < 0 ? *lines : look_ahead(w, ARC_LOOK, err);
    if (rc == DX_OK && !w->is_arc && w->at < w->end && w->data[w->at] == '\r' &&
        dx_warc_begins(dx_span_of(w->data + w->at + 1, w->end - w->at - 1)))
        pass(w, 1);
    rc = rc < 0 ? rc : record_begins(w, err);
    if (rc <= 0 || !w->is_arc || *lines > 0)
        return rc;
    rc = find_head(w, dx_arc_head_size, HEAD_MAX, &size, err);
    return rc < 0 ? rc : dx_arc_find(dx_span_of(w->data + w->at, size), false) == 0;
}

/* Of a content behind which no record begins: whether one does inside, so that this one was cut. */
static int holds_record(struct dx_warc_rows *w, struct dx_error *err)
{
    uint64_t end = w->pos;
    int rc = go_back(w, w->content, err);
    bool found;

    if (rc == DX_OK && !w->is_gap)
        rc = scan(w, err);
    w->is_gap = false; /* what was passed over has no record */
    found = rc > 0 && w->pos < end;
    if (rc >= 0)
        rc = w->pos > end ? go_back(w, end, err) : skip_content(w, end - w->pos, err);
    w->is_gap = false;
    return rc < 0 ? rc : found;
}

/* Behind the content: 1 the record ends here, 0 it does not. */
static int check_end(struct dx_warc_rows *w, struct dx_error *err)
{
    uint64_t size = w->pos - w->begin;
    int enough = w->is_arc ? 1 : 2;
    int lines;
    int rc = end_content(w, &lines, err);
    bool at_end = w->at == w->end && w->is_ended;

    if (rc < 0)
        return rc;
    w->record.place = w->record.place_size = DX_RECORD_PLACE_UNKNOWN;
    if (w->is_plain) {
        w->record.place = (int64_t)w->begin;
        w->record.place_size = (int64_t)size;
    } else if (at_end && w->begin == 0) {
        w->record.place = (int64_t)w->member_at;
        w->record.place_size = (int64_t)(dx_input_consumed(w->in) - w->member_at);
    }
    if (at_end || rc > 0)
        return 1;
    rc = lines >= enough ? holds_record(w, err) : 1;
    return rc < 0 ? rc : rc == 0;
}

/* The content, of which columns may be taken. 1: all of it was read; 0: the member ends inside. */
static int read_content(struct dx_warc_rows *w, const struct dx_warc_head *r, bool is_wat,
                        struct dx_error *err)
{
    uint64_t left = r->content_length;
    int rc = 1;

    if (is_wat && left <= DX_LINE_MAX) {
        rc = read_body(w, left, err);
        left = 0;
    } else if (is_capture(r->type) && w->wants_http) {
        size_t most = left < HEAD_MAX ? (size_t)left : HEAD_MAX;
        size_t size;

        rc = find_head(w, dx_http_head_size, most, &size, err);
        if (rc < 0)
            return rc;
        if (size == 0 || size > most)
            size = most;
        if (size > w->end - w->at)
            size = w->end - w->at;
        take_http(w, dx_span_of(w->data + w->at, size));
        rc = 1;
    }
    return rc > 0 ? skip_content(w, left, err) : rc;
}

/* What of a sound record is given: 1 a record, 0 it is passed over. */
static int give_capture(struct dx_warc_rows *w, const struct dx_warc_head *r, bool is_wat,
                        struct dx_error *err)
{
    struct value *url = &w->field[DX_ROW_URL].value;
    enum content content = is_capture(r->type) ? CONTENT_CAPTURE : CONTENT_PASSED;

    if (is_wat && r->content_length > DX_LINE_MAX)
        return give_flaw(w, DX_FLAW_TOO_LONG, "its JSON is longer than 16 MiB");
    if (is_wat && take_json(w, &content, err) < 0)
        return DX_E_NOMEM;
    if (content == CONTENT_FLAWED)
        return give_flaw(w, DX_FLAW_MALFORMED, "its JSON is broken");
    if (content == CONTENT_PASSED)
        return 0;
    if (url->there && !is_web(dx_span_of(w->text.data + url->at, url->size)))
        return 0;
    for (size_t i = 0; i < w->field_count && w->record.place >= 0 && !is_wat; i++)
        if (w->field[i].from == FROM_OFFSET)
            set_number(w, &w->field[i], (uint64_t)w->record.place);
        else if (w->field[i].from == FROM_LENGTH)
            set_number(w, &w->field[i], (uint64_t)w->record.place_size);
    w->has_record = true;
    return 1;
}

/* Of ARC the head that it would have in a WARC; NULL, or what is wrong. */
static const char *parse_head(struct dx_warc_rows *w, struct dx_span head, struct dx_warc_head *r)
{
    struct dx_arc_head arc;
    const char *why;

    if (w->is_arc) {
        dx_buf_clear(&w->head);
        (void)dx_arc_head_parse(head, &arc);
        dx_arc_head_as_warc(&arc, &w->head);
        head = dx_span_of(w->head.data, w->head.size);
    }
    why = dx_warc_head_parse(head, r);
    take_head(w, head, r);
    return why != NULL && w->is_arc ? "its length is not a number" : why;
}

static void begin_record(struct dx_warc_rows *w)
{
    w->begin = w->pos;
    w->record = (struct dx_record){ .line = ++w->number,
                                    .place = DX_RECORD_PLACE_UNKNOWN,
                                    .place_size = DX_RECORD_PLACE_UNKNOWN };
    dx_buf_clear(&w->text);
    for (size_t i = 0; i < w->field_count; i++)
        w->field[i].value = (struct value){ .there = false };
}

/* 1: the record is to be given; 0: it is passed over. */
static int read_record(struct dx_warc_rows *w, struct dx_error *err)
{
    struct dx_warc_head r;
    const char *why;
    bool is_wat;
    size_t size;
    int rc;

    rc = record_begins(w, err);
    if (rc == 0)
        return flawed_at(w, w->is_arc ? w->begin : w->begin + 1,
                         w->is_arc ? "no ARC record begins there" : "no WARC record begins there",
                         err);
    if (rc > 0)
        rc = find_head(w, w->is_arc ? dx_arc_head_size : dx_warc_head_size, HEAD_MAX, &size, err);
    if (rc < 0)
        return rc;
    if (size == 0)
        return flawed_at(w, w->begin + 1,
                         w->is_ended ? "the file or its member ends inside its head"
                                     : "its head is longer than 64 KiB",
                         err);
    why = parse_head(w, dx_span_of(w->data + w->at, size), &r);
    if (w->head.failed)
        return dx_buf_fail(&w->head, err, "head of an ARC record");
    is_wat = r.type == DX_WARC_METADATA &&
             dx_span_is_word(dx_head_mime(r.content_type), "application/json");
    pass(w, size);
    w->content = w->pos - 1; /* with the line end before it, by which the next record is found */
    if (why != NULL)
        return flawed_at(w, w->is_arc ? w->content : w->begin + 1, why, err);
    if (dx_input_ends_before(w->in, w->pos + r.content_length))
        return flawed_at(w, w->content, "the file ends inside it", err);
    w->in_member++;
    w->many_per_member = w->many_per_member || (w->in_member > 1 && !w->is_plain);
    r.content_type = (struct dx_span){ NULL, 0 }; /* and url: the window may move now */
    r.url = (struct dx_span){ NULL, 0 };
    rc = read_content(w, &r, is_wat, err);
    if (rc == 0)
        return flawed_at(w, w->content,
                         w->is_plain ? "the file ends inside it" : "its member ends inside it",
                         err);
    if (rc > 0)
        rc = check_end(w, err);
    if (rc == 0)
        return flawed_at(w, w->content,
                         w->is_arc ? "it does not end where its length says"
                                   : "it does not end where its Content-Length says",
                         err);
    return rc < 0 ? rc : give_capture(w, &r, is_wat, err);
}

/* After a search behind a gap: records in it would be missing without a word. A member of one record has no others. */
static bool is_lossy(struct dx_warc_rows *w, bool has_found)
{
    bool is_gap = w->is_gap;

    w->is_gap = false;
    return is_gap && (has_found || w->is_plain || w->many_per_member);
}

static int lost(const struct dx_warc_rows *w, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT,
                   "%s: behind a damaged record %s%" PRIu64 " others cannot be found: %s",
                   dx_input_name(w->in), w->is_plain ? "at offset " : "in the member at offset ",
                   w->is_plain ? w->begin : w->member_at,
                   w->is_plain ? "give it as a file, not by a pipe, or repair it"
                               : "unpack it, and give the plain file");
}

/* Goes on behind what was flawed: 1 at a record or member, 0 nothing follows. */
static int find_next(struct dx_warc_rows *w, struct dx_error *err)
{
    int rc;

    if (w->next == NEXT_SCAN) {
        rc = scan(w, &w->damage);
        if (is_lossy(w, rc > 0))
            return lost(w, err);
        w->is_open = rc > 0;
        w->next = is_damage(rc) ? NEXT_RECOVER : NEXT_RECORD;
        if (rc < 0 && !is_damage(rc)) {
            *err = w->damage;
            return rc;
        }
    }
    if (w->next == NEXT_RECOVER) {
        w->next = NEXT_RECORD;
        w->is_open = false;
        rc = dx_input_recover(w->in, w->is_arc ? dx_arc_may_begin : begins_warc, err);
        if (rc >= 0 && w->many_per_member) { /* others of its records are lost */
            *err = w->damage;
            rc = (int)w->damage.code;
        }
        return rc;
    }
    return 1;
}

/* A record, if one is there: 1 to be given, 0 passed over or none. */
static int read_in_member(struct dx_warc_rows *w, struct dx_error *err)
{
    int rc = skip_line_ends(w, INT32_MAX, err);

    if (rc >= 0)
        rc = look_ahead(w, 1, err);
    if (rc == DX_OK && w->at == w->end) {
        w->is_open = false;
        return 0;
    }
    begin_record(w);
    return rc < 0 ? rc : read_record(w, err);
}

/* 1: a record is to be given; 0: the end of the file. */
static int next_record(struct dx_warc_rows *w, struct dx_error *err)
{
    while (!w->has_record) {
        int rc = w->next == NEXT_RECORD ? 1 : find_next(w, err);

        if (rc <= 0)
            return rc;
        if (!w->is_open) {
            rc = open_member(w, err);
            if (rc == 0)
                return 0;
            if (is_damage(rc))
                begin_record(w);
        }
        if (rc > 0)
            rc = read_in_member(w, err);
        if (is_damage(rc))
            rc = give_damage(w, err);
        if (rc < 0)
            return rc;
    }
    return 1;
}

/* ---- batches ---- */

static int prepare(struct dx_warc_rows *w, struct dx_batch *b, struct dx_error *err)
{
    size_t want = w->partial ? b->capacity * 2 : DX_BATCH_SIZE;

    w->partial = false;
    b->size = b->count = 0;
    return dx_batch_reserve(b, want, dx_input_name(w->in), err);
}

/* 1: the record is in the batch; 0: it does not fit. */
static int put_record(struct dx_warc_rows *w, struct dx_batch *b, struct dx_error *err)
{
    struct dx_span field[FIELDS_MAX];
    size_t size;
    int rc;

    if (w->text.failed)
        return dx_buf_fail(&w->text, err, "a WARC record");
    for (size_t i = 0; i < w->field_count; i++) {
        const struct value *v = &w->field[i].value;

        field[i] = v->there ? dx_span_of(w->text.data + v->at, v->size)
                            : (struct dx_span){ NULL, 0 };
    }
    size = dx_row_record_size(field, w->field_count);
    if (size > b->capacity - b->size)
        return 0;
    rc = dx_batch_room(b, dx_input_name(w->in), err);
    if (rc < 0)
        return rc;
    dx_row_record_put(field, w->field_count, b->data + b->size);
    w->record.offset = (uint32_t)b->size;
    w->record.size = (uint32_t)size;
    b->records[b->count++] = w->record;
    b->size += size;
    w->has_record = false;
    return 1;
}

int dx_warc_rows_fill(struct dx_warc_rows *w, struct dx_batch *b, struct dx_error *err)
{
    struct dx_error unsaid = DX_ERROR_INIT;
    int rc = prepare(w, b, err);

    if (err == NULL) /* what damage says becomes the text of a record */
        err = &unsaid;

    while (rc >= 0 && b->size < DX_BATCH_SIZE) {
        rc = next_record(w, err);
        if (rc <= 0)
            break;
        rc = put_record(w, b, err);
        if (rc == 0 && b->count == 0) {
            w->partial = true;
            return DX_RECORDS_GROW;
        }
        if (rc == 0)
            break;
    }
    return rc < 0 ? rc : b->count > 0;
}
