/* SPDX-License-Identifier: Apache-2.0
 * Addresses of queues: their parts, what is refused, and that no word repeats what may be secret.
 */
#include "builder/exchange/queue/amqp_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static const struct {
    const char *text;
    const char *want; /* tls port host user password vhost queue; NULL: refused */
} rows[] = {
    { "amqp://h?queue=q", "0 5672 h guest guest / q" },
    { "amqp://h/?queue=q", "0 5672 h guest guest / q" },
    { "amqps://h/v?queue=q", "1 5671 h guest guest v q" },
    { "amqp://h/%2F?queue=q", "0 5672 h guest guest / q" },
    { "amqp://h//?queue=q", "0 5672 h guest guest / q" },
    { "amqp://h/%2Fa/b?queue=q", "0 5672 h guest guest /a/b q" },
    { "amqp://u:p@h:1/v?queue=q", "0 1 h u p v q" },
    { "amqp://u:@h/v?queue=q", "0 5672 h u  v q" },
    { "amqp://u@h/v?queue=q", "0 5672 h u guest v q" },
    { "amqp://u%3A:p%40%2f@h/v?queue=a%20%26", "0 5672 h u: p@/ v a &" },
    { "amqp://u:p:q@r@h/v?queue=q", "0 5672 h u p:q@r v q" },
    { "amqp://[::1]:99/v?queue=q", "0 99 ::1 guest guest v q" },
    { "amqp://[::1]/v?queue=q", "0 5672 ::1 guest guest v q" },
    { "http://secret@h/?queue=q", NULL },
    { "amqp://secret@/v?queue=q", NULL },
    { "amqp://u:secret@h/v", NULL },
    { "amqp://u:secret@h/v?queue=", NULL },
    { "amqp://u:secret@h/v?queue=q&x=1", NULL },
    { "amqp://u:secret@h/v?x=q", NULL },
    { "amqp://u:secret@h:0/v?queue=q", NULL },
    { "amqp://u:secret@h:65536/v?queue=q", NULL },
    { "amqp://u:secret@h:5x/v?queue=q", NULL },
    { "amqp://u:secret@h:/v?queue=q", NULL },
    { "amqp://u:secret@[::1/v?queue=q", NULL },
    { "amqp://u:secret@[::1]x/v?queue=q", NULL },
    { "amqp://u:secret%0@h/v?queue=q", NULL },
    { "amqp://u:secret%00@h/v?queue=q", NULL },
    { "amqp://u:secret@h/%zz?queue=q", NULL },
    { "amqp://u:secret@h/v?queue=q\n", NULL },
};

static void check_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_amqp_url u = DX_AMQP_URL_INIT;
        struct dx_error err = DX_ERROR_INIT;
        char got[6 * DX_AMQP_PART_MAX] = "";
        int rc = dx_amqp_url_parse(&u, rows[i].text, &err);

        if (rc == DX_OK)
            (void)snprintf(got, sizeof got, "%d %d %s %s %s %s %s", u.tls, u.port, u.host, u.user,
                           u.password, u.vhost, u.queue);
        if ((rc == DX_OK) != (rows[i].want != NULL) ||
            (rc == DX_OK && strcmp(got, rows[i].want) != 0) || strstr(err.text, "secret") != NULL ||
            (rc < 0 && rc != DX_E_INVALID)) {
            printf("FAIL %s: %d '%s' %s\n", rows[i].text, rc, got, err.text);
            failures++;
        }
        dx_amqp_url_release(&u);
    }
}

static void check_bounds(void)
{
    char text[600];
    struct dx_amqp_url u = DX_AMQP_URL_INIT;

    for (int n = 250; n < 260; n++) {
        (void)snprintf(text, sizeof text, "amqp://h/v?queue=%0*d", n, 0);
        if ((dx_amqp_url_parse(&u, text, NULL) == DX_OK) != (n < DX_AMQP_PART_MAX)) {
            printf("FAIL a queue of %d bytes\n", n);
            failures++;
        }
        if ((dx_amqp_url_set_queue(&u, strstr(text, "=") + 1, NULL) == DX_OK) !=
            (n < DX_AMQP_PART_MAX)) {
            printf("FAIL another queue of %d bytes\n", n);
            failures++;
        }
    }
}

static void check_environment(void)
{
    struct dx_amqp_url u = DX_AMQP_URL_INIT;
    static const char zeros[DX_AMQP_PART_MAX];

    (void)setenv("DOMAINDEX_AMQP_USER", "me", 1);
    (void)setenv("DOMAINDEX_AMQP_PASSWORD", "a/b", 1);
    if (dx_amqp_url_parse(&u, "amqp://x:y@h/v?queue=q", NULL) != DX_OK ||
        strcmp(u.user, "me") != 0 || strcmp(u.password, "a/b") != 0 ||
        strcmp(u.shown, "queue 'q' at h:5672") != 0) {
        printf("FAIL the environment's user: %s\n", u.user);
        failures++;
    }
    dx_amqp_url_release(&u);
    if (memcmp(u.password, zeros, sizeof u.password) != 0 ||
        memcmp(u.user, zeros, sizeof u.user) != 0) {
        printf("FAIL released and still there\n");
        failures++;
    }
}

int main(void)
{
    (void)unsetenv("DOMAINDEX_AMQP_USER");
    (void)unsetenv("DOMAINDEX_AMQP_PASSWORD");
    check_rows();
    check_bounds();
    check_environment();
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
