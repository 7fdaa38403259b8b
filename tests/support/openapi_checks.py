# SPDX-License-Identifier: Apache-2.0
"""What Schemathesis checks beside its own checks (SCHEMATHESIS_HOOKS=openapi_checks): a request that the schema takes is
refused with 400 only for what no schema can say: a name that is none, a cursor of another server, two parameters that
do not go together, as docs/API.md has it. No request makes the server fail; one may be for a version that is still to come.
"""
import schemathesis

MEANING = {"not-a-domain", "not-a-url", "bad-dataset-id", "bad-cursor", "cursor-mismatch", "limit-too-large", "not-a-name"}


def together(name, query):
    """Whether the parameters of this operation contradict each other."""
    if query.get("format", "json") != "json" and ("plan" in query or "fields" in query):
        return True
    orders = any(other in query for other in ("sort", "reverse", "closest", "collapse"))
    if orders and (query.get("offset") not in (None, 0, "0", [0]) or "plan" in query or "closest" in query):
        return True
    if str(query.get("receipt")) in ("1", "['1']"):       # of a stream, or of a long target
        if str(query.get("format", "json")) not in ("json", "atom", "['json']", "['atom']") or len(str(query)) > 700:
            return True
    listing = name in ("getUrls", "getUrlsAlias", "getAllUrls", "getHostUrls", "getForeignRows", "getSuffixUrls")
    filters = ("tag", "mime", "prefix", "from", "to", "status", "lang", "filter")
    # Generated clients send offset=0 with everything: that must go with all.
    if listing and query.get("offset") not in (None, 0, "0", [0]):
        return any(other in query for other in ("plan", "cursor", *filters))
    if listing and "from" in query and "to" in query:
        return True  # `from` may lie behind `to`
    if listing:
        return "plan" in query and "cursor" in query or len("".join(str(query.get(n, "")) for n in filters).encode()) > 500
    def said(parameter, usual):
        return str(query.get(parameter, usual)).strip("[]'")
    if name == "getDomain" and said("view", "private") == "icann":
        return "fields" in query or "limit" in query or (said("sort", "dataset_id"), said("reverse", "no"), said("offset", 0), said("format", "json")) != ("dataset_id", "no", "0", "json")
    if name == "getTag" and said("format", "json") in ("urls", "cdx", "cdxj") and said("of", "domains") != "urls":
        return True
    if name == "getTag":
        return "fields" in query and query.get("of") != "urls"
    if name == "listDomains":
        return "tld" in query and "suffix" in query
    if name == "postDomains":
        return "datasets" in query and query.get("format") != "matrix"
    return name == "getRange" and ("from" not in query or "to" in query)


def slug_of(response):
    return response.json()["type"].rsplit(":", 1)[-1]


@schemathesis.check
def does_not_fail(ctx, response, case):
    if response.status_code >= 500 and slug_of(response) != "version-newer":
        raise AssertionError(f"{case.method} {case.formatted_path} {dict(case.query or {})}: {response.status_code} {response.text}")


@schemathesis.check
def refused_for_its_meaning(ctx, response, case):
    if response.status_code != 400 or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    slug = slug_of(response)
    if slug not in MEANING and not together(case.operation.definition.raw.get("operationId"), dict(case.query or {})):
        raise AssertionError(f"the schema takes {case.method} {case.formatted_path} {dict(case.query or {})}, the server does not: {response.text}")
