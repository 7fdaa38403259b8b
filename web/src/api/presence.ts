// SPDX-License-Identifier: Apache-2.0
// presence.ts - which datasets contain each name of a list: POST /v1/domains, a part of the list a request.
//
// A browser sends a whole body before it reads the answer, but the server answers while it reads. So a part is small enough
// to fit what the network buffers. A part counts when its summary has come; before, it may be sent again.
import type { Presence, PresenceSummary } from "./answers";
import { isBusy, problemOf, sleep, type Answer, type Problem } from "./client";
import { path } from "./path";
import { authorization } from "./token";

export const MOST_NAMES = 1_000_000;
const PART_BYTES = 24 * 1024;
const PART_NAMES = 2000;
const ROUNDS = 8;

// Names of a text or file, in parts; empty lines are left out.
export async function* partsOf(source: Blob): AsyncGenerator<string[]> {
  const reader = source.stream().pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", part: string[] = [], size = 0, count = 0;
  for (let over = false; !over; ) {
    const { value, done } = await reader.read();
    over = done;
    const lines = (rest + (value ?? "")).split(/\r\n|\n|\r(?!$)/);
    rest = done ? "" : lines.pop()!;
    for (const line of lines) {
      const name = line.trim();
      if (name === "") continue;
      if (++count > MOST_NAMES) throw new RangeError("too many names");
      part.push(name);
      size += 3 * name.length + 1; // bytes are at most this
      if (size > PART_BYTES || part.length === PART_NAMES) {
        yield part;
        part = [];
        size = 0;
      }
    }
  }
  if (part.length > 0) yield part;
}

async function send(names: string[], version: string, signal: AbortSignal): Promise<Presence[] | Answer<never>> {
  const reply = await fetch(path("/v1/domains", { version }), { method: "POST", body: names.join("\n"), signal, credentials: "omit", headers: { ...authorization(), "Content-Type": "text/plain" } });
  if (!reply.ok) return await problemOf<never>(reply);
  const lines = (await reply.text()).trimEnd().split("\n").map((line) => JSON.parse(line) as Presence | PresenceSummary | { error: Problem & { status: number } });
  const last = lines.pop();
  if (last && "error" in last) return { status: last.error.status, body: null, problem: last.error, retry_s: 1 };
  if (!last || !("summary" in last) || last.summary.names !== names.length || lines.length !== names.length) throw new TypeError("a short answer");
  return lines as Presence[];
}

// The answer about one part, or why there is none.
export async function present(names: string[], version: string, signal: AbortSignal): Promise<Presence[] | Answer<never>> {
  for (let round = 1; ; round++) {
    const got = await send(names, version, signal).catch((failure: unknown): Answer<never> => {
      if (signal.aborted) throw failure;
      return { status: 0, body: null, problem: null, retry_s: 1 };
    });
    if (Array.isArray(got) || (!isBusy(got) && got.status !== 0) || round === ROUNDS) return got;
    await sleep(1000 * Math.max(1, got.retry_s), signal);
  }
}
