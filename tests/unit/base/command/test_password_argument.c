/* SPDX-License-Identifier: Apache-2.0
 * Passwords in arguments: overwritten where the system shows them, and whole where they are used.
 */
#include "base/command/password_argument.h"

#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    const char *argument;
    const char *shown; /* NULL: as it was */
} rows[] = {
    { "amqp://crawl:a-b@host:5672/v?queue=q", "amqp://crawl:xxx@host:5672/v?queue=q" },
    { "--from=amqps://:abc@host", "--from=amqps://:xxx@host" },
    { "postgresql://u:p@ss/w@host/db", "postgresql://u:xxxxxx@host/db" },
    { "postgres://u:p%40@host/db?password=abc", "postgres://u:xxxx@host/db?password=xxx" },
    { "postgresql://u@host/db?password=abc&x=y", "postgresql://u@host/db?password=xxxxxxx" },
    { "host=h password = 'a b' dbname=d", "host=h password =xxxxxxxxxxxxxxx" },
    { "sslpassword=abc", "sslpassword=xxx" },
    { "password password=a", "password password=x" },
    { "postgresql://u@host:5432/db", NULL },
    { "postgresql://u:@host/db", NULL },
    { "https://example.com:8080/x", NULL },
    { "a:b@c", NULL },
    { "password", NULL },
    { "password=", NULL },
    { "passwords.txt", NULL },
    { "", NULL },
};

#define ROWS (sizeof rows / sizeof rows[0])

int main(void)
{
    char program[] = "amqp://u:program@host";
    char texts[ROWS][64];

    for (size_t i = 0; i < ROWS; i++) {
        char *argv[] = { program, texts[i], NULL };
        bool any;

        (void)snprintf(texts[i], sizeof texts[i], "%s", rows[i].argument);
        any = dx_password_arguments_hide(2, argv);
        EXPECT(any == (rows[i].shown != NULL), "'%s': %d", rows[i].argument, any);
        EXPECT(strcmp(texts[i], any ? rows[i].shown : rows[i].argument) == 0, "'%s': shown as '%s'",
               rows[i].argument, texts[i]);
        EXPECT(strcmp(argv[1], rows[i].argument) == 0, "'%s': used as '%s'", rows[i].argument,
               argv[1]);
        if (argv[1] != texts[i])
            free(argv[1]);
    }
    EXPECT(strcmp(program, "amqp://u:program@host") == 0, "the program's name: '%s'", program);
    return failures > 0;
}
