// SPDX-License-Identifier: Apache-2.0
// version.ts - the version that the view is of: all of its requests and links name it.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { path, type Params } from "../api/path";
import { address } from "../router";

export const VersionContext = createContext<string>("");
export const useVersion = (): string => useContext(VersionContext);

export function useLinks() {
  const v = useVersion();
  return {
    to: (view: string, what: string | number = "", params: Params = {}) => address(view, what, { ...params, v }),
    ask: (base: string, params: Params = {}) => path(base, { ...params, version: v }),
  };
}
