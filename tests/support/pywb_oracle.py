# SPDX-License-Identifier: Apache-2.0
"""pywb's own index code over a CDXJ file, for tests/e2e/cdx_server.py: a line of JSON in, a line of JSON out.

{"surt": [url...]} gives their keys. {"cdxj": path, "params": {...}} gives the lines that pywb answers, or "error".
"""
import json
import sys

from pywb.utils.canonicalize import canonicalize
from pywb.utils.memento import MementoUtils
from pywb.utils.wbexception import WbException
from pywb.warcserver.index.cdxops import process_cdx
from pywb.warcserver.index.indexsource import FileIndexSource
from pywb.warcserver.index.query import CDXQuery


def lines(question):
    params = dict(question["params"])
    query = CDXQuery(params)
    rows = process_cdx(FileIndexSource(question["cdxj"]).load_index(query.params), query)
    if query.output == "link":
        return "".join(MementoUtils.make_timemap(rows, {}))
    write = {"json": "to_json", "cdxj": "to_cdxj"}.get(query.output, "to_text")
    return "".join(getattr(row, write)(query.fields) for row in rows)


for line in sys.stdin:
    asked = json.loads(line)
    if "surt" in asked:
        answer = [canonicalize(url) for url in asked["surt"]]
    else:
        try:
            answer = lines(asked)
        except WbException as error:
            answer = {"error": error.status_code}
    print(json.dumps(answer), flush=True)
