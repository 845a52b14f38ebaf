/** Validates files that only a container engine or a cluster reads, with the parsers of these tools, and checks further rules. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "@jest/globals";
import { programBundle, ROOT } from "@perdure/dev-cluster";
import { checkDockerfile, checkKindConfig, KUBERNETES_VERSION, loadComposeFile, runHelm, runShellcheck } from "@perdure/servers";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
const SCRIPTS = [
  "perdure",
  ".ci/run",
  "deploy/images/build.sh",
  "deploy/images/renew-base.sh",
  "deploy/kind/up.sh",
  "deploy/kind/down.sh",
];
const PROFILES = ["kafka", "one", "cloud"];

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly { readonly type: string; readonly source?: string; readonly target: string }[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly profiles?: readonly string[];
  readonly network_mode?: string;
  readonly ports?: readonly { readonly target: number; readonly published: string; readonly host_ip?: string }[];
  readonly read_only?: boolean;
}
interface Project {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

let services: Readonly<Record<string, Service>>;
let dockerfile: Awaited<ReturnType<typeof checkDockerfile>>;

beforeAll(async () => {
  services = ((await loadComposeFile(join(ROOT, "deploy/compose.yaml"), PROFILES)) as Project).services;
  const variables = { TARGETARCH: "amd64", BUILDARCH: "amd64", BUILDPLATFORM: "linux/amd64" };
  dockerfile = await checkDockerfile(join(ROOT, "deploy/images/Dockerfile"), variables);
}, FIRST_MS);

/** The target of the Dockerfile; undefined for a foreign image. */
const targetOf = ({ image }: Service): string | undefined => /\/perdure-([a-z-]+):/.exec(image)?.[1];

const ours = (): [string, Service, string][] =>
  Object.entries(services).flatMap(([name, one]) => {
    const target = targetOf(one);
    return target === undefined ? [] : [[name, one, target] as [string, Service, string]];
  });

test("the checks of the builder report nothing about the images", () => {
  expect(dockerfile.warnings).toEqual([]);
});

test(
  "each program of the composition takes the settings that it is given, and no other",
  async () => {
    for (const [, service, target] of ours()) {
      const command = (dockerfile.images[target]?.Entrypoint ?? []).slice(1).filter((arg) => !arg.startsWith("--"));
      const [main = "", ...args] = command;
      const folder = main.replace("/dist/main.mjs", "");
      const environment = Object.fromEntries(
        (dockerfile.images[target]?.Env ?? []).map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)]),
      );
      const env = { ...environment, ...service.environment, PATH: process.env["PATH"] };
      const { stdout } = await promisify(execFile)(process.execPath, [await programBundle(folder), ...args, "--print-config"], {
        env,
      });
      for (const variable of Object.keys(service.environment ?? {})) expect(stdout).toContain(`set by ${variable}`);
    }
  },
  TEST_MS,
);

test("services wait until their dependencies are healthy, and each dependency has a health check", () => {
  for (const [name, { depends_on: needed = {} }] of Object.entries(services)) {
    for (const [other, { condition }] of Object.entries(needed)) {
      expect([name, other, condition]).toEqual([name, other, "service_healthy"]);
      const service = services[other] as Service;
      const target = targetOf(service);
      const hasCheck = service.healthcheck !== undefined || (target !== undefined && hasHealthcheck(target));
      expect([other, hasCheck]).toEqual([other, true]);
    }
  }
});

const hasHealthcheck = (target: string): boolean =>
  dockerfile.stages.find(({ name }) => name === target)?.steps.some(({ kind }) => kind === "HEALTHCHECK") === true ||
  target === "tenancy-local"; // From tenancy.

test("nothing is open to the network, programs of ours cannot write to their images, and data outlive containers", () => {
  for (const [name, { ports = [] }] of Object.entries(services)) {
    for (const { host_ip: host } of ports) expect([name, host]).toEqual([name, "127.0.0.1"]);
  }
  for (const [name, service] of ours()) expect([name, service.read_only]).toEqual([name, true]);
  const kept = Object.entries(services).filter(([, { volumes = [] }]) => volumes.some(({ type }) => type === "volume"));
  expect(kept.map(([name]) => name).sort()).toEqual(["kafka", "postgres", "redis", "server", "tenancy"]);
  for (const [name, service, target] of ours()) {
    const volumes = Object.keys(dockerfile.images[target]?.Volumes ?? {});
    expect([name, service.volumes?.map((one) => one.target) ?? []]).toEqual([name, volumes]);
  }
});

test(
  "scripts read as they are meant, kind reads its configuration, and the chart takes the values for it",
  async () => {
    expect(await runShellcheck(SCRIPTS.map((script) => join(ROOT, script)))).toBe("");
    await checkKindConfig(join(ROOT, "deploy/kind/cluster.yaml"));
    const rendered = await runHelm(
      "template",
      "--kube-version",
      KUBERNETES_VERSION,
      "perdure",
      join(ROOT, "charts/perdure"),
      "--namespace=perdure-system",
      `--values=${join(ROOT, "deploy/kind/values.yaml")}`,
      "--set=auth.signingRoot.existingSecret=given-here",
      "--set=internalTls.existingSecret=given-here",
    );
    const script = await readFile(join(ROOT, "deploy/kind/up.sh"), "utf8");
    const built = /^images="([^"]+)"$/m.exec(script)?.[1]?.split(" ") ?? [];
    const expectedImages = new Set(
      [...rendered.matchAll(/image: "perdure\.local\/perdure-([a-z-]+):0\.1\.0"/g)].map((match) => match[1]),
    );
    expect(expectedImages.size).toBeGreaterThan(0);
    expect([...expectedImages].filter((image) => !built.includes(image as string))).toEqual([]);
    const stageNames = dockerfile.stages.map(({ name }) => name);
    expect(built.filter((image) => !stageNames.includes(image))).toEqual([]);
  },
  TEST_MS,
);
