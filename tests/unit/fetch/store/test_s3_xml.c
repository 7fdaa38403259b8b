/* SPDX-License-Identifier: Apache-2.0
 * Replies of S3 stores: what is read of them, and what is refused: depth, lengths, document types
 * and their entities, cut replies, half a listing.
 */
#include "base/buf.h"
#include "fetch/store/s3_xml.h"
#include "tests/support/damage.h"

#include <time.h>

static unsigned failures;

#define LIST(inside) "<ListBucketResult xmlns='http://s3'>" inside "</ListBucketResult>"
#define END "<IsTruncated>false</IsTruncated>"
#define KEY(key) "<Contents><Key>" key "</Key><Size>7</Size><ETag>&quot;e&quot;</ETag></Contents>"
#define DEEP "<a><a><a><a><a><a>" /* the seventh level of a listing */
#define DEEP_END "</a></a></a></a></a></a>"

static const struct {
    const char *text;
    const char *keys; /* "key=size,"...; NULL: refused */
    const char *words;
} listings[] = {
    { LIST(END), "", NULL },
    { "\xef\xbb\xbf<?xml version='1.0' encoding='UTF-8'?>\n<!-- c -->" LIST(KEY("a")
                                                                                END) "\n<!-- d -->",
      "a=7,", NULL },
    { "<?xml version='1.0' encoding='UTF-16'?>" LIST(KEY("a") END), "a=7,", NULL },
    { "<s3:ListBucketResult xmlns:s3='x' b='>'><s3:Contents><s3:Key>a</s3:Key><s3:Size>0</s3:Size>"
      "</s3:Contents><s3:IsTruncated>false</s3:IsTruncated></s3:ListBucketResult>",
      "a=0,", NULL },
    { LIST(END KEY("a&amp;&#98;&#x63;<!-- -->d") KEY("\xc3\xbc")), "a&bcd=7,\xc3\xbc=7,", NULL },
    { LIST("<EncodingType>url</EncodingType>" KEY("a%2Bb+%C3%BC") END), "a+b \xc3\xbc=7,", NULL },
    { LIST(KEY("a") END DEEP DEEP_END), "a=7,", NULL },
    { LIST(KEY("a") END DEEP "<a><a/></a>" DEEP_END), NULL, "nested too deeply" },
    { LIST("<EncodingType>url</EncodingType>" KEY("a%00") END), NULL, "encoded wrongly" },
    { LIST(KEY("a&#0;") END), NULL, "not XML" },
    { LIST(KEY("a&nbsp;") END), NULL, "not XML" },
    { LIST(KEY("a\xff") END), NULL, "not XML" },
    { LIST(KEY("a")), NULL, "0 times IsTruncated" },
    { LIST(END END), NULL, "2 times IsTruncated" },
    { LIST("<IsTruncated>True</IsTruncated>"), NULL, "neither true nor false" },
    { LIST("<IsTruncated>true</IsTruncated>"), NULL, "says not where" },
    { LIST(END "<Contents><Key>a</Key></Contents>"), NULL, "without key or size" },
    { LIST(END "<Contents><Key>a</Key><Size>-1</Size></Contents>"), NULL, "without key or size" },
    { LIST(END) LIST(END), NULL, "not XML" },
    { LIST(END) "x", NULL, "not XML" },
    { "<ListBucketResult>" END, NULL, "not XML" },
    { "<ListBucketResult><a></b></ListBucketResult>", NULL, "not XML" },
    { "<Error/>", NULL, "a <Error> and not a <ListBucketResult>" },
    { "", NULL, "not XML" },
    { "<!DOCTYPE ListBucketResult SYSTEM 'http://127.0.0.1/x'>" LIST(END), NULL, "document type" },
    { "<!DOCTYPE x [<!ENTITY a 'b'>]>" LIST(KEY("&a;") END), NULL, "document type" },
};

static int keep(void *ctx, const struct dx_s3_listed *listed, struct dx_error *err)
{
    (void)err;
    dx_buf_fmt(ctx, "%s=%llu,", listed->key, (unsigned long long)listed->size);
    return strcmp(listed->etag, "\"e\"") == 0 || listed->etag[0] == '\0' ? DX_OK : DX_E_CORRUPT;
}

static int list(struct dx_span text, struct dx_buf *keys, struct dx_error *err)
{
    static struct dx_s3_page page;

    dx_buf_clear(keys);
    return dx_s3_xml_list(text, &page, keep, keys, err);
}

