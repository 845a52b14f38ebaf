/** The objects that the chart renders for various values: complete, hardened, without secrets, and consistent. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";
import { namespaceRules, platformRules } from "@perdure/kubernetes-environments";
import { runHelm } from "@perdure/servers";
import { parse } from "yaml";
import {
  CHART,
  containersIn,
  DEFINITIONS_CHART,
  hookOf,
  nameOf,
  objectsIn,
  type Rendered,
  render,
  renderText,
  selects,
  templateOf,
  VALUES,
  type ValuesName,
  workloadsIn,
} from "./release.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
const all = new Map<ValuesName, Rendered[]>();

beforeAll(async () => {
  await runHelm("version");
  await Promise.all(VALUES.map(async (values) => all.set(values, await render({ values }))));
}, FIRST_MS);

/** Variables that are about secrets, and not secret. */
const ABOUT_SECRETS: ReadonlySet<string> = new Set([
  "PERDURE_IMAGES__PULL_SECRETS",
  "PERDURE_KUBERNETES__SECRETS_ROLE",
  "PERDURE_POSTGRES__SECRET_NAME",
  "PERDURE_POSTGRES__SECRET_KEY",
  "PERDURE_SIGNING_KEY_OVERLAP",
]);

const of = (values: ValuesName): Rendered[] => all.get(values) as Rendered[];
const named = (objects: readonly Rendered[], name: string): Rendered => {
  const result = objects.find((object) => nameOf(object) === name);
  if (result === undefined) throw new Error(`there is no ${name}`);
  return result;
};

test.each(["perdure", "perdure-crds"])(
  "helm has nothing against the chart %s",
  async (name) => {
    const [chart, flags] = name === "perdure" ? [CHART, ["-f", `${CHART}/ci/everything.yaml`]] : [DEFINITIONS_CHART, []];
    expect(await runHelm("lint", "--strict", chart, ...flags)).toContain("1 chart(s) linted, 0 chart(s) failed");
  },
  TEST_MS,
);

test(
  "packed it needs nothing beside it: the definitions are inside, and it makes the same",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "perdure-chart-"));
    try {
      await runHelm("package", CHART, "-d", folder);
      const [packed] = readdirSync(folder);
      const objects = await render({ chart: join(folder, packed as string) });
      expect(objects).toEqual(of("minimal"));
      expect(objects.filter(({ kind }) => kind === "CustomResourceDefinition")).toHaveLength(3);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  TEST_MS,
);

test(
  "the Cloud API and the operator name the ports at which the edge listens",
  async () => {
    const sets = ["edge.ports.ingress=8443", "edge.ports.admin=9443"];
    const env = containersIn(await render({ sets })).flatMap((container) =>
      container.env.map(({ name, value }) => [name, value]),
    );
    expect(Object.fromEntries(env)).toMatchObject({
      PERDURE_CLOUD__INGRESS_PORT: "8443",
      PERDURE_CLOUD__ADMIN_PORT: "9443",
      PERDURE_CELL__SCHEME: "https",
      PERDURE_CELL__INGRESS_PORT: "8443",
      PERDURE_CELL__ADMIN_PORT: "9443",
    });
  },
  TEST_MS,
);

