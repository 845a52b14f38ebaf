import { describe, expect, test } from "@jest/globals";
import { Secret, systemRandom } from "@perdure/base";
import { newAccountId } from "@perdure/cloud";
import { CloudApiError, CloudClient } from "./client.js";

const ACCOUNT = newAccountId(systemRandom);

/** A client whose calls get this answer. */
function clientAnswering(answer: () => Response | Promise<Response>) {
  const requests: { url: string; headers: Headers; body: unknown }[] = [];
  const fakeFetch = async (url: unknown, init?: RequestInit): Promise<Response> => {
    requests.push({ url: String(url), headers: new Headers(init?.headers), body: JSON.parse(String(init?.body)) });
    return await answer();
  };
  const client = new CloudClient({
    baseUrl: "https://api.us.perdure.test/path",
    accessToken: () => new Secret("a.b.c"),
    userAgent: "test/1",
    fetch: fakeFetch as typeof fetch,
  });
  return { client, requests };
}

async function errorOf(work: Promise<unknown>): Promise<CloudApiError> {
  const cause = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (cause instanceof CloudApiError) return cause;
  throw new Error("it did not fail as it should", { cause });
}

describe("the client of the Cloud API", () => {
  test("sends requests to the origin, with token and name, and validates the answer", async () => {
    const { client, requests } = clientAnswering(() => Response.json({ environments: [], more: 1 }));
    expect(await client.account(ACCOUNT, "ListEnvironments", {})).toEqual({ environments: [] });
    expect(requests).toMatchObject([{ url: `https://api.us.perdure.test/cloud/${ACCOUNT}/ListEnvironments`, body: {} }]);
    expect([requests[0]?.headers.get("authorization"), requests[0]?.headers.get("user-agent")]).toEqual([
      "Bearer a.b.c",
      "test/1",
    ]);
  });

  test("reports the source and the reason of a refusal", async () => {
    const body = { code: 403, message: "You are not a member", restate_code: "PERD0403", request_id: "r1" };
    const { client } = clientAnswering(() => Response.json(body, { status: 403 }));
    const error = await errorOf(client.user("ListAccounts", {}));
    expect([error.status, error.code, error.message, error.requestId]).toEqual([403, "PERD0403", "You are not a member", "r1"]);
  });

  test("rejects answers that are not of the Cloud API: a proxy's page, another shape, no answer", async () => {
    const page = "<h1>Bad gateway</h1>".repeat(100);
    const proxy = await errorOf(clientAnswering(() => new Response(page, { status: 502 })).client.user("ListAccounts", {}));
    expect([proxy.status, proxy.code, proxy.message.length]).toEqual([502, undefined, 300]);
    const html = await errorOf(clientAnswering(() => new Response("<h1>Welcome</h1>")).client.user("ListAccounts", {}));
    expect([html.status, html.message]).toEqual([200, expect.stringContaining("not valid JSON")]);
    const other = await errorOf(clientAnswering(() => Response.json({ accounts: 1 })).client.user("ListAccounts", {}));
    expect(other.message).toContain("unexpected shape");
    const silence = clientAnswering(() => Promise.reject(new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") })));
    const away = await errorOf(silence.client.user("ListAccounts", {}));
    expect([away.status, away.message]).toEqual([0, "https://api.us.perdure.test cannot be reached: ECONNREFUSED"]);
    const given = clientAnswering(() => Promise.reject(new Error("stopped")));
    await expect(given.client.user("ListAccounts", {}, { signal: AbortSignal.abort() })).rejects.toThrow("stopped");
  });
});
