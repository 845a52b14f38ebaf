import { describe, expect, test } from "@jest/globals";
import { type Clock, Secret } from "@perdure/base";
import { OAuthClient, type OAuthClientError } from "./oauth.js";

const DEVICE = {
  device_code: "dc_1",
  user_code: "BCDF-GHJK",
  verification_uri: "https://api.perdure.test/device",
  verification_uri_complete: "https://api.perdure.test/device?user_code=BCDF-GHJK",
  expires_in: 600,
  interval: 5,
};
const GRANT = { access_token: "a.b.c", token_type: "Bearer", refresh_token: "rt_1", expires_in: 43_200 };

/** A wait advances the time; answers come in this order. */
function scene(answers: readonly (object | "away" | "html")[]) {
  let nowMs = 0;
  const waits: number[] = [];
  const requests: [string, Record<string, string>][] = [];
  const clock: Clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    setTimer(delayMs, fire) {
      waits.push(delayMs);
      nowMs += delayMs;
      const timer = setImmediate(fire);
      return { cancel: () => clearImmediate(timer) };
    },
  };
  const left = [...answers];
  const fakeFetch = async (url: unknown, init?: RequestInit): Promise<Response> => {
    requests.push([String(url), Object.fromEntries(init?.body as URLSearchParams)]);
    const answer = left.shift();
    if (answer === "away" || answer === undefined) throw new TypeError("fetch failed");
    if (answer === "html") return new Response("<h1>Bad gateway</h1>", { status: 502 });
    return Response.json(answer, { status: "error" in answer ? 400 : 200 });
  };
  const client = new OAuthClient({ baseUrl: "https://api.perdure.test/x", clock, fetch: fakeFetch as typeof fetch });
  return { client, waits, requests };
}

const never = new AbortController().signal;
const problemOf = (work: Promise<unknown>) => work.then(String, (error: OAuthClientError) => error.problem);

describe("login of a device", () => {
  test("polls at the allowed rate, and more slowly after slow_down or no answer", async () => {
    const pending = { error: "authorization_pending" };
    const { client, waits, requests } = scene([DEVICE, pending, { error: "slow_down" }, pending, "away", GRANT]);
    const login = await client.begin("laptop");
    expect(login).toMatchObject({ userCode: "BCDF-GHJK", intervalMs: 5_000, expiresAtMs: 600_000 });
    const tokens = await client.approved(login, never);
    expect(waits).toEqual([5_000, 5_000, 10_000, 10_000, 15_000]);
    expect([tokens.accessToken.reveal(), tokens.refreshToken.reveal()]).toEqual(["a.b.c", "rt_1"]);
    expect(tokens.expiresAtMs).toBe(45_000 + 43_200_000);
    const scope = "openid offline_access";
    const begin = { client_id: "perdure-cli", scope, device_name: "laptop" };
    expect(requests[0]).toEqual(["https://api.perdure.test/oauth/device_authorization", begin]);
    const poll = { client_id: "perdure-cli", grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: "dc_1" };
    expect(requests[1]).toEqual(["https://api.perdure.test/oauth/token", poll]);
  });

  test("ends when it is denied, when it expires, when there is no decision in time, and when it is aborted", async () => {
    for (const problem of ["access_denied", "expired_token", "invalid_grant"]) {
      const { client } = scene([DEVICE, { error: problem, error_description: "no" }]);
      expect(await problemOf(client.approved(await client.begin("x"), never))).toBe(problem);
    }
    const slow = scene([{ ...DEVICE, expires_in: 12 }, ...Array.from({ length: 9 }, () => ({ error: "authorization_pending" }))]);
    expect(await problemOf(slow.client.approved(await slow.client.begin("x"), never))).toBe("expired_token");
    expect(slow.waits).toHaveLength(3);
    const { client } = scene([DEVICE]);
    const login = await client.begin("x");
    await expect(client.approved(login, AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
    const stop = new AbortController();
    const waiting = client.approved(login, stop.signal);
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });

  test("unexpected answers are reported as such", async () => {
    expect(await problemOf(scene(["away"]).client.begin("x"))).toBe("unreachable");
    expect(await problemOf(scene(["html"]).client.begin("x"))).toBe("unexpected");
    expect(await problemOf(scene([{ nothing: 1 }]).client.begin("x"))).toBe("unexpected");
    expect(await problemOf(scene([{ error: "invalid_grant" }]).client.refresh(new Secret("rt_0")))).toBe("invalid_grant");
  });

  test("renews tokens with a refresh token, and revokes them", async () => {
    const { client, requests } = scene([GRANT, {}]);
    expect((await client.refresh(new Secret("rt_0"))).refreshToken.reveal()).toBe("rt_1");
    await client.revoke(new Secret("rt_1"));
    expect(requests.map(([, fields]) => fields)).toEqual([
      { client_id: "perdure-cli", grant_type: "refresh_token", refresh_token: "rt_0" },
      { client_id: "perdure-cli", token: "rt_1" },
    ]);
  });
});
