// SPDX-License-Identifier: Apache-2.0
// api.ts - requests to documented endpoints of this server, and to no other host.
import { useEffect, useState } from "preact/hooks";

export type Answer = { status: number; json: any; retry: number };

const KEY = "domaindex-token"; // of the browser session
export const token = () => sessionStorage.getItem(KEY);
export const setToken = (value: string) => sessionStorage.setItem(KEY, value);

export async function get(path: string, signal?: AbortSignal): Promise<Answer> {
  const bearer = token();
  const reply = await fetch(path, { signal, headers: bearer ? { Authorization: `Bearer ${bearer}` } : {} });
  const type = reply.headers.get("content-type") ?? "";
  const json = type.includes("json") ? await reply.json() : null;
  return { status: reply.status, json, retry: Number(reply.headers.get("retry-after") ?? 0) };
}

// Asked again when the path changes, and once more when a busy server says so.
export function useData(path: string | null): Answer | null {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    setAnswer(null);
    if (path !== null)
      get(path, stop.signal).then(
        (a) => {
          if (stop.signal.aborted) return;
          setAnswer(a);
          if ((a.status === 429 || a.status === 503) && a.retry > 0) timer = window.setTimeout(() => setTurn(turn + 1), a.retry * 1000);
        },
        () => stop.signal.aborted || setAnswer({ status: 0, json: null, retry: 0 }),
      );
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, turn]);
  return answer;
}

// A command that gives the same data, safe to paste into a shell.
export const curl = (path: string) => `curl ${token() ? "-H 'Authorization: Bearer '\"$TOKEN\" " : ""}'${(location.origin + path).replace(/'/g, "%27")}'`;
export const withParam = (path: string, name: string, value: string | null) =>
  value ? `${path}${path.includes("?") ? "&" : "?"}${name}=${encodeURIComponent(value)}` : path;