describe.each(VALUES)("with the values '%s'", (values) => {
  test("no object is rendered twice, and each has the labels of its release", () => {
    const objects = of(values);
    const names = objects.map(nameOf);
    expect(names.length).toBeGreaterThan(15);
    expect(new Set(names).size).toBe(names.length);
    for (const { kind, metadata } of objects.filter(({ kind }) => kind !== "CustomResourceDefinition")) {
      expect([kind, metadata.name, metadata.labels]).toEqual([
        kind,
        metadata.name,
        expect.objectContaining({ "app.kubernetes.io/name": "perdure", "app.kubernetes.io/instance": "cell" }),
      ]);
    }
  });

  test("each container has resources, is hardened, and is probed unless it ends by itself", () => {
    for (const object of workloadsIn(of(values))) {
      const { spec } = templateOf(object);
      expect(spec).toMatchObject({
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      });
      expect(spec["terminationGracePeriodSeconds"]).toBeGreaterThanOrEqual(30);
      for (const container of spec.containers) {
        expect(container.resources.requests).toEqual({ cpu: expect.any(String), memory: expect.any(String) });
        expect(container["securityContext"]).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
        const ports = container.ports?.map(({ name }) => name) ?? [];
        for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
          if (object.kind === "Job") expect(container[probe]).toBeUndefined();
          else expect(ports).toContain((container[probe] as { httpGet: { port: string } }).httpGet.port);
        }
      }
    }
  });

  test("only programs that use the API server have a token, and each account exists", () => {
    const objects = of(values);
    const withToken = workloadsIn(objects).filter((object) => templateOf(object).spec["automountServiceAccountToken"] !== false);
    const expected = ["Deployment/perdure-operator", "Deployment/perdure-tenancy", "Job/perdure-predelete"];
    expect(withToken.map(nameOf).toSorted()).toEqual(expected.filter((name) => objects.some((one) => nameOf(one) === name)));
    for (const object of workloadsIn(objects)) {
      expect(named(objects, `ServiceAccount/${templateOf(object).spec.serviceAccountName}`)).toMatchObject({
        automountServiceAccountToken: false,
      });
    }
  });

  test("no secret is in it: only references", () => {
    const objects = of(values);
    expect(objects.filter(({ kind }) => kind === "Secret")).toEqual([]);
    for (const { env } of containersIn(objects)) {
      for (const { name, value } of env) {
        if (!/PASSWORD|SECRET|TOKEN|POSTGRES_URL|PRIVATE|_KEY/.test(name) || value === undefined) continue;
        expect([name, ABOUT_SECRETS.has(name) || value.startsWith("/var/run/perdure/")]).toEqual([name, true]);
      }
    }
  });

  test("whatever selects finds what it means, and whatever leads somewhere leads to a port that is open", () => {
    const objects = of(values);
    const workloads = workloadsIn(objects);
    for (const object of workloads.filter(({ kind }) => kind !== "Job")) {
      expect(selects(object.spec.selector?.matchLabels ?? { none: "" }, templateOf(object).metadata.labels)).toBe(true);
    }
    const podsOf = (labels: Readonly<Record<string, string>> | undefined): Rendered[] =>
      workloads.filter((object) => selects(labels ?? { none: "" }, templateOf(object).metadata.labels));
    for (const service of objects.filter(({ kind }) => kind === "Service")) {
      const [pods, ...more] = podsOf(service.spec.selector);
      expect([nameOf(service), pods !== undefined, more]).toEqual([nameOf(service), true, []]);
      const open = templateOf(pods as Rendered).spec.containers.flatMap(({ ports = [] }) => ports.map(({ name }) => name));
      expect(open).toEqual(expect.arrayContaining((service.spec.ports ?? []).map(({ targetPort }) => targetPort)));
    }
    for (const object of objects.filter(({ kind }) => kind === "PodDisruptionBudget")) {
      expect(podsOf(object.spec.selector?.matchLabels)).toHaveLength(1);
    }
    for (const object of objects.filter(({ kind }) => kind === "NetworkPolicy")) {
      const { matchLabels } = object.spec.podSelector ?? {};
      const isShared = ["perdure-default-deny", "perdure-postgres"].includes(object.metadata.name);
      if (!isShared) expect([nameOf(object), podsOf(matchLabels).length]).toEqual([nameOf(object), 1]);
    }
    for (const object of objects.filter(({ kind }) => kind === "HorizontalPodAutoscaler")) {
      const { kind, name } = object.spec["scaleTargetRef"] as { kind: string; name: string };
      expect(named(objects, `${kind}/${name}`).spec.replicas).toBeUndefined();
    }
  });

  test("a budget is only where there is a second pod", () => {
    const objects = of(values);
    for (const workload of workloadsIn(objects).filter(({ kind }) => kind !== "Job")) {
      const { name } = workload.metadata;
      const scaled = objects.find((one) => nameOf(one) === `HorizontalPodAutoscaler/${name}`);
      const least = (scaled?.spec["minReplicas"] as number | undefined) ?? workload.spec.replicas ?? 1;
      const budgets = objects.filter((one) => nameOf(one) === `PodDisruptionBudget/${name}`);
      expect([name, budgets.length]).toEqual([name, least > 1 ? 1 : 0]);
    }
  });

  test("images are pinned by digest and pulled as the values say, those of environments too", async () => {
    const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
    const pinned = ["gateway", "tenancy", "tunnelRelay", "operator", "operator.redisImage"].map((of) => `${of}.digest=${digest}`);
    const objects = await render({ values, sets: [...pinned, "global.imagePullPolicy=Always"] });
    for (const container of containersIn(objects)) {
      expect([container.image, container["imagePullPolicy"]]).toEqual([
        expect.stringMatching(/:[^:@/]+@sha256:[a-f0-9]{64}$/),
        "Always",
      ]);
    }
    const variables = new Map(containersIn(objects).flatMap(({ env }) => env.map(({ name, value }) => [name, value] as const)));
    expect(variables.get("PERDURE_IMAGES__REDIS")).toBe(`docker.io/library/redis:7.4@${digest}`);
    expect(variables.get("PERDURE_IMAGES__PULL_POLICY")).toBe("Always");
    for (const container of containersIn(of(values))) expect(Object.keys(container)).not.toContain("imagePullPolicy");
  });

  test("one switch moves every image, those of environments too", async () => {
    const objects = await render({ values, sets: ["global.imageRegistry=mirror.test:5000/p"] });
    const containers = containersIn(objects);
    expect(containers.length).toBeGreaterThanOrEqual({ loadbalancer: 4, operator: 3 }[values as string] ?? 5);
    for (const { image } of containers) expect(image).toMatch(/^mirror\.test:5000\/p\/perdure-[a-z-]+:[^:]+$/);
    for (const { image } of containers) expect(image).not.toMatch(/:latest$/);
    const registry = containers.flatMap(({ env }) => env).find(({ name }) => name === "PERDURE_IMAGES__REGISTRY");
    expect(registry?.value).toBe("mirror.test:5000/p");
    expect(JSON.stringify(objects)).not.toContain("ghcr.io");
    // Redis has an image of its own, whose registry is a separate value.
    const redis = containers.flatMap(({ env }) => env).find(({ name }) => name === "PERDURE_IMAGES__REDIS");
    expect(redis?.value).toBe("docker.io/library/redis:7.4");
  });
});

