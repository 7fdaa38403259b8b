/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/bytes/foreign_format.h"

#include <ctype.h>
#include <strings.h>

#include "builder/input/bytes/cdx_line.h"
#include "builder/input/bytes/container.h"

#define INGEST(format) " | domaindex ingest --format " format " ... -"
#define BY_DUCKDB(from)                                   \
    "convert it: duckdb -c \"copy (select url from " from \
    ") to '/dev/stdout' (format csv, header)\"" INGEST("csv")
#define BY_PYARROW(import, table)                                                      \
    "convert it: python3 -c \"import " import ", pyarrow.csv as c; c.write_csv(" table \
    ", '/dev/stdout')\"" INGEST("csv")
#define BY_ICONV(from) "convert it: iconv -f " from " -t UTF-8 FILE | domaindex ingest ... -"
#define FEATHER_WAY BY_PYARROW("pyarrow.feather as f", "f.read_table('FILE')")
#define TO_CSV "convert it to CSV or JSON lines first"
#define UNPACK(command) "unpack it first: " command " FILE | domaindex ingest ... -"

struct foreign {
    size_t at;
    const char *magic;
    size_t size;
    const char *what;
    const char *way_out;
};

#define MAGIC(bytes) bytes, sizeof(bytes) - 1

static const struct foreign binaries[] = {
    { 0, MAGIC("PAR1"), "a Parquet file that is compressed, in a stream or under another --format",
      "it is read by ranges, in any order: unpack it (gunzip FILE.gz) or save it (cat > "
      "FILE.parquet), and name that file or object, with no --format but parquet" },
    { 0, MAGIC("PARE"), "a Parquet file whose footer is encrypted", "decrypt it first" },
    { 0, MAGIC("ARROW1"), "a Feather (Arrow IPC) file", FEATHER_WAY },
    { 0, MAGIC("FEA1"), "a Feather version 1 file", FEATHER_WAY },
    { 0, MAGIC("\xFF\xFF\xFF\xFF"), "an Arrow IPC stream",
      BY_PYARROW("pyarrow as a", "a.ipc.open_stream('FILE').read_all()") },
    { 0, MAGIC("SQLite format 3\0"), "an SQLite database",
      "export a table: sqlite3 -csv -header FILE 'select url from TABLE' | domaindex ingest "
      "--format csv ... -" },
    { 8, MAGIC("DUCK"), "a DuckDB database",
      "export a table: duckdb FILE -c \"copy (select url from TABLE) to '/dev/stdout' (format csv, "
      "header)\" | domaindex ingest --format csv ... -" },
    { 0, MAGIC("ORC\x0a"), "an ORC file", TO_CSV },
    { 0, MAGIC("Obj\x01"), "an Avro file", BY_DUCKDB("read_avro('FILE')") },
    { 0, MAGIC("\x04\x22\x4D\x18"), "lz4", UNPACK("lz4 -dc") },
    { 0, MAGIC("LZIP\x01"), "lzip", UNPACK("lzip -dc") },
    { 0, MAGIC("7z\xBC\xAF\x27\x1C"), "a 7-Zip archive", UNPACK("7z x -so") },
    { 0, MAGIC("Rar!\x1A\x07"), "a RAR archive", UNPACK("unrar p -inul") },
    { 0, MAGIC("PK\x03\x04"), "a zip archive",
      UNPACK("unzip -p") "; a WACZ file is read from a disk or an address, not from a pipe" },
    { 257, MAGIC("ustar"), "a tar archive", UNPACK("tar -xOf") },
    { 0, MAGIC("%PDF-"), "a PDF document", "extract its links first" },
    { 0, MAGIC("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), "an old Excel or Office file",
      "save it as CSV UTF-8 first" },
    { 0, MAGIC("\x89HDF\r\n\x1A\n"), "an HDF5 file", TO_CSV },
    { 0, MAGIC("\x93NUMPY"), "a NumPy array", TO_CSV },
    { 0, MAGIC("\xFF\xFE\0\0"), "UTF-32 text", BY_ICONV("UTF-32") },
    { 0, MAGIC("\0\0\xFE\xFF"), "UTF-32 text", BY_ICONV("UTF-32") },
    { 0, MAGIC("\xFF\xFE"), "UTF-16 text", BY_ICONV("UTF-16") },
    { 0, MAGIC("\xFE\xFF"), "UTF-16 text", BY_ICONV("UTF-16") },
};

#define LOC_PIPE                                                                             \
    "take its addresses: grep -oP '(?<=<loc>)[^<]+' FILE | sed 's/&amp;/\\&/g' | domaindex " \
    "ingest "                                                                                \
    "--format list ... -"

/* Matched without regard to case: HTML is written either way. */
static const struct foreign texts[] = {
    { 0, MAGIC("WARC/"), "a WARC file of another version than 0.17 to 1.1",
      "convert it: warcio recompress" },
    { 0, MAGIC("<?xml"), "XML (a sitemap?)", LOC_PIPE },
    { 0, MAGIC("<urlset"), "an XML sitemap", LOC_PIPE },
    { 0, MAGIC("<sitemapindex"), "an XML sitemap", LOC_PIPE },
    { 0, MAGIC("<rss"), "an RSS feed", "take its links first" },
    { 0, MAGIC("<!doctype html"), "an HTML page",
      "check the download: this may be an error page of the site" },
    { 0, MAGIC("<html"), "an HTML page",
      "check the download: this may be an error page of the site" },
    { 0, MAGIC("version https://git-lfs.github.com/"), "a Git LFS pointer, not the data",
      "fetch the data: git lfs pull" },
};

static int refuse(const char *name, const char *what, const char *way_out, struct dx_error *err)
{
    return dx_fail(err, DX_E_UNSUPPORTED, "%s: is %s, which ingest does not read; %s", name, what,
                   way_out);
}

static bool holds(struct dx_span s, const char *text)
{
    return memmem(s.data, s.size, text, strlen(text)) != NULL;
}

int dx_foreign_format_check(struct dx_span head, const char *name, struct dx_error *err)
{
    for (size_t i = 0; i < sizeof binaries / sizeof binaries[0]; i++) {
        const struct foreign *f = &binaries[i];

        if (head.size < f->at + f->size || memcmp(head.data + f->at, f->magic, f->size) != 0)
            continue;
        if (memcmp(f->magic, "PK", 2) == 0 &&
            (holds(head, "[Content_Types].xml") || holds(head, "xl/")))
            return refuse(name, "an Excel workbook (xlsx)",
                          "convert it: xlsx2csv FILE | domaindex ingest --format csv ... -", err);
        return refuse(name, f->what, f->way_out, err);
    }
    return DX_OK;
}

static bool begins(struct dx_span head, const struct foreign *f)
{
    return head.size >= f->size && strncasecmp((const char *)head.data, f->magic, f->size) == 0;
}

/* "[[": rows as arrays, as the Wayback Machine answers with output=json. */
static bool is_rows(struct dx_span head)
{
    size_t brackets = 0;

    for (size_t i = 0; i < head.size && brackets < 2; i++)
        if (head.data[i] == '[')
            brackets++;
        else if (strchr(" \t\r\n", head.data[i]) == NULL || head.data[i] == 0)
            return false;
    return brackets == 2;
}

/* 2024-01-02T03:04:05 or with a blank between, where CDX has digits alone. */
static bool is_iso_time(struct dx_span s)
{
    static const char shape[] = "dddd-dd-dd";

    for (size_t i = 0; i < sizeof shape - 1; i++)
        if (i >= s.size || (shape[i] == 'd' ? !isdigit(s.data[i]) : s.data[i] != '-'))
            return false;
    return true;
}

/* Lines of CDX or CDXJ but for their time: a key with ')' and what a date has. */
static bool is_cdx_with_iso_time(struct dx_span head)
{
    const uint8_t *end = memchr(head.data, '\n', head.size);
    struct dx_span line = dx_span_of(head.data,
                                     end == NULL ? head.size : (size_t)(end - head.data));
    const uint8_t *blank = memchr(line.data, ' ', line.size);
    size_t key = blank == NULL ? 0 : (size_t)(blank - line.data);

    return key > 0 && memchr(line.data, ')', key) != NULL &&
           is_iso_time(dx_span_of(line.data + key + 1, line.size - key - 1));
}

static int refuse_packed(enum dx_container_kind kind, const char *name, struct dx_error *err)
{
    static const char *const unpack[] = { [DX_CONTAINER_NONE] = "cat",
                                          [DX_CONTAINER_GZIP] = "zcat",
                                          [DX_CONTAINER_ZSTD] = "zstdcat",
                                          [DX_CONTAINER_BZIP2] = "bzcat",
                                          [DX_CONTAINER_XZ] = "xzcat" };

    return dx_fail(err, DX_E_UNSUPPORTED,
                   "%s: is compressed twice: unpacked it is %s again; unpack both: ... FILE | %s | "
                   "domaindex ingest ... -",
                   name, dx_container_name(kind), unpack[kind]);
}

int dx_foreign_empty_check(const char *name, struct dx_error *err)
{
    static const char *const endings[] = { ".gz",   ".zst", ".xz",      ".bz2",  ".zip", ".wacz",
                                           ".warc", ".arc", ".parquet", ".parq", ".pq" };
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t m = strlen(endings[i]);

        if (n > m && strcasecmp(name + n - m, endings[i]) == 0)
            return dx_fail(err, DX_E_TRUNCATED,
                           "%s: has no byte, and no %s file is empty; fetch it again, or leave it "
                           "out",
                           name, endings[i]);
    }
    return DX_OK;
}

int dx_foreign_text_check(struct dx_span head, const char *name, struct dx_error *err)
{
    enum dx_container_kind packed = dx_container_find(head);

    if (packed != DX_CONTAINER_NONE)
        return refuse_packed(packed, name, err);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (begins(head, &texts[i]))
            return refuse(name, texts[i].what, texts[i].way_out, err);
    if (is_cdx_with_iso_time(head))
        return refuse(
            name, "CDX or CDXJ whose second field is a date with dashes",
            "a CDX time is 14 digits; rewrite it: sed -E 's/^([^ ]+ )([0-9]{4})-([0-9]{2})-"
            "([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})[^ ]*/\\1\\2\\3\\4\\5\\6\\7/' "
            "FILE | domaindex ingest ... -",
            err);
    if (dx_cdx_kind(head) == DX_CDX_CLUSTER)
        return refuse(
            name, "the cluster index of a ZipNum CDX",
            "name it as FILE.idx beside its shards, or name those: domaindex ingest ... cdx-*.gz",
            err);
    if (is_rows(head))
        return refuse(name, "a JSON array of arrays",
                      "convert it: jq -r '.[] | @csv' FILE | domaindex ingest --format csv ... -",
                      err);
    return DX_OK;
}
