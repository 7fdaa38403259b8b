/* SPDX-License-Identifier: Apache-2.0 */
#include "base/command/password_argument.h"

#include <stdlib.h>
#include <string.h>

/* From *begin up to *end. Rather too much than too little: an '@' of the password itself may not be
 * percent-encoded, so the last one counts. */
static bool find_in_url(char *text, char **begin, char **end)
{
    char *authority = strstr(text, "://");

    if (authority == NULL)
        return false;
    *begin = strchr(authority + 3, ':');
    *end = strrchr(authority, '@');
    if (*begin == NULL || *end == NULL || *begin > *end)
        return false;
    (*begin)++;
    return *begin < *end;
}

/* libpq allows blanks around the sign, and quotes: all to the end of the text. */
static bool find_in_words(char *text, char **begin, char **end)
{
    char *at = text;

    while ((at = strstr(at, "password")) != NULL) {
        at += strlen("password");
        *begin = at + strspn(at, " \t\r\n");
        if (**begin != '=')
            continue;
        (*begin)++;
        *end = text + strlen(text);
        return *begin < *end;
    }
    return false;
}

bool dx_password_arguments_hide(int argc, char **argv)
{
    bool any = false;

    for (int i = 1; i < argc; i++) {
        char *shown = argv[i];
        char *begin;
        char *end;
        char *copy;

        if (!find_in_url(shown, &begin, &end) && !find_in_words(shown, &begin, &end))
            continue;
        any = true;
        copy = strdup(shown);
        if (copy == NULL)
            continue;
        argv[i] = copy;
        do {
            memset(begin, 'x', (size_t)(end - begin));
        } while (find_in_words(end, &begin, &end)); /* ?password= of a URL */
    }
    return any;
}
