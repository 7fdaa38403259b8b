// SPDX-License-Identifier: Apache-2.0
// client.ts - requests to documented endpoints of this server, and to no other host.
import { authorization } from "./token";

export type Problem = { type?: string; title?: string; detail?: string; restart?: string };
export type Answer<T> = { status: number; body: T | null; problem: Problem | null; retry_s: number };

const PATIENCE_MS = 60_000;
const NOTHING = { status: 0, body: null, problem: null, retry_s: 0 };

export const slug = (answer: Answer<unknown>): string => (answer.problem?.type ?? "").split(":").pop() ?? "";
export const isBusy = (answer: Answer<unknown>): boolean => answer.status === 429 || answer.status === 503;

export async function problemOf<T>(reply: Response): Promise<Answer<T>> {
  const isProblem = (reply.headers.get("content-type") ?? "").startsWith("application/problem+json");
  const problem = isProblem ? ((await reply.json().catch(() => null)) as Problem | null) : null;
  return { status: reply.status, body: null, problem, retry_s: Number(reply.headers.get("retry-after")) || 0 };
}

// Status 0: no answer came, it was cut off, or it is not JSON. Rejects only when the signal aborts.
export async function get<T>(target: string, signal?: AbortSignal): Promise<Answer<T>> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), PATIENCE_MS);
  const abort = () => stop.abort();
  signal?.addEventListener("abort", abort);
  try {
    const reply = await fetch(target, { signal: stop.signal, headers: authorization(), credentials: "omit", redirect: "error" });
    if (!reply.ok) return await problemOf<T>(reply);
    return { status: reply.status, body: (await reply.json()) as T, problem: null, retry_s: 0 };
  } catch (failure) {
    if (signal?.aborted) throw failure;
    return NOTHING;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((done, fail) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      fail(new DOMException("stopped", "AbortError"));
    });
  });

const ROUNDS = 8;

// For long work of many requests: waits as a busy server says, and gives up after some rounds.
export async function getPatiently<T>(target: string, signal: AbortSignal): Promise<Answer<T>> {
  for (let round = 1; ; round++) {
    const answer = await get<T>(target, signal);
    if (!isBusy(answer) || round === ROUNDS) return answer;
    await sleep(1000 * Math.max(1, answer.retry_s), signal);
  }
}
