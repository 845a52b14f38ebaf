import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { aManifest, aWireService, createTestRegistry, startEndpoint, type TestEndpoint } from "@perdure/registry/testing";
import {
  createScriptedPartitions,
  createTestAdminApi,
  type ScriptedPartitions,
  startServer,
  type TestServer,
} from "./testing/index.js";

const GHOST = "inv_1gdJBtdVEcM942bjcDmb1c1khoaJe11Hbz";

let server: TestServer;
let endpoint: TestEndpoint;
let partitions: ScriptedPartitions;

beforeEach(async () => {
  partitions = createScriptedPartitions();
  endpoint = await startEndpoint("h2c", {
    body: aManifest([aWireService("Greeter", ["greet"])]),
    headers: { "x-restate-server": "test-sdk/1.0" },
  });
  const registry = await createTestRegistry();
  server = await startServer(createTestAdminApi({ registry, partitions }));
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
});

describe("from registration to removal", () => {
  test("a registered deployment is listed, shown with its services, and removed", async () => {
    const created = await server.send("POST", "/deployments", { uri: endpoint.uri });
    expect(created.status).toBe(201);
    const { id, services } = created.json<{ id: string; services: { name: string; revision: number }[] }>();
    expect(created.headers["location"]).toBe(`deployments/${id}`);
    expect(services).toMatchObject([{ name: "Greeter", ty: "Service", revision: 1, deployment_id: id, public: true }]);

    const listed = (await server.send("GET", "/deployments")).json();
    expect(listed).toMatchObject({
      deployments: [
        {
          id,
          uri: `${endpoint.uri}/`,
          protocol_type: "BidiStream",
          http_version: "HTTP/2.0",
          services: [{ name: "Greeter", revision: 1 }],
        },
      ],
    });
    expect((await server.send("GET", `/v4/deployments/${id}`)).json()).toMatchObject({ id, sdk_version: "test-sdk/1.0" });
    expect((await server.send("GET", "/services")).json()).toMatchObject({ services: [{ name: "Greeter" }] });
    expect((await server.send("DELETE", `/deployments/${id}`)).status).toBe(202);
    expect((await server.send("GET", `/deployments/${id}`)).status).toBe(404);
  });
});

describe("verbs", () => {
  test("an unknown invocation is 404 with its id in the message", async () => {
    const answer = await server.send("PATCH", `/invocations/${GHOST}/cancel`);
    expect(answer.status).toBe(404);
    expect(answer.json()).toEqual({ message: `The requested invocation '${GHOST}' does not exist`, restate_code: null });
    expect(partitions.commands).toEqual([{ kind: "cancel", id: GHOST }]);
  });

  test("restart-as-new answers the id of the copy, which shares the partition", async () => {
    partitions.answers.set(GHOST, { kind: "done" });
    const answer = await server.send("PATCH", `/v3/invocations/${GHOST}/restart-as-new`);
    expect(answer.status).toBe(200);
    const { new_invocation_id } = answer.json<{ new_invocation_id: string }>();
    expect(new_invocation_id.slice(0, 16)).toBe(GHOST.slice(0, 16));
    expect(partitions.commands).toEqual([
      { kind: "restartAsNew", id: GHOST, newId: new_invocation_id, from: 0, moveTo: undefined, keepDeployment: false },
    ]);
  });
});