static void test_listings(void)
{
    struct dx_buf keys = DX_BUF_INIT(1 << 20);

    for (size_t i = 0; i < sizeof listings / sizeof listings[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        int rc = list(dx_span_str(listings[i].text), &keys, &err);

        if (listings[i].keys != NULL)
            EXPECT(rc == DX_OK && dx_span_equal(dx_span_of(keys.data, keys.size),
                                                dx_span_str(listings[i].keys)),
                   "row %zu: %d %s, %.*s", i, rc, err.text, (int)keys.size,
                   (const char *)keys.data);
        else
            EXPECT(rc == DX_E_CORRUPT && keys.size == 0 &&
                       strstr(err.text, listings[i].words) != NULL,
                   "row %zu (%s): %d %s", i, listings[i].words, rc, err.text);
    }
    dx_buf_release(&keys);
}

/* Ten entities, each of ten of the one before: 10^10 bytes for a parser that expands them. */
static void test_entities(void)
{
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_buf keys = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    clock_t began = clock();

    dx_buf_str(&text, "<!DOCTYPE x [<!ENTITY e0 'ha'>");
    for (int i = 1; i <= 10; i++) {
        dx_buf_fmt(&text, "<!ENTITY e%d '", i);
        for (int k = 0; k < 10; k++)
            dx_buf_fmt(&text, "&e%d;", i - 1);
        dx_buf_str(&text, "'>");
    }
    dx_buf_str(&text, "]>" LIST(KEY("&e10;") END));
    EXPECT(list(dx_span_of(text.data, text.size), &keys, &err) == DX_E_CORRUPT && keys.size == 0 &&
               strstr(err.text, "document type") != NULL,
           "%s", err.text);
    EXPECT(clock() - began < CLOCKS_PER_SEC, "it took its time");
    dx_buf_release(&keys);
    dx_buf_release(&text);
}

/* `what` so many times between a listing's tags: bytes and elements have bounds. */
static void test_bounds(void)
{
    static const struct {
        const char *front, *what, *back;
        size_t times;
        int rc;
        const char *words;
    } rows[] = {
        { "<Contents><Key>", "k", "</Key><Size>1</Size></Contents>", 2048, DX_OK, "" },
        { "<Contents><Key>", "k", "</Key><Size>1</Size></Contents>", 2049, DX_E_LIMIT,
          "key of more" },
        { "<Contents><Key>", "k", "</Key><Size>1</Size></Contents>", 8192, DX_E_LIMIT,
          "key of more" },
        { "<Contents><Key>a</Key><Size>", "9", "</Size></Contents>", 19, DX_OK, "" },
        { "<Contents><Key>a</Key><Size>", "9", "</Size></Contents>", 20, DX_E_CORRUPT,
          "without key or size" },
        { "<Contents><Key>a</Key><Size>", "9", "</Size></Contents>", 0, DX_E_CORRUPT,
          "without key or size" },
        { "<x>", "k", "</x>", 8192, DX_OK, "" },
        { "<x>", "k", "</x>", 8193, DX_E_CORRUPT, "text is too long" },
        { "<x>", "<!-- -->k", "</x>", 8193, DX_E_CORRUPT, "text is too long" },
        { "<", "x", "/>", 63, DX_OK, "" },
        { "<", "x", "/>", 64, DX_E_CORRUPT, "name is too long" },
        { "<x ", "y", "=''/>", 100000, DX_OK, "" },
        { "<NextContinuationToken>", "t", "</NextContinuationToken>", 4096, DX_OK, "" },
        { "<NextContinuationToken>", "t", "</NextContinuationToken>", 4097, DX_E_LIMIT, "token" },
        { "", "<x>", "", 1000000, DX_E_CORRUPT, "nested too deeply" },
    };
    struct dx_buf text = DX_BUF_INIT(16 << 20);
    struct dx_buf keys = DX_BUF_INIT(1 << 20);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        dx_buf_clear(&text);
        dx_buf_str(&text, "<ListBucketResult>" END);
        dx_buf_str(&text, rows[i].front);
        for (size_t k = 0; k < rows[i].times; k++)
            dx_buf_str(&text, rows[i].what);
        dx_buf_str(&text, rows[i].back);
        dx_buf_str(&text, "</ListBucketResult>");
        rc = list(dx_span_of(text.data, text.size), &keys, &err);
        EXPECT(rc == rows[i].rc && strstr(err.text, rows[i].words) != NULL, "row %zu: %d %s", i, rc,
               err.text);
    }
    dx_buf_release(&keys);
    dx_buf_release(&text);
}

static void test_others(void)
{
    struct dx_s3_error e;
    struct dx_error err = DX_ERROR_INIT;
    char id[DX_S3_UPLOAD_ID_MAX + 1];
    char etag[DX_SOURCE_ETAG];

    EXPECT(
        dx_s3_xml_error(
            dx_span_str("<Error><Code>No<![CDATA[Such]]>Key !</Code><Message>a\nb\xc3\xbc</Message>"
                        "<Resource><Code>x</Code></Resource></Error>"),
            &e) &&
            strcmp(e.code, "NoSuchKey") == 0 && strcmp(e.message, "a?b??") == 0,
        "'%s' '%s'", e.code, e.message);
    EXPECT(!dx_s3_xml_error(dx_span_str("<ok/>"), &e) && !dx_s3_xml_error(dx_span_str(""), &e),
           "no error");
    EXPECT(dx_s3_xml_upload_id(dx_span_str("<InitiateMultipartUploadResult><UploadId>u1</UploadId>"
                                           "</InitiateMultipartUploadResult>"),
                               id, &err) == DX_OK &&
               strcmp(id, "u1") == 0,
           "%s", err.text);
    EXPECT(dx_s3_xml_upload_id(dx_span_str("<InitiateMultipartUploadResult/>"), id, &err) ==
               DX_E_CORRUPT,
           "no id");
    EXPECT(dx_s3_xml_complete(dx_span_str("<CompleteMultipartUploadResult><ETag>e-2</ETag>"
                                          "</CompleteMultipartUploadResult>"),
                              etag, &err) == DX_OK &&
               strcmp(etag, "\"e-2\"") == 0,
           "%s %s", etag, err.text);
}

