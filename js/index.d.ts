// SPDX-License-Identifier: Apache-2.0
import type { DomainAnswer, DomainChange } from "./types.js";
export * from "./types.js";

export class DomaindexError extends Error {
  readonly status: number;
  /** The last word of the problem's type: docs/API.md lists them. */
  readonly slug: string;
  readonly problem: Record<string, unknown>;
}
export class IncompleteError extends DomaindexError {}

type Value = string | number | boolean | undefined | null | ReadonlyArray<string | number>;
export type Parameters = Record<string, any> & { signal?: AbortSignal };

export interface ConnectOptions {
  token?: string;
  /** All answers from this version. */
  version?: string;
  /** How often a request is asked again after 429 and 503, by Retry-After; default 5. */
  retries?: number;
  fetch?: typeof globalThis.fetch;
}

/** A row of a listing: the members that `fields` names. */
export type Row = { dataset_id?: number; url?: string; ts?: string | null; [column: string]: unknown };
/** What one name of a list is in; `line` is its place in the list, from 1. Empty names have none. */
export interface Name {
  line: number;
  asked: string;
  domain: string | null;
  found: boolean;
  reason?: string;
  dataset_count?: number;
  datasets?: Array<{ dataset_id: number; url_count: number | null; row_count: number | null; kind?: "counts"; page_count?: number; [member: string]: unknown }>;
  [member: string]: unknown;
}

export interface Index {
  at(version: string): Index;
  get<T = unknown>(path: string, parameters?: Record<string, Value>, options?: { signal?: AbortSignal }): Promise<T>;
  domain(name: string, parameters?: Parameters): Promise<DomainAnswer | null>;
  urls(name: string, dataset?: string | number | ReadonlyArray<string | number>, parameters?: Parameters): AsyncGenerator<Row>;
  changes(name: string, parameters?: Parameters): AsyncGenerator<DomainChange>;
  domains(names: Iterable<string> | AsyncIterable<string>, parameters?: Parameters & { progress?: (done: number) => void }): AsyncGenerator<Name>;
}

export function connect(url: string, options?: ConnectOptions): Index;
