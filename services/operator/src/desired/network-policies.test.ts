import { expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { KubeObject } from "@perdure/kubernetes";
import { cell } from "../../test/cell.js";
import type { Cell } from "../cell.js";
import { networkPolicies, PLATFORM_ROLE } from "./network-policies.js";

const environment = {
  metadata: { name: "env-0123456789abcdef", uid: "u" },
  spec: { environmentId: "env_0123456789abcdef", network: { egress: { mode: "public" } }, redis: {} },
} as unknown as EnvironmentResource;

interface Rule {
  readonly from?: readonly { readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> } }[];
  readonly ports?: readonly { readonly port: number }[];
}

/** Roles of the platform and the ports that they may reach, by the name of the policy. */
function letIn(name: string, of = environment): readonly string[] {
  const policy = networkPolicies(of, cell).find(({ metadata }) => metadata.name === name) as KubeObject;
  const { ingress = [] } = policy["spec"] as { readonly ingress?: readonly Rule[] };
  return ingress.flatMap(({ from = [], ports = [] }) =>
    from.map(({ podSelector }) => `${podSelector?.matchLabels[PLATFORM_ROLE]} ${ports.map(({ port }) => port).join(",")}`),
  );
}

test("clients connect through the gateway, and the operator probes its port; the management API is also open to registration, usage readers and monitoring", () => {
  expect(letIn("front").filter((who) => !who.startsWith("undefined"))).toEqual(["gateway 8080,9070", "operator 8080"]);
  expect(letIn("default").filter((who) => who.endsWith(" 9070"))).toEqual(["operator 9070", "monitoring 9070", "tenancy 9070"]);
});

test("probes are open to the operator, which starts draining, and to monitoring", () => {
  expect(letIn("default").filter((who) => who.includes("9091"))).toEqual(["operator 9091,9092", "monitoring 9091,9092"]);
});

test("the operator reaches three Redis, whose replicas it promotes, and no Redis that is alone", () => {
  const replicated = { ...environment, spec: { ...environment.spec, redis: { bundled: { mode: "replicated" } } } };
  expect(letIn("redis").filter((who) => who.startsWith("operator"))).toEqual([]);
  expect(letIn("redis", replicated as EnvironmentResource).filter((who) => who.startsWith("operator"))).toEqual([
    "operator 6379",
  ]);
});

test("an external database is reached by its addresses, and a scraper in another namespace is allowed by its labels", () => {
  const elsewhere = {
    ...cell,
    database: { cidrs: ["10.1.2.3/32", "2001:db8::/64"], port: 6432 },
    monitoring: { namespaceLabels: { team: "observability" }, podLabels: { app: "prometheus" } },
  };
  const policy = networkPolicies(environment, elsewhere).find(({ metadata }) => metadata.name === "default");
  expect(policy?.["spec"]).toMatchObject({
    ingress: [
      {
        from: [
          {},
          { namespaceSelector: { matchLabels: { team: "observability" } }, podSelector: { matchLabels: { app: "prometheus" } } },
        ],
      },
      {},
    ],
    egress: [
      {},
      {},
      {
        to: [{ ipBlock: { cidr: "10.1.2.3/32" } }, { ipBlock: { cidr: "2001:db8::/64" } }],
        ports: [{ protocol: "TCP", port: 6432 }],
      },
    ],
  });
});

/** What pods may reach outside the platform, with these settings of the trace collector. */
function reachedBeside(collector: Partial<Cell["collector"]>) {
  const traced: Cell = { ...cell, tracingEndpoint: "http://collector:4318", collector: { ...cell.collector, ...collector } };
  const control = networkPolicies(environment, traced).find(({ metadata }) => metadata.name === "default") as KubeObject;
  return (control["spec"] as { readonly egress: readonly unknown[] }).egress.slice(2);
}

test("a collector of traces is reached at its port, by labels or addresses", () => {
  const namespaceLabels = { team: "observability" };
  const podLabels = { app: "collector" };
  const ports = [{ protocol: "TCP", port: 4318 }];
  const namespaceSelector = { matchLabels: namespaceLabels };
  const podSelector = { matchLabels: podLabels };
  expect(reachedBeside({ namespaceLabels })).toEqual([{ to: [{ namespaceSelector }], ports }]);
  expect(reachedBeside({ namespaceLabels, podLabels, cidrs: ["10.1.2.3/32"], port: 8318 })).toEqual([
    { to: [{ namespaceSelector, podSelector }, { ipBlock: { cidr: "10.1.2.3/32" } }], ports: [{ protocol: "TCP", port: 8318 }] },
  ]);
  const own = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": cell.namespace } }, podSelector };
  expect(reachedBeside({ podLabels })).toEqual([{ to: [own], ports }]);
});

test("nothing is opened for a collector that is not configured, or that runtimes do not use", () => {
  expect(reachedBeside({})).toEqual([]);
  const labels = { namespaceLabels: { team: "observability" } };
  expect(networkPolicies(environment, { ...cell, collector: { ...cell.collector, ...labels } })).toEqual(
    networkPolicies(environment, cell),
  );
});
