/* SPDX-License-Identifier: Apache-2.0 */
#include "base/command/near_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define PIECE_MIN 4

static char folded(char c)
{
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: Levenshtein's distance with swaps of neighbours. */
size_t dx_near_name_distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t row[3][DX_NEAR_NAME_MAX + 1];

    n = least(n, DX_NEAR_NAME_MAX);
    m = least(m, DX_NEAR_NAME_MAX);
    for (size_t k = 0; k <= m; k++)
        row[0][k] = k;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3];
        const size_t *up = row[(i + 2) % 3];
        const size_t *upper = row[(i + 1) % 3];

        now[0] = i;
        for (size_t k = 1; k <= m; k++) {
            bool same = folded(a[i - 1]) == folded(b[k - 1]);

            now[k] = least(least(up[k], now[k - 1]) + 1, up[k - 1] + (same ? 0 : 1));
            if (i > 1 && k > 1 && folded(a[i - 1]) == folded(b[k - 2]) &&
                folded(a[i - 2]) == folded(b[k - 1]))
                now[k] = least(now[k], upper[k - 2] + 1);
        }
    }
    return row[n % 3][m];
}

static bool is_piece(const char *piece, size_t n, const char *name, size_t m)
{
    for (size_t at = 0; n >= PIECE_MIN && at + n <= m; at++) {
        size_t i = 0;

        while (i < n && folded(name[at + i]) == folded(piece[i]))
            i++;
        if (i == n)
            return true;
    }
    return false;
}

void dx_near_name_try(struct dx_near_name *near, const char *name)
{
    size_t n = near->typed_size;
    size_t m = strlen(name);
    size_t most = n < 6 ? 1 : n / 3;
    size_t distance;

    if (n == 0 || n > DX_NEAR_NAME_MAX || m > DX_NEAR_NAME_MAX)
        return;
    distance = dx_near_name_distance(near->typed, n, name, m);
    if (distance > most && is_piece(near->typed, n, name, m))
        distance = most;
    if (distance <= most && (near->best == NULL || distance < near->distance)) {
        near->best = name;
        near->distance = distance;
    }
}
