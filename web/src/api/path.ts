// SPDX-License-Identifier: Apache-2.0
// path.ts - paths of the API with their parameters, and the commands that request them.
import { token } from "./token";

export type Params = Record<string, string | number | null | undefined>;

// Parameters that are null or empty are left out.
export function path(base: string, params: Params = {}): string {
  const text = Object.entries(params)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => `${name}=${encodeURIComponent(value as string | number)}`)
    .join("&");
  return text ? `${base}?${text}` : base;
}

export const sitePath = (domain: string, rest = ""): string => `/v1/domain/${encodeURIComponent(domain)}${rest}`;
export const datasetPath = (id: number | string, rest = ""): string => `/v1/datasets/${encodeURIComponent(id)}${rest}`;

// For a shell: in single quotes, in which only the quote itself would mean something. The token stays out of it.
export function curl(target: string, options = ""): string {
  const auth = token() ? `-H "Authorization: Bearer $TOKEN" ` : "";
  return `curl ${auth}${options}'${location.origin}${target.replace(/'/g, "%27")}'`;
}
