// SPDX-License-Identifier: Apache-2.0
// router.ts - addresses of views: "#/VIEW/WHAT?name=value". Each names its version in v, so it shows the same to everybody.
import { useEffect, useState } from "preact/hooks";
import { path, type Params } from "./api/path";

export type Address = { view: string; what: string; params: Record<string, string> };

export function parseAddress(hash: string): Address {
  const [place = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [view = "", what = ""] = place.split("/", 2);
  const params: Record<string, string> = {};
  new URLSearchParams(query.replace(/\+/g, "%2B")).forEach((value, name) => (params[name] = value));
  try {
    return { view, what: decodeURIComponent(what), params };
  } catch {
    return { view: "broken", what: "", params }; // a broken escape: there is no such view
  }
}

export const address = (view: string, what: string | number, params: Params = {}): string =>
  path(`#/${view}${what === "" ? "" : `/${encodeURIComponent(what)}`}`, params);

// The same view with other parameters; null removes one.
export const changed = (now: Address, params: Params): string => address(now.view, now.what, { ...now.params, ...params });

export const go = (to: string): void => { location.hash = to; };

// Without an entry in the history of the browser.
export function replace(to: string): void {
  history.replaceState(null, "", to);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useAddress(): Address {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const turn = () => setHash(location.hash);
    addEventListener("hashchange", turn);
    return () => removeEventListener("hashchange", turn);
  }, []);
  return parseAddress(hash);
}
