// SPDX-License-Identifier: Apache-2.0
// llhttp.js <inputs >verdicts - what llhttp, the HTTP parser inside node, makes of the head of a request.
//
// Inputs are framed as for tests/differential/verdicts.c; a verdict is a line of JSON. llhttp is used without any leniency.
//   {"version": ..., "head": size of the head, or -1: it does not end in the input, "error": code or "", "method", "target", "minor",
//    "fields": [name, value, ...], "keep": whether the connection is kept, "ends": whether the message ends with its head,
//    "body_error": what is refused when the body is about to begin}
// Bytes are written as the characters of their numbers.
'use strict';
const fs = require('fs');
const { HTTPParser, methods } = process.binding('http_parser');

// answer 2: the parser stops behind the head, and says where; 0: it goes on with the body.
function parse(bytes, answer) {
    const parser = new HTTPParser();
    const out = { head: -1, error: '', fields: [], target: '', ends: false };
    let whole = false;

    parser.initialize(HTTPParser.REQUEST, {}, 1 << 20, HTTPParser.kLenientNone | 0);
    parser[HTTPParser.kOnHeaders] = (fields, target) => { // some at a time, when there are many
        out.fields.push(...fields);
        out.target += target;
    };
    parser[HTTPParser.kOnHeadersComplete] = (major, minor, fields, method, target, status, words, upgrade, keep) => {
        if (fields !== undefined)
            out.fields.push(...fields);
        if (target !== undefined)
            out.target += target;
        Object.assign(out, { major, minor, method: methods[method] ?? `number ${method}`, upgrade, keep });
        whole = true;
        return answer;
    };
    parser[HTTPParser.kOnMessageComplete] = () => {
        out.ends = true;
    };
    const n = parser.execute(bytes, 0, bytes.length);
    if (n instanceof Error)
        out.error = n.code;
    else if (whole)
        out.head = n;
    return out;
}

const input = fs.readFileSync(0);
const lines = [];
for (let at = 0; at < input.length;) {
    const size = input.readUInt32LE(at);
    const bytes = input.subarray(at + 4, at + 4 + size);
    const out = parse(bytes, 2);

    if (out.head >= 0) {
        const body = parse(bytes.subarray(0, out.head), 0);
        out.ends = body.ends;
        out.body_error = body.error;
    }
    lines.push(JSON.stringify(out));
    at += 4 + size;
}
process.stdout.write(lines.join('\n') + '\n');
