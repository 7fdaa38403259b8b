/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/bytes/zip_directory.h"

#define LOCAL_MAGIC 0x04034b50u
#define ENTRY_MAGIC 0x02014b50u
#define END_MAGIC 0x06054b50u
#define END64_MAGIC 0x06064b50u
#define LOCATOR_MAGIC 0x07064b50u
#define END_SIZE 22
#define END64_SIZE 56
#define LOCATOR_SIZE 20
#define ENTRY_SIZE 46
#define ZIP64_FIELD 1
#define ENCRYPTED 1u
#define IN_FIELD UINT32_MAX /* the number stands in the zip64 field */

bool dx_zip_begins(struct dx_span bytes)
{
    return bytes.size >= 4 && dx_load_u32(bytes.data) == LOCAL_MAGIC;
}

/* Where the record of the end begins: its comment ends the file. */
static bool find_end(struct dx_span tail, size_t *at)
{
    for (size_t i = tail.size < END_SIZE ? 0 : tail.size - END_SIZE + 1; i-- > 0;)
        if (dx_load_u32(tail.data + i) == END_MAGIC &&
            dx_load_u16(tail.data + i + 20) == tail.size - i - END_SIZE) {
            *at = i;
            return true;
        }
    return false;
}

/* The numbers of the zip64 record, which the locator in front of the end leads to. */
static const char *read_end64(struct dx_span tail, uint64_t file_size, size_t end,
                              struct dx_zip_directory *dir)
{
    uint64_t begin = file_size - tail.size; /* of the tail */
    uint64_t at;

    if (end < LOCATOR_SIZE || dx_load_u32(tail.data + end - LOCATOR_SIZE) != LOCATOR_MAGIC)
        return "its zip64 locator is missing";
    at = dx_load_u64(tail.data + end - LOCATOR_SIZE + 8);
    if (at < begin || at - begin > tail.size || tail.size - (at - begin) < END64_SIZE ||
        dx_load_u32(tail.data + (at - begin)) != END64_MAGIC)
        return "its zip64 record is not at its end";
    dir->size = dx_load_u64(tail.data + (at - begin) + 40);
    dir->offset = dx_load_u64(tail.data + (at - begin) + 48);
    return NULL;
}

const char *dx_zip_end(struct dx_span tail, uint64_t file_size, struct dx_zip_directory *dir)
{
    const char *why = NULL;
    size_t end;

    if (!find_end(tail, &end))
        return "it does not end with a directory";
    if (dx_load_u16(tail.data + end + 4) != dx_load_u16(tail.data + end + 6))
        return "it is one of several parts";
    dir->size = dx_load_u32(tail.data + end + 12);
    dir->offset = dx_load_u32(tail.data + end + 16);
    if (dir->size == IN_FIELD || dir->offset == IN_FIELD)
        why = read_end64(tail, file_size, end, dir);
    if (why == NULL && (dir->offset > file_size || dir->size > file_size - dir->offset))
        why = "its directory lies outside of it";
    return why;
}

/* Those of the three numbers that the entry leaves to its zip64 field, in this order. */
static bool read_zip64(struct dx_span extra, uint64_t *size, struct dx_zip_member *m)
{
    struct dx_bytes r = dx_bytes_of(extra);

    while (!r.failed && dx_bytes_left(&r) >= 4) {
        uint16_t id = dx_bytes_u16(&r);
        struct dx_bytes field = dx_bytes_of(dx_bytes_take(&r, dx_bytes_u16(&r)));
        uint64_t *const number[] = { size, &m->size, &m->local };

        if (id != ZIP64_FIELD || r.failed)
            continue;
        for (size_t i = 0; i < 3; i++)
            if (*number[i] == IN_FIELD)
                *number[i] = dx_bytes_u64(&field);
        return !field.failed;
    }
    return false;
}

int dx_zip_next(struct dx_bytes *directory, struct dx_zip_member *m)
{
    struct dx_span head, extra;
    uint64_t size;

    if (dx_bytes_left(directory) == 0)
        return 0;
    head = dx_bytes_take(directory, ENTRY_SIZE);
    if (head.size != ENTRY_SIZE || dx_load_u32(head.data) != ENTRY_MAGIC)
        return -1;
    m->size = dx_load_u32(head.data + 20);
    size = dx_load_u32(head.data + 24);
    m->local = dx_load_u32(head.data + 42);
    m->name = dx_bytes_take(directory, dx_load_u16(head.data + 28));
    extra = dx_bytes_take(directory, dx_load_u16(head.data + 30));
    (void)dx_bytes_take(directory, dx_load_u16(head.data + 32)); /* a comment */
    if (directory->failed)
        return -1;
    if ((m->size == IN_FIELD || size == IN_FIELD || m->local == IN_FIELD) &&
        !read_zip64(extra, &size, m))
        return -1;
    m->is_stored = (dx_load_u16(head.data + 8) & ENCRYPTED) == 0 &&
                   dx_load_u16(head.data + 10) == 0 && size == m->size;
    return 1;
}

const char *dx_zip_data(struct dx_span head, const struct dx_zip_member *m, uint64_t *offset)
{
    if (head.size < DX_ZIP_LOCAL || dx_load_u32(head.data) != LOCAL_MAGIC)
        return "no member begins where its directory says";
    *offset = m->local + DX_ZIP_LOCAL + dx_load_u16(head.data + 26) + dx_load_u16(head.data + 28);
    return NULL;
}