test("labels, annotations of accounts and further objects are where the values say, and selectors stay as they are", async () => {
  const sets = [
    "global.commonLabels.team=payments",
    "global.revisionHistoryLimit=3",
    "gateway.serviceAccount.annotations.example\\.org/role=gateway",
    "extraObjects[0].apiVersion=v1",
    "extraObjects[0].kind=ConfigMap",
    "extraObjects[0].metadata.name=\\{\\{ .Release.Name \\}\\}-more",
  ];
  const objects = await render({ sets });
  const ours = objects.filter(({ kind, metadata }) => kind !== "CustomResourceDefinition" && metadata.name !== "cell-more");
  expect(objects.length - ours.length).toBe(4);
  expect(named(objects, "ConfigMap/cell-more").apiVersion).toBe("v1");
  for (const object of ours) expect([nameOf(object), object.metadata.labels?.["team"]]).toEqual([nameOf(object), "payments"]);
  for (const object of workloadsIn(objects)) {
    expect(templateOf(object).metadata.labels["team"]).toBe("payments");
    expect(JSON.stringify(object.spec.selector ?? {})).not.toContain("team");
    if (object.kind !== "Job") expect(object.spec["revisionHistoryLimit"]).toBe(3);
  }
  expect(named(objects, "ServiceAccount/perdure-gateway").metadata.annotations).toEqual({ "example.org/role": "gateway" });
  expect(named(objects, "ServiceAccount/perdure-tenancy").metadata.annotations).toBeUndefined();
});

