/** The pages of docs/reference match the code. `make reference` writes them again. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { createTestAdminApi, startServer } from "@perdure/admin-api/testing";
import { catalogue } from "@perdure/base";
import { routeOf } from "@perdure/ingress-gateway/routes";
import { parseTargetBody } from "@perdure/ingress-gateway/targets";
import { aHandler, aRegistry } from "@perdure/ingress-gateway/testing";
import { createTestRegistry } from "@perdure/registry/testing";
import { adminApiPage } from "../src/admin-api.js";
import { cloudApiPage } from "../src/cloud-api.js";
import { errorsPage } from "../src/errors.js";
import { auditActions, eventsPage } from "../src/events.js";
import { ADDED_HEADERS, ingressPage, PATHS, REQUEST_HEADERS, TARGET_BODIES } from "../src/ingress.js";
import type { Page } from "../src/markdown.js";
import { settingsPage } from "../src/settings.js";
import { sqlPage } from "../src/sql.js";

const ROOT = resolve(fileURLToPath(import.meta.url), "../../../..");
const FOLDER = join(ROOT, "docs/reference");

async function openApi(): Promise<unknown> {
  await using server = await startServer(createTestAdminApi({ registry: await createTestRegistry() }));
  return (await server.send("GET", "/openapi")).json<unknown>();
}

const PAGES: readonly (readonly [string, () => Page | Promise<Page>])[] = [
  ["settings.md", settingsPage],
  ["admin-api.md", async () => adminApiPage(await openApi())],
  ["cloud-api.md", cloudApiPage],
  ["ingress.md", ingressPage],
  ["sql-tables.md", sqlPage],
  ["errors.md", errorsPage],
  ["events.md", () => eventsPage(ROOT)],
];

test.each(PAGES)("docs/reference/%s says what the code says", async (name, make) => {
  const made = await make();
  expect(made.name).toBe(name);
  const path = join(FOLDER, name);
  if (process.env["PERDURE_UPDATE_DOCS"] === "1") writeFileSync(path, made.text);
  else expect(readFileSync(path, "utf8")).toBe(made.text);
});

/** Pages about forms that the code does not describe in sentences. */
const WRITTEN = ["README.md", "bundle.md"];

test("every page of the folder is generated, or one of those that are written", () => {
  const generated = PAGES.map(([name]) => name);
  expect(readdirSync(FOLDER).toSorted()).toEqual([...generated, ...WRITTEN].toSorted());
});

test("no meaning is missing: settings, operations, tables and events have a sentence", async () => {
  const texts = await Promise.all(PAGES.map(async ([, make]) => (await make()).text));
  const empty = texts.flatMap((text) => text.split("\n").filter((line) => /^\| `[^|]+`.*\|\s*\|$/.test(line)));
  // Fields of schemas may be without a sentence: their names and types are those of the specification.
  expect(empty.filter((line) => !/\| (yes|no) \|/.test(line))).toEqual([]);
});

// ── the ingress ──────────────────────────────────────────────────────────────────────────────────

const registry = aRegistry({
  Greeter: { type: "service", handlers: [aHandler("Greeter", "greet")] },
  Counter: { type: "virtualObject", handlers: [aHandler("Counter", "add")] },
});

test.each(PATHS.map(({ path, kind }) => [path, kind]))("the ingress routes %s to %s", (path, kind) => {
  const example = path
    .replace("{service}/{handler}", "Greeter/greet")
    .replace("{object}/{key}/{handler}", "Counter/k/add")
    .replace(/\{\w+\}/g, "x");
  const route = routeOf(example, registry.current());
  switch (route.kind) {
    case "invoke":
      return expect(route.wait ? "call" : "send").toBe(kind);
    case "result":
    case "resultByBody":
      return expect(route.verb).toBe(kind);
    default:
      return expect(route.kind).toBe(kind);
  }
});

test.each(TARGET_BODIES)("the ingress reads the target %s", (body) => {
  expect(parseTargetBody(Buffer.from(body), "request body").kind).not.toBe("refused");
});

/** Texts of the ingress that are names of headers. */
function headersInSources(): ReadonlySet<string> {
  const folder = join(ROOT, "services/ingress-gateway/src");
  const files = readdirSync(folder).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  const texts = files.map((name) => readFileSync(join(folder, name), "utf8"));
  const name = /"((?:x-|idempotency-|access-control-|trace)[a-z-]+|origin|vary|content-type)"/g;
  return new Set(texts.flatMap((text) => [...text.matchAll(name)].map(([, header]) => header ?? "")));
}

test("every header that the ingress reads or adds is on its page, and no other", () => {
  const described = { ...REQUEST_HEADERS, ...ADDED_HEADERS };
  expect([...headersInSources()].toSorted()).toEqual(Object.keys(described).toSorted());
});

// ── errors and events ────────────────────────────────────────────────────────────────────────────

test("the page of errors has every code", () => {
  const { text } = errorsPage();
  expect(Object.keys(catalogue).filter((name) => !text.includes(`errors/${name}.md`))).toEqual([]);
});

test("the sources record events of the audit log", () => {
  expect(auditActions(ROOT)).toEqual(expect.arrayContaining(["key.create", "member.invite", "environment.destroy"]));
});
