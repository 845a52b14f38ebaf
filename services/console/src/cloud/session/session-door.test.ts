import { expect, test } from "@jest/globals";
import { CSRF_HEADER, type Session, SessionDoor } from "./session-door.js";

const session = (csrf: string, more: Partial<Session> = {}): Session => ({
  user: { userId: "user_1", email: "ada@example.com" },
  csrf,
  confirmedUntil: null,
  confirmBy: { password: true, provider: null },
  apiUrl: "https://api.example",
  ...more,
});

interface Asked {
  readonly path: string;
  readonly csrf: string | null;
}

/** A door before a server that answers in turn; the last answer stays. */
function doorBefore(answers: Readonly<Record<string, readonly (() => Response)[]>>) {
  const asked: Asked[] = [];
  const left = new Map(Object.entries(answers).map(([path, list]) => [path, [...list]]));
  const others: string[] = [];
  const ask = (async (input: string, init: RequestInit = {}) => {
    const path = String(input);
    asked.push({ path, csrf: new Headers(init.headers).get(CSRF_HEADER) });
    const list = left.get(path) ?? [];
    const next = (list.length > 1 ? list.shift() : list[0])?.() ?? new Response(null, { status: 404 });
    Object.defineProperty(next, "url", { value: `http://console.test${path}` });
    return next;
  }) as unknown as typeof fetch;
  const door = new SessionDoor({ session: session("one"), fetch: ask, onSomebodyElse: () => others.push("else") });
  return { door, asked, others };
}

const json = (status: number, body: unknown) => () => Response.json(body, { status });
const OPERATION = "/console/cloud/acc_1/CreateApiKey";
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("every request shows the page's proof, and other answers are passed on as they are", async () => {
  const { door, asked } = doorBefore({ [OPERATION]: [json(409, { restate_code: "PERD0409" })] });
  expect((await door.fetch(OPERATION, { method: "POST" })).status).toBe(409);
  expect(asked).toEqual([{ path: OPERATION, csrf: "one" }]);
});

test("when somebody must show that it is them they are asked, and the request goes out again", async () => {
  const { door, asked } = doorBefore({ [OPERATION]: [json(403, { restate_code: "PERD0428" }), json(200, { keyId: "key_1" })] });
  const answer = door.fetch(OPERATION, { method: "POST", body: "{}" });
  await settled();
  expect(door.question).toEqual({ kind: "confirm" });
  door.answer(true);
  expect(await (await answer).json()).toEqual({ keyId: "key_1" });
  expect(asked).toHaveLength(2);
  expect(door.question).toBeUndefined();
});

test("who does not want to is refused with what the server said", async () => {
  const { door } = doorBefore({ [OPERATION]: [json(403, { restate_code: "PERD0428" })] });
  const answer = door.fetch(OPERATION);
  await settled();
  door.answer(false);
  expect(await (await answer).json()).toEqual({ restate_code: "PERD0428" });
  expect(door.question).toBeUndefined();
});

test("a service cannot make the page ask for a password", async () => {
  const path = "/console/environments/env_1/ingress/Shop/buy";
  const answers = { [path]: [json(403, { restate_code: "PERD0428" })], "/console/session": [json(200, session("one"))] };
  const { door } = doorBefore(answers);
  expect((await door.fetch(path)).status).toBe(403);
  expect(door.question).toBeUndefined();
});

test("a refusal by a service is no end of the session", async () => {
  const path = "/console/environments/env_1/ingress/Shop/buy";
  const { door, asked } = doorBefore({
    [path]: [json(401, { message: "which shop?" })],
    "/console/session": [json(200, session("one"))],
  });
  expect((await door.fetch(path)).status).toBe(401);
  expect(asked.map((one) => one.path)).toEqual([path, "/console/session"]);
  expect(door.question).toBeUndefined();
});

test("after a session has ended all requests wait for the same question, and go out with the new proof", async () => {
  const { door, asked } = doorBefore({
    [OPERATION]: [json(401, {}), json(401, {}), json(200, {})],
    "/console/session": [json(401, {}), json(401, {}), json(200, session("two"))],
  });
  const both = [door.fetch(OPERATION), door.fetch(OPERATION)];
  await settled();
  expect(door.question).toEqual({ kind: "signIn", isLater: false });
  await door.refresh();
  expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
  expect(asked.slice(-2).map(({ csrf }) => csrf)).toEqual(["two", "two"]);
});

test("who signs in later is not asked by every request, until they want to", async () => {
  const { door } = doorBefore({ [OPERATION]: [json(401, {})], "/console/session": [json(401, {})] });
  const first = door.fetch(OPERATION);
  await settled();
  door.answer(false);
  expect((await first).status).toBe(401);
  expect((await door.fetch(OPERATION)).status).toBe(401);
  expect(door.question).toEqual({ kind: "signIn", isLater: true });
  door.remind();
  expect(door.question).toEqual({ kind: "signIn", isLater: false });
});

test("a page that signed in again elsewhere has another proof, which is used without a question", async () => {
  const { door, asked } = doorBefore({
    [OPERATION]: [json(403, { restate_code: "PERD0403" }), json(200, {})],
    "/console/session": [json(200, session("two"))],
  });
  expect((await door.fetch(OPERATION)).status).toBe(200);
  expect(asked.at(-1)).toEqual({ path: OPERATION, csrf: "two" });
});

test("somebody else's session is not taken for ours", async () => {
  const other = session("two", { user: { userId: "user_2", email: "eve@example.com" } });
  const { door, others } = doorBefore({
    [OPERATION]: [json(403, { restate_code: "PERD0403" })],
    "/console/session": [json(200, other)],
  });
  expect((await door.fetch(OPERATION)).status).toBe(403);
  expect(others).toEqual(["else"]);
  expect(door.session.csrf).toBe("one");
});

test("who goes away while a question is open does not wait for the answer", async () => {
  const { door } = doorBefore({ [OPERATION]: [json(403, { restate_code: "PERD0428" })] });
  const stop = new AbortController();
  const answer = door.fetch(OPERATION, { signal: stop.signal });
  await settled();
  stop.abort(new Error("gone"));
  await expect(answer).rejects.toThrow("gone");
});
