/**
 * OpenAPI documents of services: generators depend on paths, parameters and answers, so these equal the recordings; the texts are our own.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { aManifest, createTestRegistry, startEndpoint, type TestEndpoint } from "@perdure/registry/testing";
import { createTestAdminApi, startServer, type TestServer } from "../src/testing/index.js";
import { loadExchanges } from "./replay.js";

type Node = { [name: string]: Node } | Node[] | string | number | boolean | null;

let server: TestServer;
let endpoint: TestEndpoint;

beforeAll(async () => {
  const manifests = JSON.parse(readFileSync(new URL("../testdata/manifests.json", import.meta.url), "utf8")) as Record<
    string,
    { contentType: string; manifest: { services: { name: string }[] } }
  >;
  const [v1, v2] = [manifests["21610"], manifests["21611"]];
  const services = [...(v2?.manifest.services ?? []), ...(v1?.manifest.services ?? []).filter(({ name }) => name === "Wf")];
  endpoint = await startEndpoint("h2c", { body: { ...v1?.manifest, services } });
  server = await startServer(createTestAdminApi({ registry: await createTestRegistry() }));
  expect((await server.send("POST", "/deployments", { uri: endpoint.uri })).status).toBe(201);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
});

describe.each(["Counter", "Wf"])("the document of %s", (service) => {
  test("has the recorded paths, operations, parameters, bodies and answers", async () => {
    const recorded = loadExchanges("services-read").find(({ name }) => name === `openapi ${service}`)?.response.json as Node;
    const ours = (await server.send("GET", `/services/${service}/openapi`)).json<Node>();
    expect(bare(field(ours, "paths"))).toEqual(bare(field(recorded, "paths")));
    expect(Object.keys(field(ours, "components", "responses")).sort()).toEqual(
      Object.keys(field(recorded, "components", "responses")).sort(),
    );
    expect(bare(field(ours, "components", "parameters"))).toEqual(bare(field(recorded, "components", "parameters")));
    expect(bare(field(ours, "components", "schemas"))).toEqual(bare(field(recorded, "components", "schemas")));
    expect(field(ours, "info", "title")).toBe(service);
  });
});

test("schemas of a handler are named after it and referred to; private handlers are left out", async () => {
  const document = (await server.send("GET", "/services/Greeter/openapi")).json<Node>();
  const typed = field(document, "paths", "/restate/call/Greeter/typed", "post");
  expect(field(typed, "requestBody", "content", "application/json", "schema")).toEqual({
    $ref: "#/components/schemas/typedRequest",
  });
  expect(field(document, "components", "schemas", "typedRequest", "required")).toEqual(["name"]);
  expect(field(document, "components", "schemas", "typedResponse", "required")).toEqual(["message"]);
  expect(Object.keys(field(document, "paths")).filter((path) => path.includes("/priv"))).toEqual([]);
  expect(field(document, "paths", "/restate/call/Greeter/noInput", "post")).not.toHaveProperty("requestBody");
  expect(field(document, "info")).toMatchObject({ description: "Greets people, v2.", "x-restate-extensions": { team: "hello" } });
});

test("references inside a handler's schema resolve in the document; titles describe it", async () => {
  const jsonSchema = { title: "Order", $ref: "#/$defs/Order", $defs: { Order: { type: "object" } } };
  const input = { contentType: "application/json", jsonSchema };
  const output = { contentType: "text/plain", setContentTypeIfEmpty: true };
  await using shop = await startEndpoint("h2c", {
    body: aManifest([{ name: "Shop", ty: "SERVICE", handlers: [{ name: "buy", input, output }] }]),
  });
  expect((await server.send("POST", "/deployments", { uri: shop.uri })).status).toBe(201);
  const document = (await server.send("GET", "/services/Shop/openapi")).json<Node>();
  expect(field(document, "components", "schemas", "buyRequest")).toEqual({
    title: "Order",
    $ref: "#/components/schemas/buyRequest/$defs/Order",
    $defs: { Order: { type: "object" } },
  });
  const handler = (await server.send("GET", "/services/Shop/handlers/buy")).json();
  expect(handler).toMatchObject({
    input_description: "JSON 'Order'",
    output_description: "optional text/plain",
    input_json_schema: jsonSchema,
  });
});

/** Without texts. */
function bare(node: Node): Node {
  if (Array.isArray(node)) return node.map(bare);
  if (typeof node !== "object" || node === null) return node;
  return Object.fromEntries(
    Object.entries(node)
      .filter(([name, value]) => !(name === "description" && typeof value === "string") && name !== "example")
      .map(([name, value]) => [name, bare(value)]),
  );
}

function field(node: Node, ...path: string[]): { [name: string]: Node } {
  let current: Node = node;
  for (const name of path) current = (current as { [name: string]: Node })[name] as Node;
  return current as { [name: string]: Node };
}
