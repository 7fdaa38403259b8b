// SPDX-License-Identifier: Apache-2.0
// url_vs_node.js RAW CANONICAL - compares `domaindex normalize` with node's own URL parser.
//
// RAW: URLs, one a line. CANONICAL: what `domaindex normalize` printed for them. Every line
// that node reads as http, https or ftp must have the same scheme, host and port, and the
// path and query that the extra rules of docs/CANON.md make of node's. The rules are stated
// here once more, on their own. Exit 1 and the first lines that differ, if any do.
'use strict';
const fs = require('fs');

const [rawPath, ourPath] = process.argv.slice(2);
const UNRESERVED = /[A-Za-z0-9\-._~]/;
const HEX = /[0-9A-Fa-f]/;

// Rule 7: unreserved escapes are decoded unless that would complete another escape.
function escapes(text) {
    let out = '';
    let lone = -9;
    for (let i = 0; i < text.length; i++) {
        const two = text.slice(i + 1, i + 3);
        if (text[i] !== '%') {
            out += text[i];
        } else if (/^[0-9A-Fa-f]{2}$/.test(two)) {
            const c = String.fromCharCode(parseInt(two, 16));
            const near = out.length - lone;
            const joins = HEX.test(c) &&
                (near === 1 || (near === 2 && HEX.test(out[out.length - 1])));
            out += UNRESERVED.test(c) && !joins ? c : '%' + two.toUpperCase();
            i += 2;
        } else {
            lone = out.length;
            out += '%';
        }
    }
    return out;
}

function pathRules(pathname) {
    // '^' is in the path percent-encode set since 2024; older node leaves it.
    return pathname.replace(/\^/g, '%5E').split('/').map(escapes).join('/').replace(/\/+/g, '/');
}

function queryRules(search) {
    const query = escapes(search.slice(1));
    if (query === '')
        return '';
    const key = (pair) => pair.split('=')[0];
    const pairs = query.split('&');
    pairs.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0)); // stable; ASCII
    return '?' + pairs.join('&');
}

function lines(path) {
    const bytes = fs.readFileSync(path);
    const list = [];
    for (let at = 0; at < bytes.length;) {
        let end = bytes.indexOf(10, at);
        if (end < 0)
            end = bytes.length;
        list.push(bytes.subarray(at, end));
        at = end + 1;
    }
    return list;
}

const raw = lines(rawPath);
const ours = lines(ourPath);
const count = { same: 0, suffix: 0, only_us: 0, other: 0, refused_by_both: 0, not_utf8: 0 };
let differ = 0;

function complain(what, line, got, want) {
    if (++differ <= 20)
        console.error(`${what}: ${JSON.stringify(line)}\n  ours ${got}\n  node ${want}`);
}

if (raw.length !== ours.length)
    complain('line count', '', ours.length, raw.length);
for (let i = 0; i < raw.length; i++) {
    const line = raw[i].toString('utf8');
    const got = ours[i].toString('latin1');
    let url = null;
    try {
        url = new URL(line);
    } catch {
        try {
            url = new URL('http://' + line); // no scheme: http for us
        } catch {
            count[got[0] === '!' ? 'refused_by_both' : 'only_us']++;
            continue;
        }
        if (got[0] === '!' && /^[A-Za-z][A-Za-z0-9+.-]*:|^[/\\]/.test(line)) {
            count.refused_by_both++;
            continue;
        }
    }
    if (!/^(https?|ftp):$/.test(url.protocol)) {
        if (got !== '!scheme' && !/^[A-Za-z][A-Za-z0-9+.-]*:[0-9]+([/\\?#]|$)/.test(line.trim()))
            complain('scheme', line, got, url.protocol);
        count.other++;
        continue;
    }
    if (got === '!public_suffix') {
        count.suffix++;
        continue;
    }
    if (got === '!too_long' && raw[i].length > 2000) {
        count.other++;
        continue;
    }
    const origin = `${url.protocol}//${url.host}`;
    const full = origin + pathRules(url.pathname) + queryRules(url.search);
    if (got !== full && line.includes('\ufffd') && got.startsWith(origin + '/'))
        count.not_utf8++; // node has replaced bytes; we keep them, encoded
    else if (got !== full)
        complain('url', line, got, full);
    else
        count.same++;
}
console.log(`${rawPath}: ${raw.length} lines, ${differ} differ, ${JSON.stringify(count)}`);
process.exit(differ === 0 ? 0 : 1);
