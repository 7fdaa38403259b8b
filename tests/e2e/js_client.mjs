// SPDX-License-Identifier: Apache-2.0
// js_client.mjs - what tests/e2e/js_client.py runs: node js_client.mjs SERVER BROKEN; prints one line of JSON.
import { readFileSync } from "node:fs";
import { connect, DomaindexError, IncompleteError } from "../../js/index.js";

const [server, broken] = process.argv.slice(2);
const collect = async (rows) => {
  const all = [];
  for await (const row of rows) all.push(row);
  return all;
};
const failure = (promise) => promise.then(() => null, (error) => [error.name, error.status ?? null, error.slug ?? null, error instanceof DomaindexError]);

const index = connect(server);
const out = { site: await index.domain("WWW.Example.com/x"), absent: await index.domain("stranger.example") };
out.pinned = (await index.at(out.site.version).domain("example.com")).version;
out.one = await collect(index.urls("example.com", "news", { fields: "url,ts" }));
out.all = (await collect(index.urls("big.example"))).length;
out.some = await collect(index.urls("example.com", ["news", 1], { fields: "url" }));
out.plus = await collect(index.urls("example.com", undefined, { prefix: "/a%20b", fields: "url" }));
out.tlds = (await index.get("/v1/tlds", { limit: 2 })).tlds.length;
out.changes = await collect(index.changes("example.com"));
const [{ version: oldest }] = (await index.at(out.site.version).get("/v1/versions")).versions.sort((a, b) => (a.version < b.version ? -1 : 1));
const pinned = index.at(oldest);
out.ofOldest = [oldest, await collect(pinned.changes("example.com")), (await pinned.get("/v1/domain/example.com/changes")).version, await collect(pinned.changes("example.com", { to: out.site.version }))];
const { paths } = JSON.parse(readFileSync(new URL("../../docs/openapi.json", import.meta.url)));
const asked = [];
const pretended = connect("http://a", { version: "V", fetch: (url) => (asked.push(url.search), new Response("{}")) });
out.misasked = [];
for (const [path, { get }] of Object.entries(paths)) {
  await pretended.get(path);
  const said = ["version", "to"].find((word) => get.parameters?.some((one) => one.in === "query" && one.name === word));
  if (asked.pop() !== (said ? `?${said}=V` : "")) out.misasked.push(path);
}
await pretended.get("/v1/domains?limit=5", { cursor: undefined });
await pretended.get("/v1/domains?cursor=C");
await pretended.get("/v1/domains", { cursor: "C" });
out.asked = asked;
out.diff = (await index.at(out.site.version).get("/v1/domain/example.com/diff")).to;
out.comma = await failure(collect(index.urls("example.com", ["news", "a,b"])));
const names = Array.from({ length: 12001 }, (_, i) => (i % 2 ? "example.com" : `n${i}.example`));
const progress = [];
const bodies = [];
const watched = connect(server, { fetch: (url, init) => (bodies.push(init.body), fetch(url, init)) });
const found = await collect(watched.domains(names, { progress: (done) => progress.push(done) }));
await collect(watched.domains(Array.from({ length: 500 }, (_, i) => `https://n${i}.example/${"\u00e9".repeat(200)}`)));
out.bodies = [bodies.map((body) => body.split("\n").length - 1), Math.max(...bodies.map((body) => new TextEncoder().encode(body).length))];
out.names = [found.length, found.filter((name) => name.found).length, found.every((name, i) => name.asked === names[i] && name.line === i + 1), progress];
out.refused = await failure(collect(index.urls("example.com", undefined, { prefix: "no slash" })));
out.reason = await failure(index.domain("co.uk"));
out.dots = await Promise.all([failure(collect(index.urls("example.com", ".."))), failure(index.domain("..")), failure(collect(index.urls(".", 1)))]);
out.emptyName = await failure(collect(index.domains(["example.com", ""])));
out.lineBreak = await failure(collect(index.domains(["a\nb"])));
const wording = (promise) => promise.then(() => null, (error) => `${error.name}: ${error.message}`);
out.noList = await Promise.all(["github.com", null, undefined, 5].map((one) => wording(collect(index.domains(one)))));
out.noName = await Promise.all([[null], ["a.com", 5]].map((one) => wording(collect(index.domains(one)))));
out.noText = await wording(index.domain(null));
out.ofAll = (await collect(index.urls("example.com", null, { fields: "url" }))).length === (await collect(index.urls("example.com", undefined, { fields: "url" }))).length;
const aborter = new AbortController();
let seen = 0;
out.aborted = await failure((async () => {
  for await (const _ of index.urls("big.example", undefined, { signal: aborter.signal })) if (++seen === 10) aborter.abort();
})());
const own = new Error("enough");
out.ownReason = await (async () => {
  const stop = new AbortController();
  for await (const _ of index.urls("big.example", undefined, { signal: stop.signal })) stop.abort(own);
})().catch((error) => error === own);

const odd = connect(broken, { retries: 3 });
out.retried = await odd.domain("busy.example");
out.gaveUp = await failure(connect(broken, { retries: 1 }).domain("busy-for-long.example"));
out.cut = await failure(collect(odd.urls("cut.example")));
out.midway = await failure(collect(odd.urls("midway.example")));
out.noSummary = await failure(collect(odd.domains(["example.com"])));
out.isIncomplete = await collect(odd.urls("cut.example")).catch((error) => error instanceof IncompleteError);
console.log(JSON.stringify(out));
