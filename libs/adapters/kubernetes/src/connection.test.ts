import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, test } from "@jest/globals";
import { makeCertificates } from "@perdure/testkit";
import { connectKubernetes } from "./client.js";
import { resources } from "./resource.js";

// Regression: an API server that stopped ended a whole suite, by an uncatchable error of the HTTP/2 client.
test("requests are made over HTTP/1.1, though API servers offer HTTP/2", async () => {
  const { trusted } = await makeCertificates();
  const server = createSecureServer({ cert: trusted.certificate, key: trusted.privateKey, allowHTTP1: true });
  const requests: string[] = [];
  server.on("request", ({ httpVersion, url }, response) => {
    requests.push(`${httpVersion} ${url}`);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "one" } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const ca = Buffer.from(trusted.authority).toString("base64");
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: `https://127.0.0.1:${port}`, "certificate-authority-data": ca } }],
    users: [{ name: "u", user: { token: "secret" } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  {
    await using client = connectKubernetes(JSON.stringify(kubeconfig));
    await client.get(resources.pods, "one", "here");
  }
  expect(requests).toEqual(["1.1 /api/v1/namespaces/here/pods/one"]);
  await new Promise((resolve) => server.close(resolve));
});
