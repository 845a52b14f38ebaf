import { describe, expect, test } from "@jest/globals";
import { Secret, systemRandom } from "@perdure/base";
import { PASSWORDS_AT_ONCE, PASSWORDS_WAITING_MAX, Passwords, passwordProblem, returnPath, userCodeOf } from "@perdure/identity";
import { html, page } from "./html.js";

describe("login", () => {
  test("what is put into a page is text, unless it is HTML", () => {
    const list = ["a", "<b>"].map((each) => html`<li>${each}</li>`);
    expect(html`<p title="${`"'&`}">${list}${undefined}${html`<br>`}</p>`.text).toBe(
      '<p title="&quot;&#39;&amp;"><li>a</li><li>&lt;b&gt;</li><br></p>',
    );
    expect(page("A & B", html`x`, "<no>")).toContain('role="alert" id="problem">&lt;no&gt;</p>');
  });

  test("users return only to pages of this server", () => {
    const token = `inv_${"a".repeat(43)}`;
    for (const good of [
      "/",
      "/profile",
      "/accounts/acc_1?filter={%22status%22:[%22paused%22]}|x",
      "/device?user_code=BCDF-GHJK",
      `/invitation?token=${token}`,
      "/accounts/acc_1/environments/env_1/invocations?filter=status%20%3D%20%27paused%27#top",
    ]) {
      expect(returnPath(good)).toBe(good);
    }
    const bad = [
      "",
      "//x",
      "/\\x",
      "https://x",
      "x",
      "/.//x",
      "/a/../..//x",
      "/x\n",
      "/\u00e4",
      "/login",
      "/cloud/x",
      "/console/logout",
    ];
    for (const each of [...bad, undefined]) expect([each, returnPath(each)]).toEqual([each, "/"]);
  });

  test("codes are read in every common spelling", () => {
    for (const typed of ["BCDF-GHJK", "bcdfghjk", " bcdf ghjk "]) expect(userCodeOf(typed)).toBe("BCDFGHJK");
    for (const typed of [undefined, "", "BCDF-GHJ", "BCDF-GHJA", "BCDF-GHJK-L"]) expect(userCodeOf(typed)).toBeUndefined();
  });

  test("passwords that are too short, too long or contain the address are refused, however accents are composed", async () => {
    const problem = (text: string) => passwordProblem(new Secret(text), "ada@perdure.test");
    expect([problem("x".repeat(12)), problem("ünïcödé ☃☃☃☃☃")]).toEqual([undefined, undefined]);
    for (const text of ["x".repeat(11), "x".repeat(257), "Ada@Perdure.test"]) expect(problem(text)).toMatch(/\w/);
    const passwords = await Passwords.open(systemRandom);
    const hash = await passwords.hash(new Secret("pass\u00e9 compos\u00e9"));
    expect(await passwords.matches(new Secret("passe\u0301 compose\u0301"), hash)).toBe(true);
    expect(await passwords.matches(new Secret("passe compose"), hash)).toBe(false);
    expect(await passwords.matches(new Secret("anything"), undefined)).toBe(false);
  });

  test("requests above the bound of the queue are refused, and the waiting ones are served", async () => {
    const passwords = await Passwords.open(systemRandom);
    const places = PASSWORDS_AT_ONCE + PASSWORDS_WAITING_MAX;
    const all = await Promise.allSettled(Array.from({ length: places + 3 }, () => passwords.matches(new Secret("x"), undefined)));
    expect(all.slice(0, places).every(({ status }) => status === "fulfilled")).toBe(true);
    expect(all.slice(places)).toMatchObject(Array.from({ length: 3 }, () => ({ reason: { code: "PERD0429" } })));
    expect(await passwords.matches(new Secret("x"), undefined)).toBe(false);
  }, 60_000);
});
