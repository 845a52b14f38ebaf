/** Rendered charts: the edge, network policies, and addresses of services. */
import { beforeAll, describe, expect, test } from "@jest/globals";
import { runHelm } from "@perdure/servers";
import { containersIn, nameOf, type Rendered, render, templateOf, VALUES, type ValuesName, workloadsIn } from "./release.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
const all = new Map<ValuesName, Rendered[]>();

beforeAll(async () => {
  await runHelm("version");
  await Promise.all(VALUES.map(async (values) => all.set(values, await render({ values }))));
}, FIRST_MS);

const of = (values: ValuesName): Rendered[] => all.get(values) as Rendered[];
const named = (objects: readonly Rendered[], name: string): Rendered => {
  const result = objects.find((object) => nameOf(object) === name);
  if (result === undefined) throw new Error(`there is no ${name}`);
  return result;
};

describe("the edge", () => {
  test("by the Gateway API: three listeners and a route for each, whatever the number of environments", () => {
    const objects = of("everything");
    const { listeners } = named(objects, "Gateway/perdure").spec as unknown as {
      listeners: readonly {
        name: string;
        port: number;
        hostname: string;
        protocol: string;
        tls: { certificateRefs: [{ name: string }] };
      }[];
    };
    expect(listeners.map(({ name, port, hostname, protocol }) => [name, port, hostname, protocol])).toEqual([
      ["ingress", 8080, "*.env.eu.private.example.org", "HTTPS"],
      ["admin", 9070, "*.env.eu.private.example.org", "HTTPS"],
      ["api", 8443, "api.eu.private.example.org", "HTTPS"],
    ]);
    for (const { name, tls } of listeners) {
      const certificate = named(objects, `Certificate/${tls.certificateRefs[0].name}`);
      expect(certificate.spec).toMatchObject({ secretName: tls.certificateRefs[0].name });
      const route = named(objects, `HTTPRoute/perdure-${name}`).spec as unknown as {
        parentRefs: [{ sectionName: string }];
        rules: [{ backendRefs: [{ name: string; port: number }] }];
      };
      expect(route.parentRefs[0].sectionName).toBe(name);
      const [backend] = route.rules[0].backendRefs;
      expect(named(objects, `Service/${backend.name}`).spec.ports?.map(({ port }) => port)).toContain(backend.port);
    }
    expect(named(objects, "Certificate/perdure-edge-environments").spec).toMatchObject({
      dnsNames: ["*.env.eu.private.example.org"],
      issuerRef: { name: "letsencrypt", kind: "Issuer", group: "cert-manager.io" },
    });
    // What the Gateway serves the pods need not; tunnels are TCP and bring their own.
    const mounts = (name: string): unknown => templateOf(named(objects, name)).spec["volumes"];
    expect(JSON.stringify(mounts("Deployment/perdure-gateway"))).not.toContain("perdure-edge");
    expect(mounts("StatefulSet/perdure-tunnel-relay")).toContainEqual({
      name: "public-tls",
      secret: { secretName: "perdure-edge-tunnel", defaultMode: 0o440 },
    });
  });

  test("by balancers of connections: our own listeners have the given certificates", () => {
    const objects = of("loadbalancer");
    for (const [component, ports, secret] of [
      ["gateway", [8080, 9070], "wildcard"],
      ["tenancy", [443], "api"],
      ["tunnel-relay", [9090], "tunnel"],
    ] as const) {
      const { spec } = named(objects, `Service/perdure-${component}-public`);
      expect(spec).toMatchObject({ type: "LoadBalancer", externalTrafficPolicy: "Local" });
      expect(spec.ports?.map(({ port }) => port)).toEqual(ports);
      const workload = workloadsIn(objects).find(({ metadata }) => metadata.name === `perdure-${component}`) as Rendered;
      expect(JSON.stringify(templateOf(workload).spec["volumes"])).toContain(`"secretName":"${secret}"`);
    }
  });

  test("by Ingress: each listener has a class of its own, since a controller has one port", () => {
    const objects = of("ingress").filter(({ kind }) => kind === "Ingress");
    expect(objects.map(({ metadata, spec }) => [metadata.name, spec["ingressClassName"]])).toEqual([
      ["perdure-ingress", "calls"],
      ["perdure-api", "calls"],
      ["perdure-admin", "management"],
    ]);
  });
});

