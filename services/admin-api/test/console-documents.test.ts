import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createMemoryMetadataStore } from "@perdure/metadata";
import { createTestRegistry } from "@perdure/registry/testing";
import { createTestAdminApi, startServer, type TestServer } from "../src/testing/index.js";

let server: TestServer;
beforeEach(async () => {
  const registry = await createTestRegistry();
  server = await startServer(createTestAdminApi({ registry, documents: createMemoryMetadataStore() }));
});
afterEach(async () => server[Symbol.asyncDispose]());

const PATH = "/v4/console-documents/views";
const put = (expected_version: number, value: string, path = PATH) => server.send("PUT", path, { expected_version, value });

test("a document is stored for all users, and nothing is overwritten that its writer has not read", async () => {
  expect((await server.send("GET", PATH)).json()).toEqual({ version: 0, value: null });
  const stored = await put(0, "[1]");
  expect(stored.status).toBe(200);
  const { version } = stored.json<{ version: number }>();
  expect((await put(0, "[2]")).status).toBe(409);
  expect((await put(version, "[3]")).status).toBe(200);
  expect((await server.send("GET", PATH)).json()).toMatchObject({ value: "[3]" });
});

test("only the documents of the console are stored, and only within their bound", async () => {
  expect((await server.send("GET", "/v4/console-documents/other")).status).toBe(404);
  expect((await put(0, "[]", "/v4/console-documents/other")).status).toBe(404);
  expect((await put(0, "x".repeat(512 * 1024 + 1))).status).toBe(422);
});
