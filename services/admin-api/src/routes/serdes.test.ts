import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { aManifest, aWireService, createTestRegistry, startEndpoint, type TestEndpoint } from "@perdure/registry/testing";
import type { CallEndpoint, EndpointResponse } from "../ports.js";
import { createTestAdminApi, startServer, type TestServer } from "../testing/index.js";

let server: TestServer;
let endpoint: TestEndpoint;
let deployment: string;
let answer: EndpointResponse;
const requests: { path: string; contentType: string | undefined; body: string; deployment: string }[] = [];

const callEndpoint: CallEndpoint = async ({ id }, { path, contentType, body }) => {
  requests.push({ path, contentType, body: Buffer.from(body).toString(), deployment: id });
  return answer;
};

beforeEach(async () => {
  requests.length = 0;
  answer = { kind: "response", status: 200, headers: { "content-type": "application/json" }, body: utf8('{"a":1}') };
  endpoint = await startEndpoint("h2c", { body: aManifest([aWireService("Greeter", ["greet"])]) });
  server = await startServer(createTestAdminApi({ registry: await createTestRegistry(), callEndpoint }));
  deployment = (await server.send("POST", "/deployments", { uri: endpoint.uri })).json<{ id: string }>().id;
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
});

const send = (path: string, body = "raw", headers: Record<string, string> = { "content-type": "x/y" }) =>
  server.send("POST", `/internal/services/${path}`, body, headers);

test.each([
  ["Greeter/serdes/decode/greet/input", "/serdes/Greeter/decode/greet/input"],
  ["Greeter/serdes/encode/greet/output", "/serdes/Greeter/encode/greet/output"],
  ["Greeter/serdes/decode/with%20blank%3F", "/serdes/Greeter/decode/with%20blank%3F"],
  ["Greeter/serdes/decode/x?deployment=latest", "/serdes/Greeter/decode/x"],
])("%s is passed on as %s, and the answer comes back as it is", async (path, expected) => {
  const response = await send(path);
  expect([response.status, response.headers["content-type"], response.text]).toEqual([200, "application/json", '{"a":1}']);
  expect(requests).toEqual([{ path: expected, contentType: "x/y", body: "raw", deployment }]);
});

test("bytes stay bytes, with no content type when there is none", async () => {
  answer = { kind: "response", status: 200, headers: {}, body: Uint8Array.of(0, 255) };
  const response = await send("Greeter/serdes/encode/x", "", {});
  expect([...response.body]).toEqual([0, 255]);
  expect(response.headers["content-type"]).toBe("application/octet-stream");
  expect(requests[0]?.contentType).toBeUndefined();
});

test.each<[string, string, EndpointResponse | undefined, number, RegExp]>([
  ["an unknown service", "Nope/serdes/decode/x", undefined, 404, /'Nope' does not exist/],
  ["an unknown operation", "Greeter/serdes/nope/x", undefined, 404, /nothing at this path/],
  ["no name", "Greeter/serdes/decode", undefined, 404, /nothing at this path/],
  ["a malformed deployment", "Greeter/serdes/decode/x?deployment=dp_1x", undefined, 400, /bad length/],
  ["an unknown deployment", "Greeter/serdes/decode/x?deployment=dp_15ChR1PDwZt22Rn2lfZrRo5", undefined, 400, /does not exist/],
  [
    "an endpoint that cannot",
    "Greeter/serdes/decode/x",
    { kind: "response", status: 404, headers: {}, body: utf8("no such serde") },
    500,
    /answered 404.*no such serde/,
  ],
  ["an endpoint that is gone", "Greeter/serdes/decode/x", { kind: "failed", message: "refused" }, 500, /did not answer: refused/],
])("%s is an error", async (_what, path, scripted, status, message) => {
  if (scripted !== undefined) answer = scripted;
  const response = await send(path);
  expect([response.status, response.json()]).toEqual([status, { message: expect.stringMatching(message), restate_code: null }]);
});