describe("network policies", () => {
  test("are there before anything: all of the namespace is closed", () => {
    expect(named(of("minimal"), "NetworkPolicy/perdure-default-deny").spec).toEqual({
      podSelector: {},
      policyTypes: ["Ingress", "Egress"],
    });
    expect(of("loadbalancer").filter(({ kind }) => kind === "NetworkPolicy")).toEqual([]);
  });

  test("no list of peers is empty, which would match every address", () => {
    for (const values of VALUES) {
      for (const { metadata, spec } of of(values).filter(({ kind }) => kind === "NetworkPolicy")) {
        for (const rule of [...((spec["ingress"] ?? []) as object[]), ...((spec["egress"] ?? []) as object[])]) {
          const { from, to } = rule as { from?: readonly unknown[]; to?: readonly unknown[]; ports?: unknown };
          expect([metadata.name, from?.length === 0 || to?.length === 0]).toEqual([metadata.name, false]);
          expect([metadata.name, rule]).toEqual([metadata.name, expect.objectContaining({ ports: expect.anything() })]);
        }
      }
    }
  });

  test("the operator, which makes roles of environments, reaches the database like tenancy", () => {
    const ports = [{ protocol: "TCP", port: 5432 }];
    const database = { podSelector: { matchLabels: { "perdure.dev/platform-role": "postgres" } } };
    const listed = { ports, to: [database, { ipBlock: { cidr: "10.1.2.3/32" } }] };
    for (const program of ["operator", "tenancy"]) {
      expect(named(of("everything"), `NetworkPolicy/perdure-${program}`).spec["egress"]).toContainEqual(listed);
      expect(named(of("minimal"), `NetworkPolicy/perdure-${program}`).spec["egress"]).toContainEqual({ ports });
    }
    const { spec } = named(of("minimal"), "NetworkPolicy/perdure-postgres");
    expect(JSON.stringify(spec["ingress"])).toContain('"app.kubernetes.io/component":"operator"');
  });

  test("the collector of traces is reached by every program, and environments get its address", async () => {
    const selectors = {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "observability" } },
      podSelector: { matchLabels: { "app.kubernetes.io/name": "collector" } },
    };
    const rule = { to: [selectors, { ipBlock: { cidr: "10.9.8.7/32" } }], ports: [{ protocol: "TCP", port: 14_318 }] };
    for (const program of ["gateway", "operator", "tenancy", "tunnel-relay"]) {
      expect(named(of("everything"), `NetworkPolicy/perdure-${program}`).spec["egress"]).toContainEqual(rule);
    }
    const variablesOf = (objects: readonly Rendered[]): readonly unknown[] =>
      containersIn(objects)
        .flatMap(({ env }) => env)
        .filter(({ name }) => /RUNTIMES__|__COLLECTOR/.test(name))
        .map(({ name, value }) => [name.replace(/^PERDURE_[A-Z]+__/, ""), value]);
    expect(variablesOf(of("everything"))).toEqual([
      ["TRACING_ENDPOINT", "http://collector.observability:4318"],
      ["COLLECTOR_NAMESPACE_LABELS", '{"kubernetes.io/metadata.name":"observability"}'],
      ["COLLECTOR_POD_LABELS", '{"app.kubernetes.io/name":"collector"}'],
      ["COLLECTOR_CIDRS", "10.9.8.7/32"],
      ["COLLECTOR_PORT", "14318"],
    ]);
    expect(variablesOf(of("minimal"))).toEqual([]);
    const untraced = await render({ values: "everything", sets: ["global.tracing.endpoint="] });
    expect(JSON.stringify(untraced)).not.toMatch(/10\.9\.8\.7|TRACING/);
  });

  test("only public listeners are open to every client", () => {
    const open = of("everything")
      .filter(({ kind }) => kind === "NetworkPolicy")
      .flatMap(({ metadata, spec }) =>
        ((spec["ingress"] ?? []) as readonly { from?: unknown; ports: readonly { port: number }[] }[])
          .filter(({ from }) => from === undefined)
          .flatMap(({ ports }) => ports.map(({ port }) => `${metadata.name} ${port}`)),
      );
    expect(open.toSorted()).toEqual([
      "perdure-gateway 8080",
      "perdure-gateway 9070",
      "perdure-tenancy 8085",
      "perdure-tunnel-relay 9090",
    ]);
  });
});

describe("addresses of services", () => {
  test.each([
    ["dual", { ipFamilyPolicy: "PreferDualStack" }],
    ["ipv4", { ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv4"] }],
    ["ipv6", { ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv6"] }],
  ])(
    "are of the chosen family: %s",
    async (family, expected) => {
      const objects = await render({ sets: [`global.ipFamily=${family}`] });
      for (const { spec } of objects.filter(({ kind }) => kind === "Service")) expect(spec).toMatchObject(expected);
    },
    TEST_MS,
  );

  test("end as the cluster's names do", () => {
    const text = JSON.stringify(of("everything"));
    expect(text).toContain("perdure-tenancy.perdure-system.svc.cluster.example:9090");
    expect(text).not.toContain("cluster.local");
  });
});
