// SPDX-License-Identifier: Apache-2.0
// language.ts - the language of the page: the reader's choice, else the browser's.
import { de } from "./de";
import { en, type Words } from "./en";

const KEY = "domaindex-language";
const chosen = (): string | null => { try { return localStorage.getItem(KEY); } catch { return null; } };

export const language = (chosen() ?? navigator.language).startsWith("de") ? "de" : "en";
export const t: Words = language === "de" ? de : en;

export function setLanguage(name: "de" | "en"): void {
  localStorage.setItem(KEY, name);
  location.reload();
}
