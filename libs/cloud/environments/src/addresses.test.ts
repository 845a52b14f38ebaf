import { expect, test } from "@jest/globals";
import { present } from "@perdure/base";
import { parseEnvironmentId } from "@perdure/cloud";
import { createAddresses } from "./addresses.js";

const BARE = "201m7q5cqg0d9m5syb02zjr8qm7";
const environment = { id: present(parseEnvironmentId(`env_${BARE}`)), region: "eu", slot: undefined };
const settings = {
  domain: "example.org",
  scheme: "https",
  hostPorts: { ingress: 8080, admin: 9070 },
  ports: undefined,
  proxyUrl: undefined,
  tunnelSrv: undefined,
  consoleUrl: "https://console.example.org",
} as const;

test("an environment is reached at a host of its own", () => {
  const addresses = createAddresses(settings);
  expect(addresses.ingressUrl(environment)).toBe(`https://${BARE}.env.eu.example.org:8080`);
  expect(addresses.adminUrl(environment)).toBe(`https://${BARE}.env.eu.example.org:9070`);
});

test("where the edge listens at other ports, addresses name those", () => {
  const addresses = createAddresses({ ...settings, scheme: "http", hostPorts: { ingress: 80, admin: 8443 } });
  expect(addresses.ingressUrl(environment)).toBe(`http://${BARE}.env.eu.example.org:80`);
  expect(addresses.adminUrl(environment)).toBe(`http://${BARE}.env.eu.example.org:8443`);
});
