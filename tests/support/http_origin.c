/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/http_origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct origin origin = { .lock = PTHREAD_MUTEX_INITIALIZER };

uint8_t origin_byte(uint64_t i)
{
    return (uint8_t)(i * 7 + (i >> 8) + 3);
}

static void send_range(int fd, const char *tag, uint64_t first, uint64_t last)
{
    char head[512];
    uint8_t *body = malloc((size_t)(last - first + 1));
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %llu-%llu/%d\r\n"
                     "Content-Length: %llu\r\nETag: %s\r\n\r\n",
                     (unsigned long long)first, (unsigned long long)last, ORIGIN_TOTAL,
                     (unsigned long long)(last - first + 1), tag);

    if (body == NULL)
        abort();
    for (uint64_t i = first; i <= last; i++)
        body[i - first] = origin_byte(i);
    (void)dx_listener_send(fd, head, (size_t)n);
    (void)dx_listener_send(fd, body, (size_t)(last - first + 1));
    free(body);
}

static void send_text(int fd, const char *text)
{
    (void)dx_listener_send(fd, text, strlen(text));
}

static void send_slowly(int fd, uint64_t first, uint64_t last, bool drip)
{
    char head[200];
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 206 x\r\nContent-Range: bytes %llu-%llu/%d\r\nETag: \"v1\"\r\n\r\n",
                     (unsigned long long)first, (unsigned long long)last, ORIGIN_TOTAL);

    (void)dx_listener_send(fd, head, (size_t)n);
    if (!drip)
        (void)usleep(700000);
    for (uint64_t i = first; drip && i <= last; i++) {
        uint8_t byte = origin_byte(i);

        if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1)
            return;
        (void)usleep(20000);
    }
}

static bool answer_one(int fd, const char *head, unsigned request)
{
    unsigned long long first = 0;
    unsigned long long last = 0;
    const char *range = strstr(head, "Range: bytes=");

    if (range != NULL)
        (void)sscanf(range, "Range: bytes=%llu-%llu", &first, &last);
    if (strncmp(head, "GET /root/once503 ", 18) == 0 && request % 2 == 1)
        send_text(fd, "HTTP/1.1 503 Slow Down\r\nContent-Length: 34\r\n\r\n"
                      "<Error><Code>SlowDown</Code></Err>");
    else if (strncmp(head, "GET /root/down ", 15) == 0)
        send_text(fd, "HTTP/1.1 503 Slow Down\r\nContent-Length: 34\r\n\r\n"
                      "<Error><Code>SlowDown</Code></Err>");
    else if (strncmp(head, "GET /root/once_wrong ", 21) == 0 && request % 2 == 1)
        send_range(fd, "\"v1\"", first + 1, last + 1);
    else if (strncmp(head, "GET /root/wrong ", 16) == 0)
        send_range(fd, "\"v1\"", first + 1, last + 1);
    else if (strncmp(head, "GET /root/once_cut ", 19) == 0 && request % 2 == 1) {
        send_text(fd, "HTTP/1.1 206 x\r\nContent-Range: bytes 0-99/6000000\r\n"
                      "Content-Length: 100\r\n\r\nabc");
        return false;
    } else if ((strncmp(head, "GET /root/once_cut_head ", 24) == 0 && request % 2 == 1) ||
               strncmp(head, "GET /root/cut_head ", 19) == 0) {
        send_text(fd, "HTTP/1.1 206 x\r\nContent-Length: 100\r\n");
        return false;
    } else if (strncmp(head, "GET /root/once_mute ", 20) == 0 && request % 2 == 1)
        (void)usleep(700000);
    else if (strncmp(head, "GET /root/mute ", 15) == 0)
        (void)usleep(700000);
    else if (strncmp(head, "GET /root/none ", 15) == 0)
        send_text(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    else if (strncmp(head, "GET /root/none_cut ", 19) == 0) {
        send_text(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\n");
        return false;
    } else if (strncmp(head, "GET /root/moved ", 16) == 0)
        send_text(fd, "HTTP/1.1 307 x\r\nLocation: /root/plain\r\n"
                      "Content-Length: 0\r\n\r\n");
    else if (strncmp(head, "GET /root/stuck ", 16) == 0 ||
             strncmp(head, "GET /root/drip ", 15) == 0) {
        send_slowly(fd, first, last, head[10] == 'd');
        return false;
    } else if (strncmp(head, "GET /root/turning ", 18) == 0)
        send_range(fd, request % 2 == 1 ? "\"v1\"" : "\"v2\"", first, last);
    else if (strncmp(head, "GET /root/small ", 16) == 0) {
        if (strstr(head, "If-None-Match: \"s1\"") != NULL)
            send_text(fd, "HTTP/1.1 304 Not Modified\r\nETag: \"s1\"\r\n\r\n");
        else
            send_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"s1\"\r\n\r\nhello");
    } else if (strncmp(head, "GET /root/small_once_cut ", 25) == 0) {
        send_text(fd, request % 2 == 1 ? "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"
                                       : "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nworld");
        return request % 2 == 0;
    } else if (strstr(head, "If-Match: \"v0\"") != NULL)
        send_text(fd, "HTTP/1.1 412 x\r\nContent-Length: 0\r\n\r\n");
    else if (range != NULL && first <= last && last < ORIGIN_TOTAL)
        send_range(fd, "\"v1\"", first, last);
    else
        send_text(fd, "HTTP/1.1 416 x\r\nContent-Length: 0\r\n\r\n");
    return true;
}

static bool answer(void *ctx, int fd, const char *head)
{
    unsigned request;

    (void)ctx;
    (void)pthread_mutex_lock(&origin.lock);
    request = ++origin.requests;
    if (++origin.now > origin.most)
        origin.most = origin.now;
    (void)snprintf(origin.last, sizeof origin.last, "%s", head);
    (void)pthread_mutex_unlock(&origin.lock);
    if (strstr(head, "/root/many") != NULL)
        (void)usleep(2000);
    else if (strstr(head, "/root/slow") != NULL)
        (void)usleep(150000);
    else if (strstr(head, "/root/late_some") != NULL && request % 10 == 0)
        (void)usleep(1000000);
    (void)pthread_mutex_lock(&origin.lock);
    origin.now--;
    (void)pthread_mutex_unlock(&origin.lock);
    return answer_one(fd, head, request);
}

static bool count_connection(void *ctx)
{
    (void)ctx;
    (void)pthread_mutex_lock(&origin.lock);
    origin.connections++;
    (void)pthread_mutex_unlock(&origin.lock);
    return true;
}

void origin_begin(void)
{
    origin.listener = (struct dx_listener){ .head = answer, .opened = count_connection };
    dx_listener_begin(&origin.listener);
    origin.port = origin.listener.port;
}

void origin_reset(void)
{
    (void)pthread_mutex_lock(&origin.lock);
    origin.requests = 0;
    origin.connections = 0;
    origin.most = 0;
    (void)pthread_mutex_unlock(&origin.lock);
}

bool origin_right(const struct dx_read *read)
{
    for (size_t i = 0; i < read->size; i++)
        if (read->to[i] != origin_byte(read->offset + i))
            return false;
    return true;
}