/* An ETag is a condition of a later request: one that cannot be used is refused, and not sent on. */
static void test_etags(void)
{
    static const struct {
        const char *text, *etag; /* "": refused */
    } rows[] = {
        { "e", "\"e\"" },
        { "&quot;e&quot;", "\"e\"" },
        { "&quot;&quot;", "\"\"" },
        { "", "\"\"" },
        { "W/&quot;e&quot;", "" },
        { "&quot;e", "" },
        { "e&quot;f", "" },
        { "e f", "" },
        { "e&#10;f", "" },
        { "0123456789012345678901234567890123456789012345678901234567890123456789"
          "0123456789012345678901234567890123456789012345678901234567890123456789",
          "" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int copy = 0; copy < 2; copy++) {
            struct dx_error err = DX_ERROR_INIT;
            const char *root = copy == 1 ? "CopyObjectResult" : "CompleteMultipartUploadResult";
            char etag[DX_SOURCE_ETAG];
            char text[400];
            int rc;

            (void)snprintf(text, sizeof text, "<%s><ETag>%s</ETag></%s>", root, rows[i].text, root);
            rc = copy == 1 ? dx_s3_xml_copy(dx_span_str(text), etag, &err)
                           : dx_s3_xml_complete(dx_span_str(text), etag, &err);
            EXPECT(rc == (rows[i].etag[0] == '\0' ? DX_E_CORRUPT : DX_OK) &&
                       strcmp(etag, rows[i].etag) == 0,
                   "%s: %d '%s' %s", text, rc, etag, err.text);
        }
}

static void test_upload_ids(void)
{
    static const size_t sizes[] = { 0, 1, DX_S3_UPLOAD_ID_MAX, DX_S3_UPLOAD_ID_MAX + 1 };
    struct dx_buf text = DX_BUF_INIT(1 << 14);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct dx_error err = DX_ERROR_INIT;
        char id[DX_S3_UPLOAD_ID_MAX + 1];
        bool fits = i == 1 || i == 2;
        int rc;

        dx_buf_clear(&text);
        dx_buf_str(&text, "<InitiateMultipartUploadResult><UploadId>");
        for (size_t k = 0; k < sizes[i]; k++)
            dx_buf_u8(&text, 'u');
        dx_buf_str(&text, "</UploadId></InitiateMultipartUploadResult>");
        rc = dx_s3_xml_upload_id(dx_span_of(text.data, text.size), id, &err);
        EXPECT(rc == (fits ? DX_OK : DX_E_CORRUPT) && strlen(id) == (fits ? sizes[i] : 0),
               "an id of %zu bytes: %d %s", sizes[i], rc, err.text);
    }
    dx_buf_release(&text);
}

/* A code goes into messages and decides what is done: only what may stand in one is kept, and so much of it. */
static void test_error_texts(void)
{
    struct dx_buf text = DX_BUF_INIT(1 << 14);
    struct dx_s3_error e;

    EXPECT(dx_s3_xml_error(dx_span_str("<Error><Code>aZ09_-.:!/@[`{</Code></Error>"), &e) &&
               strcmp(e.code, "aZ09_-.:") == 0 && e.message[0] == '\0',
           "'%s' '%s'", e.code, e.message);
    dx_buf_str(&text, "<Error><Code>");
    for (size_t i = 0; i < 1000; i++)
        dx_buf_u8(&text, 'c');
    dx_buf_str(&text, "</Code><Message>");
    for (size_t i = 0; i < 1000; i++)
        dx_buf_u8(&text, i % 2 == 0 ? '~' : 0x7f);
    dx_buf_str(&text, "</Message></Error>");
    EXPECT(dx_s3_xml_error(dx_span_of(text.data, text.size), &e) &&
               strlen(e.code) == DX_S3_CODE_MAX - 1 && strlen(e.message) == DX_S3_MESSAGE_MAX - 1 &&
               strncmp(e.message, "~?~?", 4) == 0,
           "'%s' '%s'", e.code, e.message);
    dx_buf_release(&text);
}

int main(void)
{
    test_listings();
    test_etags();
    test_upload_ids();
    test_error_texts();
    test_entities();
    test_bounds();
    test_others();
    return failures > 0;
}
