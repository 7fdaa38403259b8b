/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/answers.h"
#include "server/routes/route.h"

/* Their answers: server/engine/own_routes.h. */

static const struct dx_route_words healthz_words = {
    .operation = "healthz",
    .group = "health",
    .summary = "The process is alive",
    .text = "503 stalled if an event loop does not turn.",
    .answer = "Health"
};

const struct dx_route dx_route_healthz = {
    .name = "healthz",
    .pattern = "healthz",
    .own = true,
    .words = &healthz_words,
};

static const struct dx_route_words readyz_words = {
    .operation = "readyz",
    .group = "health",
    .summary = "The process accepts traffic",
    .text = "503 while it drains, or has no version to answer from.",
    .answer = "Ready"
};

const struct dx_route dx_route_readyz = {
    .name = "readyz",
    .pattern = "readyz",
    .own = true,
    .words = &readyz_words,
};

static const struct dx_route_words openapi_words = {
    .operation = "getOpenApi",
    .group = "about",
    .summary = "This description of the API",
    .text = "An OpenAPI 3.1 document. Everybody may read it.",
    .answer = "OpenApi",
    .charged = true
};

const struct dx_route dx_route_openapi = {
    .name = "openapi",
    .pattern = "openapi.json",
    .own = true,
    .cost = { .base = 5 },
    .words = &openapi_words,
};

static const struct dx_route_words docs_words = {
    .operation = "getDocs",
    .group = "about",
    .summary = "The API on one page, for people",
    .text = "HTML that loads nothing. Everybody may read it.",
    .answer = "Page",
    .media = "text/html",
    .charged = true
};

const struct dx_route dx_route_docs = {
    .name = "docs",
    .pattern = "docs",
    .own = true,
    .cost = { .base = 2 },
    .words = &docs_words,
};

static const struct dx_route_words receipt_key_words = {
    .operation = "getReceiptKey",
    .group = "about",
    .summary = "The public key of receipts",
    .text = "Ed25519, PEM. Everybody may read it.",
    .answer = "Page",
    .media = "application/x-pem-file",
    .absent = "no-receipts",
    .charged = true
};

const struct dx_route dx_route_receipt_key = {
    .name = "receipt_key",
    .pattern = "receipt-key",
    .own = true,
    .cost = { .base = 1 },
    .words = &receipt_key_words,
};

const struct dx_route dx_route_metrics = { .name = "metrics", .pattern = "metrics", .admin = true };
const struct dx_route dx_route_program = { .name = "version", .pattern = "version", .admin = true };
