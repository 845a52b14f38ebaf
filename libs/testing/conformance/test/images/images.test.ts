/** Contents of images are listed in several places, which must agree; `make test-images` checks that images work. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const dockerfile = read("deploy/images/Dockerfile");
const targets = [...dockerfile.matchAll(/^FROM .* AS ([a-z-]+)$/gm)].map((match) => match[1] ?? "");

test("images have the Node and the package manager that everything is tested with", () => {
  const { version } = JSON.parse(read("node_modules/node/package.json")) as { readonly version: string };
  const { packageManager } = JSON.parse(read("package.json")) as { readonly packageManager: string };
  expect(/^ARG NODE_VERSION=(.+)$/m.exec(dockerfile)?.[1]).toBe(version);
  expect(/npx -y (pnpm@\S+) install --frozen-lockfile/.exec(dockerfile)?.[1]).toBe(packageManager);
});

test("images are built on a base that is named by digest, in every stage", () => {
  expect(dockerfile).toMatch(/^ARG NODE_DIGEST=sha256:[0-9a-f]{64}$/m);
  expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:\$\{NODE_VERSION\}-bookworm-slim@\$\{NODE_DIGEST\}$/m);
  const bases = [...dockerfile.matchAll(/^FROM (?:--platform=\S+ )?(\S+) AS /gm)].map((match) => match[1] ?? "");
  expect(bases.length).toBe(targets.length);
  expect(bases.filter((base) => !/^\$\{NODE_IMAGE\}$/.test(base) && !targets.includes(base))).toEqual([]);
});

test("no image is packed with another Node than everything is tested with", async () => {
  const { checkNode } = (await import(pathToFileURL(join(ROOT, "deploy/images/pack.mjs")).href)) as {
    readonly checkNode: (found: string) => void;
  };
  checkNode(process.version);
  expect(() => checkNode("v24.0.0")).toThrow("the base image has Node v24.0.0");
});

test("images say where they come from", () => {
  const home = /^home: (\S+)$/m.exec(read("charts/perdure/Chart.yaml"))?.[1];
  expect(/^ARG SOURCE=(.+)$/m.exec(dockerfile)?.[1]).toBe(home);
  expect(dockerfile).toMatch(/^ +org\.opencontainers\.image\.source="\$\{SOURCE\}"$/m);
});

test("there is an image for each that the operator, the charts and the composition name", () => {
  const desired = ["desired/workers.ts", "cloud-environment/desired.ts"].map((file) => read(`services/operator/src/${file}`));
  const operator = [...desired.join("").matchAll(/imageOf\(cell, "([a-z-]+)"/g)].map((match) => match[1]);
  const front = /type Program = (.+);/.exec(read("services/operator/src/desired/workers.ts"))?.[1]?.match(/[a-z-]+/g) ?? [];
  const composed = [...read("deploy/compose.yaml").matchAll(/\/perdure-([a-z-]+):/g)].map((match) => match[1]);
  const named = [...operator, ...front, ...composed] as string[];
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((image) => !targets.includes(image))).toEqual([]);
  const built = /IMAGES:-([^}]+)}/.exec(read("deploy/images/build.sh"))?.[1]?.split(" ");
  expect(built?.toSorted()).toEqual(targets.filter((name) => !/^(?:build|base|example-.*)$/.test(name)).toSorted());
});

test("images run as the user that pods are given", () => {
  const user = /^const USER = ([\d_]+);$/m.exec(read("services/operator/src/desired/pods.ts"))?.[1]?.replace("_", "");
  expect(/^USER (\d+):(\d+)$/m.exec(dockerfile)?.slice(1)).toEqual([user, user]);
});

test("images listen on every address of their container where programs alone listen on loopback", () => {
  const parts = dockerfile.split(/^FROM /m).slice(1);
  for (const part of parts.filter((text) => text.includes("HEALTHCHECK"))) {
    const probed = /"PERDURE_(\w+)__BIND_PORT"/.exec(part)?.[1] ?? "";
    expect(part).toContain(`PERDURE_${probed}__BIND_ADDRESS=*`);
  }
  const servesGrpc = parts.filter((text) => /^base AS (?:worker|registry|tenancy)\n/.test(text));
  expect(servesGrpc).toHaveLength(3);
  for (const part of servesGrpc) expect(part).toContain("PERDURE_GRPC__BIND_ADDRESS=*");
});

test("nothing that is secret or built elsewhere is given to the builder", () => {
  const ignored = read(".dockerignore").split("\n");
  expect(ignored.find((line) => line !== "" && !line.startsWith("#"))).toBe("*");
  for (const line of ["**/node_modules", "**/dist", "deploy/cloud-keys"]) expect(ignored).toContain(line);
});

test("the console is in the images of all programs that serve it, and the builder is given what it is made of", () => {
  const pack = read("deploy/images/pack.mjs");
  const images = /WITH_CONSOLE = \[(.+)\]/.exec(pack)?.[1]?.match(/[a-z-]+/g) ?? [];
  const table = /IMAGES = \{([^}]+)\}/.exec(pack)?.[1] ?? "";
  const serviceOf = new Map([...table.matchAll(/"?([a-z-]+)"?: "([a-z-]+)"/g)].map(([, image, service]) => [image, service]));
  const needs = (service: string, name: string): boolean =>
    Object.hasOwn((JSON.parse(read(`services/${service}/package.json`)) as { dependencies: object }).dependencies, name);
  const serving = [...serviceOf].filter(
    ([, service]) => needs(service ?? "", "@perdure/console-host") || needs(service ?? "", "@perdure/admin-api"),
  );
  expect(images.toSorted()).toEqual(serving.map(([image]) => image).toSorted());
  expect(images).toContain("server");
  const given = read(".dockerignore").split("\n");
  expect(given).toContain("!docs/errors");
  // Its builder reads how it is compiled, with everything that this extends.
  const { extends: base } = JSON.parse(read("services/console/tsconfig.json")) as { readonly extends: string };
  expect(given).toContain(`!${relative(ROOT, join(ROOT, "services/console", base))}`);
});

test("an image gets every entry point of a bundle with what it imports, and no file of an earlier build", async () => {
  const dist = mkdtempSync(join(tmpdir(), "perdure-pack-"));
  try {
    const files = {
      "main.mjs": 'import { a } from "./chunk-A.mjs";',
      "chunk-A.mjs": 'const later = () => import("./lazy-B.mjs");',
      "lazy-B.mjs": "",
      "sql-process.mjs": 'import { c } from "./chunk-C.mjs";',
      "chunk-C.mjs": "",
      "sql-store-thread.mjs": "",
      "chunk-OLD.mjs": "",
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dist, name), text);
    const { filesOf } = (await import(pathToFileURL(join(ROOT, "deploy/images/pack.mjs")).href)) as {
      readonly filesOf: (dist: string) => readonly string[];
    };
    expect(filesOf(dist).toSorted()).toEqual(
      Object.keys(files)
        .filter((name) => name !== "chunk-OLD.mjs")
        .toSorted(),
    );
  } finally {
    rmSync(dist, { recursive: true });
  }
});
