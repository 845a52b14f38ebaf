/**
 * `make test-sdks`: the published SDKs of other languages against a real server. Builds an endpoint per language, runs the scenarios in
 * every mode that the SDK supports, and prints a line for each and the totals. Arguments are names of languages, or parts of the titles of
 * modes and scenarios (FILTER="python v7"). Exit code 1 when a scenario failed, 2 when nothing matched. For TypeScript, whose scenarios are
 * `make conformance`, only bundles of planted bugs are replayed.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TestAdminClient } from "../admin-client.js";
import { eventually } from "../eventually.js";
import { TestIngressClient } from "../ingress-client.js";
import { Server } from "../server.js";
import { build, missingTool } from "./build.js";
import { SdkProgram } from "./endpoint.js";
import { LANGUAGES, type SdkLanguage } from "./language.js";
import { LAST_LINES, SCENARIO_MS, SOON_MS } from "./limits.js";
import { MODES, type Mode, prepare } from "./mode.js";
import { selectedBugs } from "./planted/bugs.js";
import { playBugs, TYPESCRIPT } from "./planted/play.js";
import { type ScenarioOutcome, SdkReport } from "./report.js";
import { SCENARIOS, type SdkScenario, SOLOS } from "./scenarios.js";
import { SdkStage } from "./stage.js";
import { playTutorial, selectedTutorial } from "./tutorial.js";

const args = process.argv.slice(2);
const isLanguage = (arg: string): boolean => arg === TYPESCRIPT.language || LANGUAGES.some(({ name }) => name === arg);
const requestedLanguages = args.filter(isLanguage);
const titleFilters = args.filter((arg) => !isLanguage(arg));
const bugs = selectedBugs(titleFilters);

const report = new SdkReport(console.log);

function isSelected(mode: Mode, { title }: SdkScenario): boolean {
  return titleFilters.every((arg) => `${mode.name}: ${title}`.includes(arg));
}

async function testLanguage(language: SdkLanguage): Promise<void> {
  const { transports, speaks } = language;
  const modes = MODES.filter(({ transport, protocol }) => transports.includes(transport) && protocol <= speaks[1]);
  const skipAll = (outcome: ScenarioOutcome): void => {
    for (const mode of modes)
      for (const scenario of [...SCENARIOS, ...SOLOS].filter((one) => isSelected(mode, one)))
        report.add(`${mode.name}: ${scenario.title}`, outcome);
    for (const { title } of bugs) report.add(title, outcome);
    if (language.tutorial !== undefined) for (const { title } of selectedTutorial(titleFilters)) report.add(title, outcome);
  };
  report.heading(`${language.name}: ${language.sdk} ${language.version}, service protocols ${speaks.join(" to ")}`);
  const missing = await missingTool(language);
  if (missing !== undefined) return skipAll({ kind: "skipped", reason: missing });

  const isModeSelected = modes.some((mode) => [...SCENARIOS, ...SOLOS].some((one) => isSelected(mode, one)));
  if (!isModeSelected && bugs.length === 0) return await playTutorial(language, selectedTutorial(titleFilters), report);
  const startedAt = performance.now();
  let output: string;
  try {
    const built = await build(language);
    output = built.output;
    if (!built.wasCached) report.heading(`  built in ${Math.round((performance.now() - startedAt) / 1000)} s`);
  } catch (cause) {
    return report.add("builds", { kind: "failed", ms: performance.now() - startedAt, reason: messageOf(cause) });
  }
  for (const mode of modes) await testMode(language, mode, output);
  await playBugs({ language: language.name, start: language.start(output) }, bugs, report);
  await playTutorial(language, selectedTutorial(titleFilters), report);
}

async function testMode(language: SdkLanguage, mode: Mode, output: string): Promise<void> {
  const scenarios = SCENARIOS.filter((one) => isSelected(mode, one));
  const solos = SOLOS.filter((one) => isSelected(mode, one));
  if (scenarios.length + solos.length === 0) return;
  const folder = mkdtempSync(join(tmpdir(), "perdure-sdks-"));
  const startedAt = performance.now();
  try {
    const { settings, environment } = prepare(mode, folder);
    await using endpoint = await SdkProgram.start(language.start(output), environment);
    await using server = await Server.start({ settings });
    using ingress = new TestIngressClient(server.ingressUrl);
    using admin = new TestAdminClient(server.adminUrl);
    if (mode.isSigned) assert.equal(await endpoint.statusOfUnsigned("/discover"), 401, "an unsigned request must be refused");
    const declared = await register(admin, endpoint, mode);
    assert.deepEqual(declared, { version: language.version, speaks: language.speaks }, "language.ts has other values");
    report.heading(`  ${mode.name}`);
    const stage = new SdkStage({ server, endpoint, ingress, admin, protocol: mode.protocol });
    const played = scenarios.map((scenario) => ({ scenario, outcome: play(language, scenario, stage) }));
    for (const { scenario, outcome } of played) report.add(scenario.title, await outcome);
    for (const scenario of solos) report.add(scenario.title, await play(language, scenario, stage));
  } catch (cause) {
    report.add(`${mode.name}: starts`, { kind: "failed", ms: performance.now() - startedAt, reason: messageOf(cause) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Declared {
  readonly version: string | undefined;
  readonly speaks: readonly [min: unknown, max: unknown];
}

/** Registers an endpoint with its manifest. An endpoint may listen before it serves, so discovery is repeated for a while. */
function register(admin: TestAdminClient, endpoint: SdkProgram, mode: Mode): Promise<Declared> {
  return eventually(
    "the endpoint can be registered",
    async () => {
      const id = await admin.register({ uri: endpoint.url, use_http_11: mode.transport === "h1-request-response" });
      const deployment = (await admin.get(`/deployments/${id}`)).json as Record<string, unknown>;
      return {
        version: /\/v?(\d+\.\d+\.\d+)/.exec(String(deployment["sdk_version"]))?.[1],
        speaks: [deployment["min_protocol_version"], deployment["max_protocol_version"]],
      };
    },
    SOON_MS,
  );
}

async function play(language: SdkLanguage, scenario: SdkScenario, stage: SdkStage): Promise<ScenarioOutcome> {
  const lack = scenario.needs === undefined ? undefined : language.lacks[scenario.needs];
  if (lack !== undefined) return { kind: "skipped", reason: lack };
  const startedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  try {
    await Promise.race([
      scenario.play(stage),
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`not over after ${SCENARIO_MS} ms`)), SCENARIO_MS);
      }),
    ]);
    return { kind: "passed", ms: performance.now() - startedAt };
  } catch (cause) {
    const reason = [
      messageOf(cause),
      "the last lines of the endpoint:",
      ...stage.endpoint.lastLines.split("\n").slice(-LAST_LINES),
      "the last lines of the server:",
      ...stage.server.lines.slice(-LAST_LINES),
    ].join("\n");
    return { kind: "failed", ms: performance.now() - startedAt, reason };
  } finally {
    clearTimeout(timer);
  }
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

const isRequested = (name: string): boolean => requestedLanguages.length === 0 || requestedLanguages.includes(name);
for (const language of LANGUAGES) if (isRequested(language.name)) await testLanguage(language);
if (isRequested(TYPESCRIPT.language)) await playBugs(TYPESCRIPT, bugs, report);
console.log(report.sum);
if (report.total === 0) {
  console.error(`nothing matches ${args.join(" ")}`);
  process.exitCode = 2;
} else if (report.hasFailures) {
  process.exitCode = 1;
}
