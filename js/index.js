// SPDX-License-Identifier: Apache-2.0
// A client of domaindexd's HTTP API, for browsers and Node 18 or newer; no dependencies. README.md is the manual.

/** A problem document of the server (RFC 9457), or a reply that cannot be read. */
export class DomaindexError extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `status ${status}`);
    this.name = "DomaindexError";
    this.status = status;
    this.slug = (problem.type ?? "").split(":").pop();
    this.problem = problem;
  }
}

/** A stream that ended before its end: what came before is right, and is not all. */
export class IncompleteError extends DomaindexError {
  constructor(detail) {
    super(0, { detail, type: "urn:domaindex:problem:incomplete" });
    this.name = "IncompleteError";
  }
}

const WAIT_MS_MAX = 60_000;
// A browser sends a whole body before it reads the answer, and the server answers while it reads: a body must fit what the network buffers.
const BATCH_NAMES = 2000;
const BATCH_BYTES = 24 * 1024;
const OF_NO_VERSION = /^\/?(v1\/(versions|changes)|healthz|readyz|openapi\.json|receipt-key|docs)$/;

function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const done = () => (signal?.removeEventListener("abort", aborted), resolve());
    const timer = setTimeout(done, ms);
    const aborted = () => (clearTimeout(timer), reject(signal.reason));
    signal?.addEventListener("abort", aborted, { once: true });
  });
}

/** Lines of a body as they come, the last one too if it has no end. */
async function* lines(body) {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = body.getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const parts = rest.split("\n");
      rest = parts.pop();
      yield* parts;
      if (done) break;
    }
    if (rest !== "") yield rest;
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function* objects(response, signal) {
  try {
    for await (const line of lines(response.body)) {
      const row = JSON.parse(line);
      if (row.error?.type?.startsWith("urn:domaindex:problem:")) throw new DomaindexError(row.error.status, row.error);
      yield row;
    }
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (error instanceof DomaindexError || error.name === "AbortError" || error.name === "TimeoutError") throw error;
    throw new IncompleteError(`the reply broke off: ${error.message}`);
  }
}

/** A value as an error shows it. */
function shown(value) {
  return typeof value === "string" ? `the text ${JSON.stringify(value.slice(0, 60))}` : String(value).slice(0, 60);
}

/** One segment of a path. URL drops `.` and `..` however they are written, and would lead to another resource. */
function segment(text) {
  if (typeof text !== "string" && typeof text !== "number") throw new TypeError(`expected a text or a number, got ${shown(text)}`);
  if (text === "." || text === "..") throw new RangeError(`${text} is no segment of a path; a dataset of this name has an id`);
  return encodeURIComponent(text);
}

/** A list as one word. */
function joined(name, list) {
  if (name.startsWith("dataset") && list.some((one) => String(one).includes(","))) throw new RangeError("a list of datasets has a name with a comma: give its id");
  return list.join(",");
}

class Index {
  #base;
  #options;

  constructor(base, options) {
    this.#base = base;
    this.#options = options;
  }