test("pods have labels of their own, which win over common ones, and services inside have annotations", async () => {
  const programs = { gateway: "gateway", tenancy: "tenancy", tunnelRelay: "tunnel-relay", operator: "operator" };
  const sets = Object.keys(programs).flatMap((key) => [
    `${key}.podLabels.team=${key}`,
    `${key}.service.annotations.example\\.org/of=${key}`,
  ]);
  const objects = await render({ sets: [...sets, "global.commonLabels.team=all", "migrations.podLabels.team=jobs"] });
  for (const [key, component] of Object.entries(programs)) {
    const [workload] = workloadsIn(objects).filter(({ metadata }) => metadata.name === `perdure-${component}`);
    expect(templateOf(workload as Rendered).metadata.labels["team"]).toBe(key);
    expect([component, workload?.metadata.labels?.["team"]]).toEqual([component, "all"]);
    expect(JSON.stringify(workload?.spec.selector)).not.toContain("team");
    expect(named(objects, `Service/perdure-${component}`).metadata.annotations).toEqual({ "example.org/of": key });
  }
  expect(templateOf(named(objects, "Job/perdure-migrations")).metadata.labels["team"]).toBe("jobs");
  await expect(render({ sets: ["gateway.podLabels.app\\.kubernetes\\.io/name=x"] })).rejects.toThrow(
    "invalid propertyName 'app.kubernetes.io/name'",
  );
});

test("pods are spread over zones and over the nodes of each, as far as possible", async () => {
  const keysOf = (objects: readonly Rendered[], name: string): unknown => {
    const spread = templateOf(named(objects, name)).spec["topologySpreadConstraints"] as
      | readonly { readonly topologyKey: string; readonly whenUnsatisfiable: string; readonly labelSelector: object }[]
      | undefined;
    expect(new Set(spread?.map(({ whenUnsatisfiable }) => whenUnsatisfiable) ?? ["ScheduleAnyway"])).toEqual(
      new Set(["ScheduleAnyway"]),
    );
    return spread?.map(({ topologyKey }) => topologyKey);
  };
  const [zone, node] = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"];
  for (const name of ["Deployment/perdure-gateway", "StatefulSet/perdure-tunnel-relay"])
    expect(keysOf(of("minimal"), name)).toEqual([zone, node]);
  const changed = await render({ sets: ["gateway.topologySpread=node", "tenancy.topologySpread=none"] });
  expect(keysOf(changed, "Deployment/perdure-gateway")).toEqual([node]);
  expect(keysOf(changed, "Deployment/perdure-tenancy")).toBeUndefined();
});

test.each([CHART, DEFINITIONS_CHART])("%s has its sources and maintainers, and its icon needs no network", (chart) => {
  const about = parse(readFileSync(join(chart, "Chart.yaml"), "utf8")) as Readonly<Record<string, unknown>>;
  expect(about).toMatchObject({
    home: expect.stringMatching(/^https:/),
    maintainers: [{ name: expect.any(String) }],
  });
  expect((about["keywords"] as string[]).length).toBeGreaterThan(1);
  expect(JSON.stringify(about["maintainers"])).not.toContain("@");
  const mark = readFileSync(join(ROOT, "services/console/public/mark.svg"), "utf8").trim();
  const [, encoded = ""] = (about["icon"] as string).split("data:image/svg+xml;base64,");
  expect(Buffer.from(encoded, "base64").toString()).toBe(mark);
});

test("tenancy may do what its suite runs with, and no more", () => {
  const rights = of("minimal").filter(({ kind, metadata }) => /Role$/.test(kind) && /tenancy/.test(metadata.name));
  expect(rights.map((role) => [role.kind, role["rules"]])).toEqual([
    ["ClusterRole", platformRules],
    ["Role", namespaceRules],
  ]);
});

test("without the platform the operator comes alone: one program, its listener, its rights, and no Secret", () => {
  const objects = of("operator");
  expect(workloadsIn(objects).map(nameOf).toSorted()).toEqual([
    "Deployment/perdure-operator",
    "Job/perdure-predelete",
    "Job/perdure-test",
  ]);
  const names = (kind: string): string[] => objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
  expect(names("Service")).toEqual(["perdure-operator"]);
  expect(names("ClusterRole")).not.toContain("perdure-tenancy");
  for (const kind of ["Secret", "Gateway", "HTTPRoute", "Ingress", "Certificate"])
    expect([kind, names(kind)]).toEqual([kind, []]);
  const variables = containersIn(objects).flatMap(({ env }) => env);
  expect(variables).toContainEqual({ name: "PERDURE_CELL__CLOUD_GATEWAY", value: "false" });
  const url = "http://perdure-operator.perdure-system.svc.cluster.local:9091/readyz";
  expect(variables).toContainEqual({ name: "READY_URLS", value: url });
});

