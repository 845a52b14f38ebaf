/** The files of `.github`, which no machine of a developer runs: what they say is compared with their schemas and with the tree. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { TIERS } from "@perdure/testkit";
import { Ajv, type AnySchemaObject } from "ajv";
import { makeTargets, ROOT, targetsMadeBy, updates, workflows } from "./workflows.js";

const SCHEMAS = join(dirname(fileURLToPath(import.meta.url)), "testdata");

/** What is wrong with a document by a schema of `testdata`. */
function problemsOf(schema: string, document: unknown): readonly unknown[] {
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  const validate = ajv.compile(JSON.parse(readFileSync(join(SCHEMAS, schema), "utf8")) as AnySchemaObject);
  return validate(document) ? [] : (validate.errors ?? []);
}

const WORKFLOW = "github-workflow.json";
const DEPENDABOT = "dependabot-2.0.json";

test("the workflows are those that the page about releases names", () => {
  expect(workflows.map(({ name }) => name).sort()).toEqual(["ci.yml", "codeql.yml", "kind.yml", "release.yml", "scorecard.yml"]);
});

describe.each(workflows)("the workflow $name", ({ workflow }) => {
  const jobs = Object.values(workflow.jobs);
  const steps = jobs.flatMap((job) => job.steps);

  test("fits its schema", () => {
    expect(problemsOf(WORKFLOW, workflow)).toEqual([]);
  });

  test("has a limit of time for each job", () => {
    expect(jobs.filter((job) => job["timeout-minutes"] === undefined)).toEqual([]);
  });

  test("may only read, except for jobs that name what they write", () => {
    expect(workflow.permissions).toEqual({ contents: "read" });
  });

  test("takes actions by a version, never by a branch, and leaves no token in a checkout", () => {
    const actions = steps.flatMap(({ uses }) => (uses === undefined ? [] : [uses]));
    expect(actions.filter((uses) => !/^[\w-]+\/[\w/-]+@(?:v\d+(?:\.\d+\.\d+)?|[0-9a-f]{40})$/.test(uses))).toEqual([]);
    const checkouts = steps.filter(({ uses }) => uses?.startsWith("actions/checkout@"));
    expect(checkouts.filter((step) => step.with?.["persist-credentials"] !== false)).toEqual([]);
  });

  test("puts no expression into the text of a script, where a title or a branch could add commands", () => {
    expect(steps.filter(({ run }) => run?.includes("${{"))).toEqual([]);
  });

  test("makes targets that exist", () => {
    expect(steps.flatMap(({ run }) => targetsMadeBy(run ?? "")).filter((target) => !makeTargets.has(target))).toEqual([]);
  });
});

describe("CI", () => {
  const job = workflows.find(({ name }) => name === "ci.yml")?.workflow.jobs["make"];
  const targets = (job?.strategy?.matrix.include ?? []).map((entry) => entry["target"]);

  test("has a job for every tier of the Makefile and for the documentation, and for nothing else", () => {
    expect(targets.filter((target) => typeof target !== "string" || !makeTargets.has(target))).toEqual([]);
    expect(targets.toSorted()).toEqual([...TIERS.map(({ target }) => target), "test-sdks", "docs"].toSorted());
  });

  test("has the languages that a tier needs", () => {
    const toolsOf = (target: string): unknown =>
      job?.strategy?.matrix.include?.find((entry) => entry["target"] === target)?.["tools"];
    for (const { target, needs } of TIERS) {
      const programs = needs.flatMap((need) => need.programs);
      if (programs.includes("go")) expect([target, toolsOf(target)]).toEqual([target, expect.stringContaining("go")]);
      if (programs.some((one) => /^javac?$/.test(one)))
        expect([target, toolsOf(target)]).toEqual([target, expect.stringContaining("java")]);
    }
  });
});

describe("a cluster with nodes", () => {
  const steps = workflows.find(({ name }) => name === "kind.yml")?.workflow.jobs["install"]?.steps ?? [];

  test("gets the cell of deploy/kind, is tested with helm, and shows its state when that fails", () => {
    const scripts = steps.flatMap(({ run }) => (run === undefined ? [] : [run]));
    expect(scripts).toContain("deploy/kind/up.sh");
    expect(existsSync(join(ROOT, "deploy/kind/up.sh"))).toBe(true);
    expect(scripts).toContain("helm test perdure --namespace perdure-system --logs");
    expect(readFileSync(join(ROOT, "deploy/kind/up.sh"), "utf8")).toContain("helm upgrade --install perdure ");
    expect(steps.at(-1)).toMatchObject({
      if: "failure()",
      run: expect.stringContaining("kubectl describe environments.perdure.dev"),
    });
  });
});

describe("a release", () => {
  const jobs = workflows.find(({ name }) => name === "release.yml")?.workflow.jobs ?? {};

  test("waits for an approval in every job that may write", () => {
    const writers = Object.entries(jobs).filter(([, job]) => Object.values(job.permissions ?? {}).includes("write"));
    expect(writers.map(([name]) => name)).toEqual(["npm", "images", "charts", "page"]);
    expect(writers.filter(([, job]) => job.environment !== "release")).toEqual([]);
  });

  test("publishes npm packages with provenance, by an identity of the workflow and without a stored token", () => {
    expect(jobs["npm"]?.permissions).toEqual({ contents: "read", "id-token": "write" });
    expect(jobs["npm"]?.steps.some(({ run }) => run?.includes("npm publish") === true && run.includes("--provenance"))).toBe(
      true,
    );
    expect(JSON.stringify(jobs)).not.toContain("secrets.");
  });
});

describe("updates of dependencies", () => {
  test("fit their schema", () => {
    expect(problemsOf(DEPENDABOT, updates)).toEqual([]);
  });

  test("name folders that have something to update", () => {
    const FILES: Readonly<Record<string, string>> = {
      npm: "package.json",
      docker: "Dockerfile",
      "github-actions": ".github/workflows",
    };
    const files = updates.updates.flatMap(({ "package-ecosystem": ecosystem, directory, directories = [] }) =>
      [...(directory === undefined ? [] : [directory]), ...directories].map((one) => join(one, FILES[ecosystem] ?? "unknown")),
    );
    expect(files.length).toBeGreaterThan(3);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });
});

describe("the checks find", () => {
  test("a workflow with an unknown key, and an update without a schedule", () => {
    const workflow = { on: "push", jobs: { build: { "runs-on": "ubuntu-24.04", timeout: 5, steps: [{ run: "make" }] } } };
    expect(problemsOf(WORKFLOW, workflow).length).toBeGreaterThan(0);
    expect(
      problemsOf(DEPENDABOT, { version: 2, updates: [{ "package-ecosystem": "npm", directory: "/" }] }).length,
    ).toBeGreaterThan(0);
  });

  test("every target of a script", () => {
    expect(targetsMadeBy('make check\ncd x && make test-db FILTER=y; make "$TARGET"')).toEqual(["check", "test-db"]);
  });
});