  /** The same server, all answers from this version. */
  at(version) {
    return new Index(this.#base, { ...this.#options, version });
  }

  /** Parameters with the version that is pinned: a cursor has its own, changes and diff end with it. */
  #pinned(path, parameters) {
    const [resource, query] = path.split("?", 2);
    const name = /\/(diff|changes)$/.test(resource) ? "to" : "version";
    const given = new URLSearchParams(query);
    const isGiven = (word) => (parameters[word] ?? null) !== null || given.has(word);
    return isGiven(name) || isGiven("cursor") || OF_NO_VERSION.test(resource) ? parameters : { ...parameters, [name]: this.#options.version };
  }

  #url(path, parameters) {
    const url = new URL(path.replace(/^\//, ""), this.#base);
    for (const [name, value] of Object.entries(this.#pinned(path, parameters))) {
      if (value === undefined || value === null) continue;
      // By encodeURIComponent: of a plus for a space the server makes a plus.
      for (const one of name === "filter" && Array.isArray(value) ? value : [Array.isArray(value) ? joined(name, value) : value])
        url.search += `${url.search === "" ? "" : "&"}${encodeURIComponent(name)}=${encodeURIComponent(one)}`;
    }
    return url;
  }

  /** One request, and again as long as the server is busy; its Response, which is a 200. */
  async #ask(path, parameters, { signal, ...init } = {}) {
    const headers = { ...(this.#options.token ? { Authorization: `Bearer ${this.#options.token}` } : {}), ...init.headers };
    for (let left = this.#options.retries; ; left--) {
      const response = await this.#options.fetch(this.#url(path, parameters), { ...init, headers, signal });
      if (response.ok) return response;
      const problem = await response.json().catch(() => ({ title: `status ${response.status}` }));
      if ((response.status !== 429 && response.status !== 503) || left <= 0) throw new DomaindexError(response.status, problem);
      await sleep(Math.min(WAIT_MS_MAX, 1000 * (Number(response.headers.get("retry-after")) || 1)), signal);
    }
  }

  /** Any resource of the API: get("/v1/tlds", { limit: 10 }). */
  async get(path, parameters = {}, options = {}) {
    return (await this.#ask(path, parameters, options)).json();
  }

  /** The datasets that contain a domain; null where none does. */
  async domain(name, { signal, ...parameters } = {}) {
    try {
      return await this.get(`/v1/domain/${segment(name)}`, parameters, { signal });
    } catch (error) {
      if (error.slug === "domain-not-found") return null;
      throw error;
    }
  }

  /** The rows of a domain, one after the other: of one dataset, of several (a list), or of all. Parameters are those of the API. */
  async *urls(name, dataset, { signal, ...parameters } = {}) {
    const one = dataset !== undefined && dataset !== null && !Array.isArray(dataset);
    const path = `/v1/domain/${segment(name)}` + (one ? `/datasets/${segment(dataset)}/urls` : "/urls");
    yield* objects(await this.#ask(path, { format: "ndjson", ...(Array.isArray(dataset) ? { dataset } : {}), ...parameters }, { signal }), signal);
  }

  /** What each version changed for a domain, the newest first. */
  async *changes(name, { signal, ...parameters } = {}) {
    for (let to = parameters.to; to !== null; ) {
      const page = await this.get(`/v1/domain/${segment(name)}/changes`, { ...parameters, to }, { signal });
      yield* page.changes;
      to = page.next_to;
    }
  }

  /** For each of any number of names (an iterable) an object with what it is in; all of one version. */
  async *domains(names, { signal, progress, ...parameters } = {}) {
    if (typeof names === "string" || typeof (names?.[Symbol.iterator] ?? names?.[Symbol.asyncIterator]) !== "function")
      throw new TypeError(`expected a list of names, got ${shown(names)}`);
    let version = parameters.version ?? this.#options.version;
    let done = 0;
    let batch = [];
    let size = 0;
    const self = this;
    async function* answer() {
      const body = batch.map((name) => `${name}\n`).join("");
      const init = { method: "POST", body, headers: { "Content-Type": "text/plain" }, signal };
      let summary = null;
      for await (const row of objects(await self.#ask("/v1/domains", { ...parameters, version }, init), signal)) {
        if ("complete" in row) summary = row;
        else yield { ...row, line: row.line + done };
      }
      if (!summary?.complete || summary.summary.names !== batch.length) throw new IncompleteError("the reply has no summary, or names are missing");
      version = summary.version;
      done += batch.length;
      batch = [];
      size = 0;
      progress?.(done);
    }
    for await (const name of names) {
      if (typeof name !== "string") throw new TypeError(`name ${done + batch.length} of the list, ${shown(name)}, is not a string`);
      if (/[\r\n]/.test(name) || name.trim() === "") throw new RangeError("a name is empty or has a line break"); // the server skips empty lines
      const length = new TextEncoder().encode(name).length + 1;
      if (batch.length === BATCH_NAMES || (batch.length > 0 && size + length > BATCH_BYTES)) yield* answer();
      batch.push(name);
      size += length;
    }
    if (batch.length > 0) yield* answer();
  }
}

/** url: of the server, with a path if it lies below one. */
export function connect(url, { token, version, retries = 5, fetch = globalThis.fetch.bind(globalThis) } = {}) {
  return new Index(new URL(url.endsWith("/") ? url : `${url}/`), { token, version, retries, fetch });
}
