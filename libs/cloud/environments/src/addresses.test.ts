import { expect, test } from "@jest/globals";
import { createAddresses } from "./addresses.js";

const environment = { id: "env_0123456789ab", region: "eu", slot: undefined } as const;
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
  expect(addresses.ingressUrl(environment)).toBe("https://0123456789ab.env.eu.example.org:8080");
  expect(addresses.adminUrl(environment)).toBe("https://0123456789ab.env.eu.example.org:9070");
});

test("where the edge listens at other ports, addresses name those", () => {
  const addresses = createAddresses({ ...settings, scheme: "http", hostPorts: { ingress: 80, admin: 8443 } });
  expect(addresses.ingressUrl(environment)).toBe("http://0123456789ab.env.eu.example.org:80");
  expect(addresses.adminUrl(environment)).toBe("http://0123456789ab.env.eu.example.org:8443");
});
