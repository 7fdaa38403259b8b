// SPDX-License-Identifier: Apache-2.0
// build.mjs - web/src to web/dist: hashed names, and each file compressed beside it. Run by "npm ci && npm run build".
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const MOST = 200 * 1024; // bytes of gzip in all
let total = 0;

function put(name, bytes) {
  const packed = gzipSync(bytes, { level: 9 });
  packed[9] = 255; // the operating system: unknown, so that builds are the same everywhere
  total += packed.length;
  writeFileSync(`dist/${name}`, bytes);
  writeFileSync(`dist/${name}.gz`, packed);
  return name;
}

function hashed(name, ext, bytes) {
  return put(`assets/${name}-${createHash("sha256").update(bytes).digest("hex").slice(0, 12)}.${ext}`, bytes);
}

async function bundled(entry) {
  const out = await build({ entryPoints: [entry], bundle: true, minify: true, write: false, format: "esm", target: ["es2022", "chrome109", "firefox115", "safari16"], jsx: "automatic", jsxImportSource: "preact", legalComments: "none", charset: "utf8", logLevel: "warning" });
  return Buffer.from(out.outputFiles[0].contents);
}

rmSync("dist", { recursive: true, force: true });
mkdirSync("dist/assets", { recursive: true });
const js = hashed("app", "js", await bundled("src/app.tsx"));
const css = hashed("app", "css", await bundled("src/style/app.css"));
put("index.html", Buffer.from(readFileSync("src/index.html", "utf8").replace("{css}", css).replace("{js}", js)));
if (total > MOST) throw new Error(`${total} bytes of gzip, over ${MOST}`);
console.log(`${total} bytes of gzip`);
