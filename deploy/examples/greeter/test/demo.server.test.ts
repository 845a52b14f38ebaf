/** The demo and the README's sample work as described: they are the first things that a new user runs and copies. */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { executable, ROOT } from "@perdure/dev-cluster";
import { freePorts } from "@perdure/servers";

const data = mkdtempSync(join(tmpdir(), "perdure-demo-"));
afterAll(() => rmSync(data, { recursive: true, force: true }));

interface Outcome {
  readonly code: number;
  readonly output: string;
}

async function runDemo(ports: readonly number[]): Promise<Outcome> {
  await executable(); // Built, and not older than the sources.
  const [ingress, admin, greeter] = ports.map(String);
  const env = {
    PATH: process.env["PATH"],
    PERDURE_BASE_DIR: data,
    PERDURE_INGRESS__BIND_PORT: ingress,
    PERDURE_ADMIN__BIND_PORT: admin,
    GREETER_PORT: greeter,
  };
  return new Promise((done) => {
    execFile(
      process.execPath,
      [join(ROOT, "deploy/examples/greeter/src/demo/main.ts"), "--once"],
      { cwd: data, env },
      (failure, stdout, stderr) => {
        done({ code: failure === null ? 0 : Number(failure.code), output: stdout + stderr });
      },
    );
  });
}

test("the demo comes true, twice on the same data, and stored steps are not repeated", async () => {
  const ports = await freePorts(3);
  for (const count of [1, 2]) {
    const { code, output } = await runDemo(ports);
    // Three, unless the kill took so long that the step which it should have met was stored.
    expect(output).toMatch(/[3-5] finished steps were not repeated/);
    expect(output).toMatch(/bake the cake +ran +not repeated/);
    expect(output).toMatch(/hang the lanterns +ran, but not stored +ran|[45] finished steps/);
    expect(output).toMatch(new RegExp(`Counter/demo/add, a virtual object +${count}`));
    expect(output).not.toContain("\u001b[");
    expect(code).toBe(0);
  }
}, 60_000);

test("the demo reports a port in use with the setting to change", async () => {
  const ports = await freePorts(3);
  const occupant = createServer();
  await new Promise<void>((open) => void occupant.listen(ports[2], () => open()));
  const { code, output } = await runDemo(ports);
  occupant.close();
  expect(output).toContain(`port ${ports[2]} is in use by another program`);
  expect(output).toContain(`GREETER_PORT=${ports[2]! + 1} make run`);
  expect(code).toBe(1);
});

test("the README shows the counter as it is", () => {
  expect(readFileSync(join(ROOT, "README.md"), "utf8")).toContain(
    `\`\`\`ts\n${readFileSync(join(ROOT, "deploy/examples/greeter/src/counter.ts"), "utf8")}\`\`\``,
  );
});
