/**
 * The tour is the first page for a new user, and it demonstrates durable execution; so it is run with the very sample that it shows to the
 * user to start, and the lines that the sample's process prints are counted.
 */

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import { ROOT } from "@perdure/dev-cluster";
import { ChildProgram } from "@perdure/processes";
import { freePorts } from "@perdure/servers";
import { expectAccessible, expectNoSidewaysScroll, suiteConsole } from "./console.js";

const ui = suiteConsole({ world: "empty" });

interface Sample extends AsyncDisposable {
  readonly url: string;
  readonly lines: readonly string[];
}

/** The tour's own TypeScript, as its reader would run it: in a process of its own, but a little quicker and at a port that is free. */
async function startSample(): Promise<Sample> {
  const text = await readFile(join(ROOT, "services/console/src/environment/tour/samples/typescript.txt"), "utf8");
  const [port] = await freePorts(1);
  // Within the tree, so that it finds the SDK that a reader would have installed.
  await mkdir(join(ROOT, ".cache"), { recursive: true });
  const folder = await mkdtemp(join(ROOT, ".cache/tour-"));
  await writeFile(join(folder, "package.json"), '{"type": "module"}');
  await writeFile(join(folder, "greeter.ts"), text.replace("9080", String(port)).replace("delay(1500)", "delay(1200)"));
  const child = await ChildProgram.start({
    command: process.execPath,
    args: ["--experimental-strip-types", "--no-warnings", join(folder, "greeter.ts")],
    env: { PATH: process.env["PATH"] },
  });
  return {
    url: `http://localhost:${port}`,
    get lines() {
      return child.lines;
    },
    [Symbol.asyncDispose]: async () => {
      await child.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

test("from nothing to a crash that nothing is lost in", async () => {
  const page = await ui.open("/tour", { mayFail: true });
  const step = (name: string) => page.locator("section", { has: page.getByRole("heading", { level: 2, name }) });
  await step("Start a service").getByText("Register it").waitFor();
  await expectAccessible(page);

  // The user is faster with the console than with the terminal.
  await page.getByLabel("Endpoint URL, as the server reaches it").fill("http://localhost:1");
  await page.getByRole("button", { name: "Register" }).click();
  await page.getByText("The deployment was not registered.").waitFor();
  await page.getByRole("link", { name: "META0003" }).waitFor();

  await using sample = await startSample();
  await page.getByLabel("Endpoint URL, as the server reaches it").fill(sample.url);
  // The sample takes a moment to start, as after the command in a terminal.
  await eventually("the sample", () => sample.lines.length > 0);
  await page.getByRole("button", { name: "Register" }).click();
  await step("Start a service").getByText("Registered: Greeter").waitFor();

  const call = step("Call a handler");
  expect(await call.getByRole("textbox", { name: "Argument, as JSON" }).inputValue()).toBe('"Ada"');
  await call.getByRole("button", { name: "Call" }).click();
  await call.getByText(/, Ada!"/).waitFor();
  await call.getByRole("link", { name: "its timeline" }).waitFor();

  const crash = step("Crash it");
  await crash.getByRole("button", { name: "Start" }).click();
  await crash.getByRole("button", { name: "Crash it" }).waitFor();
  await crash.getByText("bake the cake").waitFor();
  await crash.getByRole("button", { name: "Crash it" }).click();
  await crash
    .getByText(/The \d steps completed before were replayed from the journal, not run again/)
    .first()
    .waitFor();
  await crash.getByText("completed anyway").waitFor({ timeout: 15_000 });
  expect(await crash.getByText("replayed, not run again").count()).toBeGreaterThanOrEqual(2);
  expect(await crash.getByText(/^(done after the crash|interrupted, run again)$/).count()).toBeGreaterThanOrEqual(1);
  await expectAccessible(page);

  // Steps before the crash ran once; only the step in whose middle it came may have begun twice.
  const [first, second, ...rest] = sample.lines.filter((line) => line.startsWith('ran "'));
  expect([first, second]).toEqual(['ran "choose a date" for Ada', 'ran "invite the friends" for Ada']);
  expect(new Set(rest)).toEqual(
    new Set(["bake the cake", "hang the lanterns", "light the candles"].map((name) => `ran "${name}" for Ada`)),
  );

  await page.reload();
  await crash.getByText("completed anyway").waitFor();
  await page.getByRole("button", { name: "Start over" }).click();
  await crash.getByRole("button", { name: "Start" }).waitFor();
});

test("a deployment that is registered elsewhere is noticed", async () => {
  const page = await ui.open("/tour", { width: 360, dark: true });
  await page.getByText("Registered: Greeter").waitFor();
  await page.getByText("Start another one").click();
  for (const [language, start] of [
    ["Python", "hypercorn"],
    ["Java", "mvn compile"],
    ["Go", "go run ."],
    ["Rust", "cargo run"],
  ] as const) {
    await page.getByLabel("Language").click();
    await page.getByRole("option", { name: language }).click();
    await page.getByLabel("the command that starts it").getByText(start).waitFor();
  }
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
});