test(
  "without the platform only the operator is scraped, and missed when it is gone",
  async () => {
    const sets = ["monitoring.serviceMonitor.enabled=true", "monitoring.prometheusRule.enabled=true"];
    const text = await renderText({ values: "operator", sets });
    expect([...text.matchAll(/absent\(perdure_build_info\{role="([a-z-]+)"/g)].map(([, role]) => role)).toEqual(["operator"]);
    const monitor = named(objectsIn(text), "ServiceMonitor/perdure");
    expect(monitor.spec.selector).toMatchObject({ matchExpressions: [{ values: ["operator"] }] });
  },
  TEST_MS,
);

describe("hooks", () => {
  test("come in order, and bring whatever they need", () => {
    const objects = of("everything");
    const weight = ({ metadata }: Rendered): number => Number(metadata.annotations?.["helm.sh/hook-weight"]);
    const before = objects.filter((object) => hookOf(object)?.startsWith("pre-install"));
    expect(before.toSorted((a, b) => weight(a) - weight(b)).map((object) => `${weight(object)} ${nameOf(object)}`)).toEqual([
      "-10 NetworkPolicy/perdure-migrations",
      "-10 ServiceAccount/perdure-migrations",
      "-5 Job/perdure-migrations",
    ]);
    for (const object of before) {
      expect(hookOf(object)).toBe("pre-install,pre-upgrade");
      expect(object.metadata.annotations?.["helm.sh/hook-delete-policy"]).toBe("before-hook-creation,hook-succeeded");
    }
    const [after, ...more] = objects.filter((object) => hookOf(object) === "pre-delete");
    expect([nameOf(after as Rendered), more]).toEqual(["Job/perdure-predelete", []]);
    // Its account and its way out belong to the release, which is still there then.
    expect(hookOf(named(objects, "ServiceAccount/perdure-operator"))).toBeUndefined();
    expect(hookOf(named(objects, "NetworkPolicy/perdure-predelete"))).toBeUndefined();
  });

  test("the database's Job may try again but not for ever; the check before the end runs once", () => {
    expect(named(of("minimal"), "Job/perdure-migrations").spec).toMatchObject({ backoffLimit: 3, activeDeadlineSeconds: 900 });
    expect(named(of("minimal"), "Job/perdure-predelete").spec).toMatchObject({ backoffLimit: 0, activeDeadlineSeconds: 300 });
  });

  test("can be left out, but for the test, which runs on request only", () => {
    const hooks = of("loadbalancer").map(hookOf);
    expect(hooks.filter((hook) => hook !== undefined && hook !== "test")).toEqual([]);
  });
});

describe("what a cluster may lack", () => {
  test(
    "is not made where it is not there",
    async () => {
      const objects = await render({ values: "everything", apis: [] });
      const groups = new Set(objects.map(({ apiVersion }) => apiVersion.split("/", 1)[0] as string));
      for (const group of ["gateway.networking.k8s.io", "cert-manager.io", "monitoring.coreos.com"]) {
        expect(groups).not.toContain(group);
      }
      expect(new Set(of("everything").map(({ apiVersion }) => apiVersion))).toEqual(
        new Set(
          [...objects.map(({ apiVersion }) => apiVersion), "gateway.networking.k8s.io/v1", "cert-manager.io/v1"].concat(
            "monitoring.coreos.com/v1",
          ),
        ),
      );
    },
    TEST_MS,
  );

  test("is not rendered when it is not enabled", () => {
    const kinds = new Set(of("minimal").map(({ kind }) => kind));
    for (const kind of ["ServiceMonitor", "PodMonitor", "PrometheusRule", "ConfigMap", "Ingress"])
      expect(kinds).not.toContain(kind);
    const plain = new Set(of("ingress").map(({ kind }) => kind));
    for (const kind of ["Gateway", "HTTPRoute", "Certificate"]) expect(plain).not.toContain(kind);
  });
});
