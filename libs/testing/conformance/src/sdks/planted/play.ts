/**
 * Planted bugs, taken out of a server as bundles and replayed where there is no network. A real server runs each handler until it fails,
 * `perdure bundle` writes a file, and the server stops. Then `perdure replay` runs beside an endpoint that has never executed the
 * handlers, in a namespace without a network: the errors must be the same.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programBundle, ROOT } from "@perdure/dev-cluster";
import { runCommand } from "@perdure/processes";
import type { BuildStep } from "../language.js";
import { REPLAYS_MS } from "../limits.js";
import type { SdkReport } from "../report.js";
import type { PlantedBug, PlantedLanguage } from "./bugs.js";
import type { ReplaysInside, ReplayTask } from "./inside.js";
import { namespaceRefusal, withoutNetwork } from "./namespace.js";
import { OutsideWorld } from "./outside-world.js";
import { type Recording, record } from "./record.js";

export interface PlantedEndpoint {
  readonly language: PlantedLanguage;
  readonly start: BuildStep;
}

const SDKS = join(ROOT, "libs/testing/conformance/sdks");

export const TYPESCRIPT: PlantedEndpoint = {
  language: "typescript",
  start: { command: process.execPath, args: ["--no-warnings", join(SDKS, "typescript.mjs")] },
};

export async function playBugs(endpoint: PlantedEndpoint, bugs: readonly PlantedBug[], report: SdkReport): Promise<void> {
  if (bugs.length === 0) return;
  report.heading(`  ${endpoint.language}: planted bugs, replayed without a network`);
  const refusal = await namespaceRefusal();
  if (refusal !== undefined) {
    for (const { title } of bugs) report.add(title, { kind: "skipped", reason: refusal });
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), "perdure-planted-"));
  const add = async <T>(title: string, play: () => T | Promise<T>): Promise<T | undefined> => {
    const startedAt = performance.now();
    try {
      const result = await play();
      report.add(title, { kind: "passed", ms: performance.now() - startedAt });
      return result;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      report.add(title, { kind: "failed", ms: performance.now() - startedAt, reason });
      return undefined;
    }
  };
  try {
    const world = new OutsideWorld(folder);
    const program = await programBundle("services/cli");
    const recordings = await add("a bundle of each is written without its secrets", () =>
      record({ ...endpoint, bugs, world, program, folder }),
    );
    if (recordings === undefined) return;
    // A step that is executed again fails in another way from here on.
    world.removePrice();
    const task = { endpoint: endpoint.start, environment: world.environment, program, home: folder };
    const inside = await add("replays of all make no request to outside", () =>
      replayWithoutNetwork(endpoint.language, task, recordings),
    );
    for (const [n, recording] of recordings.entries())
      await add(recording.bug.title, () => check(endpoint.language, recording, inside?.replays[n]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function replayWithoutNetwork(
  language: PlantedLanguage,
  task: Omit<ReplayTask, "replays">,
  recordings: readonly Recording[],
): Promise<ReplaysInside> {
  const replays = recordings.map(({ bug, file }) => ({ file, flags: bug.errors[language].flags ?? [] }));
  const argument = JSON.stringify({ ...task, replays } satisfies ReplayTask);
  const program = [process.execPath, "--no-warnings", join(SDKS, "replay-inside.mjs"), argument];
  const { command, args } = withoutNetwork(program);
  const { exitCode, stdout, stderr } = await runCommand(command, args, { timeoutMs: REPLAYS_MS });
  assert.equal(exitCode, 0, stderr);
  const inside: ReplaysInside = JSON.parse(stdout);
  assert.equal(inside.requestsToOutside, 0, "something was requested outside");
  assert.ok(inside.requestsOfProbe > 0, "requests to outside are not counted");
  return inside;
}

interface ReplayOutput {
  readonly end: { readonly kind: string; readonly message?: string; readonly code?: string };
  readonly as_in_bundle: boolean | null;
}

function check(
  language: PlantedLanguage,
  { bug, message }: Recording,
  replay: ReplaysInside["replays"][number] | undefined,
): void {
  assert.ok(replay !== undefined, "it was not replayed");
  const { exitCode, stdout, stderr } = replay;
  assert.notEqual(stdout, "", stderr);
  const { end, as_in_bundle: isAsInBundle }: ReplayOutput = JSON.parse(stdout);
  assert.deepEqual([exitCode, end.kind], [bug.end.exitCode, bug.end.kind], stdout);
  const { code, message: pattern } = bug.errors[language];
  if (bug.end.kind === "failed") assert.equal(end.code, code);
  assert.match(end.message ?? "", pattern);
  assert.equal(end.message, message);
  assert.equal(isAsInBundle, true, stdout);
}
