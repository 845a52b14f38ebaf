import { expect, test } from "@jest/globals";
import { curlText } from "./curl-text.js";

const at = { ingressUrl: "http://localhost:8080", needsKey: false, service: "Orders", handler: "place" };

test("a call is one line and its body", () => {
  expect(curlText({ ...at, verb: "call", body: '{"item":"lamp"}' })).toBe(
    `curl http://localhost:8080/Orders/place \\\n  --json '{"item":"lamp"}'`,
  );
  expect(curlText({ ...at, verb: "call" })).toBe("curl http://localhost:8080/Orders/place \\\n  -X POST");
});

test("everything that was chosen is in it, and the credential by name only", () => {
  const text = curlText({
    ...at,
    needsKey: true,
    verb: "send",
    key: "a b",
    delay: "1h 5m",
    body: "it's",
    contentType: "text/plain",
    idempotencyKey: "k1",
    limitKey: "t1",
    priority: 2,
    headers: { "x-a": "$HOME `id`" },
    scope: "acme",
  });
  expect(text.split(" \\\n  ")).toEqual([
    "curl 'http://localhost:8080/restate/scope/acme/send/Orders/a%20b/place?delay=1h%205m'",
    '-H "authorization: Bearer $PERDURE_TOKEN"',
    "-H 'content-type: text/plain'",
    "-H 'idempotency-key: k1'",
    "-H 'x-restate-limit-key: t1'",
    "-H 'x-perdure-priority: 2'",
    "-H 'x-a: $HOME `id`'",
    "--data-binary 'it'\\''s'",
  ]);
});
