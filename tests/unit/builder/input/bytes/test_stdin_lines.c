/* SPDX-License-Identifier: Apache-2.0
 * Lines of a stream: as they are written whatever the pieces, also those at and over the size of the buffer; answers go out before
 * a read that may wait.
 */
#include "builder/input/bytes/stdin_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "tests/support/damage.h"

#define ROOM sizeof((struct dx_stdin_lines *)0)->bytes

static unsigned failures;
static struct dx_stdin_lines in;
static FILE *answers;

static void add_line(struct dx_buf *text, char byte, size_t size, bool ended)
{
    for (size_t i = 0; i < size; i++)
        dx_buf_u8(text, (uint8_t)byte);
    if (ended)
        dx_buf_u8(text, '\n');
}

static int file_of(const struct dx_buf *text)
{
    FILE *f = tmpfile();
    int fd;

    if (f == NULL || fwrite(text->data, 1, text->size, f) != text->size || fflush(f) != 0)
        exit(1);
    fd = dup(fileno(f));
    (void)fclose(f);
    (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

static void expect_line(char byte, size_t size, const char *what)
{
    struct dx_span line = { NULL, 0 };
    bool is_long = size >= ROOM;
    bool same = true;

    EXPECT(dx_stdin_lines_next(&in, &line), "%s: no line of %zu", what, size);
    EXPECT(line.size == (is_long ? DX_URL_MAX + 1 : size), "%s: %zu bytes of %zu", what, line.size,
           size);
    for (size_t i = 0; !is_long && i < line.size; i++)
        same = same && line.data[i] == (uint8_t)byte;
    EXPECT(same, "%s: other bytes", what);
}

static void check_one_byte(void)
{
    struct dx_buf text = DX_BUF_INIT(16);
    struct dx_span line;
    int fd;

    dx_buf_u8(&text, 'a');
    fd = file_of(&text);
    dx_stdin_lines_init(&in, fd, answers);
    expect_line('a', 1, "all there is");
    EXPECT(!dx_stdin_lines_next(&in, &line) && in.error == 0, "an end");
    (void)close(fd);
    dx_buf_release(&text);
}

/* Lines of these sizes, one after the other, then a short one; the last line is ended or not. */
static void check_sizes(bool ended)
{
    static const size_t sizes[] = { 0,        1,        8192,     8193,         ROOM - 1, ROOM,
                                    ROOM + 1, 2 * ROOM, 3 * ROOM, 3 * ROOM + 5, 7 };
    const size_t count = sizeof sizes / sizeof *sizes;
    struct dx_buf text = DX_BUF_INIT(64 * ROOM);
    struct dx_span line;
    int fd;

    for (size_t i = 0; i < count; i++) {
        add_line(&text, 'a', sizes[i], true);
        add_line(&text, 'b', 3, i + 1 < count || ended);
    }
    fd = file_of(&text);
    dx_stdin_lines_init(&in, fd, answers);
    for (size_t i = 0; i < count; i++) {
        expect_line('a', sizes[i], "a line");
        expect_line('b', 3, "the line behind it");
    }
    EXPECT(!dx_stdin_lines_next(&in, &line) && line.size == 0 && in.error == 0, "an end");
    EXPECT(!dx_stdin_lines_next(&in, &line), "still an end");
    (void)close(fd);
    dx_buf_release(&text);
}

/* A long line that nothing ends. */
static void check_long_end(void)
{
    struct dx_buf text = DX_BUF_INIT(64 * ROOM);
    struct dx_span line;
    int fd;

    add_line(&text, 'a', 2 * ROOM + 9, false);
    fd = file_of(&text);
    dx_stdin_lines_init(&in, fd, answers);
    expect_line('a', 2 * ROOM + 9, "without an end");
    EXPECT(!dx_stdin_lines_next(&in, &line) && in.error == 0, "an end");
    (void)close(fd);
    dx_buf_release(&text);
}

/* A writer of half a line, then the rest, and waits for the answer to the line before. */
static void check_pieces(void)
{
    int ends[2];
    struct dx_span line;
    long flushed;

    if (pipe(ends) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
        exit(1);
    dx_stdin_lines_init(&in, ends[0], answers);
    EXPECT(write(ends[1], "one\ntw", 6) == 6 && dx_stdin_lines_next(&in, &line) &&
               dx_span_equal(line, dx_span_str("one")),
           "the first line");
    EXPECT(fputs("answer", answers) >= 0, "an answer");
    EXPECT(write(ends[1], "o\n", 2) == 2 && dx_stdin_lines_next(&in, &line) &&
               dx_span_equal(line, dx_span_str("two")),
           "the second line");
    flushed = (long)lseek(fileno(answers), 0, SEEK_END);
    EXPECT(flushed == 6, "%ld bytes of the answer went out before the read", flushed);
    EXPECT(!dx_stdin_lines_next(&in, &line) && in.error == EAGAIN, "a read that fails: %d",
           in.error);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    answers = tmpfile();
    if (answers == NULL)
        return 1;
    check_one_byte();
    check_sizes(true);
    check_sizes(false);
    check_long_end();
    check_pieces();
    (void)fclose(answers);
    return failures > 0;
}
