// SPDX-License-Identifier: Apache-2.0
// token.ts - the access token: of this tab, gone with it. It is sent in one header, and never stands in an address.

const KEY = "domaindex-token";

export const token = (): string | null => sessionStorage.getItem(KEY);

// Every view is made again, so that nothing of the former principal stays on the screen.
export function setToken(value: string | null): void {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
  dispatchEvent(new Event("domaindex-token"));
}

export const authorization = (): Record<string, string> => {
  const value = token();
  return value ? { Authorization: `Bearer ${value}` } : {};
};
