import { expect, test } from "@jest/globals";
import { type ConsoleSession, SessionClient } from "./session-client.js";

const session = (csrf: string, more: Partial<ConsoleSession> = {}): ConsoleSession => ({
  user: { userId: "user_1", email: "ada@example.com" },
  csrf,
  confirmedUntil: null,
  confirmBy: { password: true, provider: null },
  apiUrl: "https://api.example",
  ...more,
});

interface SentRequest {
  readonly path: string;
  readonly csrf: string | null;
}

/** A transport to a server that answers in turn; the last answer stays. */
function clientWith(answers: Readonly<Record<string, readonly (() => Response)[]>>) {
  const requests: SentRequest[] = [];
  const left = new Map(Object.entries(answers).map(([path, list]) => [path, [...list]]));
  const others: string[] = [];
  const fakeFetch = (async (input: string, init: RequestInit = {}) => {
    const path = String(input);
    requests.push({ path, csrf: new Headers(init.headers).get("x-perdure-csrf") });
    const list = left.get(path) ?? [];
    const next = (list.length > 1 ? list.shift() : list[0])?.() ?? new Response(null, { status: 404 });
    Object.defineProperty(next, "url", { value: `http://console.test${path}` });
    return next;
  }) as unknown as typeof fetch;
  const client = new SessionClient({ session: session("one"), fetch: fakeFetch, onUserChanged: () => others.push("else") });
  return { client, requests, others };
}

const json = (status: number, body: unknown) => () => Response.json(body, { status });
const OPERATION = "/console/cloud/acc_1/CreateApiKey";
const flushPromises = () => new Promise((resolve) => setImmediate(resolve));

test("every request shows the page's proof, and other answers are passed on as they are", async () => {
  const { client, requests } = clientWith({ [OPERATION]: [json(409, { restate_code: "PERD0409" })] });
  expect((await client.fetch(OPERATION, { method: "POST" })).status).toBe(409);
  expect(requests).toEqual([{ path: OPERATION, csrf: "one" }]);
});

test("a request waits while the user proves their identity, and is then repeated", async () => {
  const { client, requests } = clientWith({
    [OPERATION]: [json(403, { restate_code: "PERD0428" }), json(200, { keyId: "key_1" })],
  });
  const answer = client.fetch(OPERATION, { method: "POST", body: "{}" });
  await flushPromises();
  expect(client.question).toEqual({ kind: "confirm" });
  client.answer(true);
  expect(await (await answer).json()).toEqual({ keyId: "key_1" });
  expect(requests).toHaveLength(2);
  expect(client.question).toBeUndefined();
});

test("when the user dismisses the prompt the request fails with the server's error", async () => {
  const { client } = clientWith({ [OPERATION]: [json(403, { restate_code: "PERD0428" })] });
  const answer = client.fetch(OPERATION);
  await flushPromises();
  client.answer(false);
  expect(await (await answer).json()).toEqual({ restate_code: "PERD0428" });
  expect(client.question).toBeUndefined();
});

test("a service cannot make the page prompt for a password", async () => {
  const path = "/console/environments/env_1/ingress/Shop/buy";
  const answers = { [path]: [json(403, { restate_code: "PERD0428" })], "/console/session": [json(200, session("one"))] };
  const { client } = clientWith(answers);
  expect((await client.fetch(path)).status).toBe(403);
  expect(client.question).toBeUndefined();
});

test("a refusal by a service is not the end of the session", async () => {
  const path = "/console/environments/env_1/ingress/Shop/buy";
  const { client, requests } = clientWith({
    [path]: [json(401, { message: "which shop?" })],
    "/console/session": [json(200, session("one"))],
  });
  expect((await client.fetch(path)).status).toBe(401);
  expect(requests.map((one) => one.path)).toEqual([path, "/console/session"]);
  expect(client.question).toBeUndefined();
});

test("after a session has ended all requests wait for the same question, and go out with the new proof", async () => {
  const { client, requests } = clientWith({
    [OPERATION]: [json(401, {}), json(401, {}), json(200, {})],
    "/console/session": [json(401, {}), json(401, {}), json(200, session("two"))],
  });
  const both = [client.fetch(OPERATION), client.fetch(OPERATION)];
  await flushPromises();
  expect(client.question).toEqual({ kind: "signIn", isLater: false });
  await client.refresh();
  expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
  expect(requests.slice(-2).map(({ csrf }) => csrf)).toEqual(["two", "two"]);
});

test("after the sign-in prompt was dismissed no request shows it again until the user does", async () => {
  const { client } = clientWith({ [OPERATION]: [json(401, {})], "/console/session": [json(401, {})] });
  const first = client.fetch(OPERATION);
  await flushPromises();
  client.answer(false);
  expect((await first).status).toBe(401);
  expect((await client.fetch(OPERATION)).status).toBe(401);
  expect(client.question).toEqual({ kind: "signIn", isLater: true });
  client.remind();
  expect(client.question).toEqual({ kind: "signIn", isLater: false });
});

test("a page that signed in again elsewhere has another proof, which is used without a question", async () => {
  const { client, requests } = clientWith({
    [OPERATION]: [json(403, { restate_code: "PERD0403" }), json(200, {})],
    "/console/session": [json(200, session("two"))],
  });
  expect((await client.fetch(OPERATION)).status).toBe(200);
  expect(requests.at(-1)).toEqual({ path: OPERATION, csrf: "two" });
});

test("the session of another user is not used", async () => {
  const other = session("two", { user: { userId: "user_2", email: "eve@example.com" } });
  const { client, others } = clientWith({
    [OPERATION]: [json(403, { restate_code: "PERD0403" })],
    "/console/session": [json(200, other)],
  });
  expect((await client.fetch(OPERATION)).status).toBe(403);
  expect(others).toEqual(["else"]);
  expect(client.session.csrf).toBe("one");
});

test("an aborted request does not wait for an open prompt", async () => {
  const { client } = clientWith({ [OPERATION]: [json(403, { restate_code: "PERD0428" })] });
  const stop = new AbortController();
  const answer = client.fetch(OPERATION, { signal: stop.signal });
  await flushPromises();
  stop.abort(new Error("gone"));
  await expect(answer).rejects.toThrow("gone");
});
