// SPDX-License-Identifier: Apache-2.0
// token_form.tsx - where the server wants an access token.
import { setToken, token } from "../api/token";
import { t } from "../text/language";

export function TokenForm({ top, needed = true }: { top?: boolean; needed?: boolean }) {
  const Title = top ? "h2" : "h3";
  const had = token() !== null;
  const use = (event: SubmitEvent) => {
    event.preventDefault();
    setToken(String(new FormData(event.currentTarget as HTMLFormElement).get("token")).trim());
  };
  return (
    <form class="problem denied" onSubmit={use} data-status={401}>
      <Title>{had ? t.tokenInvalid : needed ? t.denied : t.token}</Title>
      <p>{t.tokenHint}</p>
      <label>{t.token} <input name="token" type="password" autocomplete="off" spellcheck={false} required /></label> <button>{t.useToken}</button>
      {had && <> <button type="button" onClick={() => setToken(null)}>{t.forgetToken}</button></>}
    </form>
  );
}
