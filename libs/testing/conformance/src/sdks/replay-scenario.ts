/** Bundles of failing invocations, replayed by the command line on the endpoint of the SDK: the error comes again, and no step is repeated. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programBundle } from "@perdure/dev-cluster";
import { RunningCommand } from "@perdure/processes";
import { REPLAY_MS } from "./limits.js";
import type { SdkStage } from "./stage.js";

interface ReplayOutcome {
  /** The endpoint accepts signed requests only: nothing was replayed. */
  readonly isSigned: boolean;
  readonly exitCode: number | null;
  readonly end: { readonly kind?: string; readonly command?: unknown; readonly is_same?: boolean };
  readonly sentence: string;
  /** Null where the bundle has nothing to compare with. */
  readonly asInBundle: boolean | null;
}

type ReplayOutput = Pick<ReplayOutcome, "end" | "sentence"> & { readonly as_in_bundle: boolean | null };

/** Failures enough for the whole scenario. */
const FAILURES = 1_000;
/** What the endpoints of all languages say, a sentence each time: the same one, or the replay would not end as the invocation did. */
const FAILURE = /^The handler failed: RT0007 .*the attempt fails on purpose/;

export async function replaysBundles(stage: SdkStage): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "perdure-replay-"));
  const replay = (id: string, ...flags: readonly string[]) => replayOf(stage, folder, id, flags);
  const failing: string[] = [];
  const fails = async (handler: string): Promise<string> => {
    const id = await stage.send(["Failing", handler], { id: stage.key(), failures: FAILURES });
    failing.push(id);
    await stage.soonShows(id, "has failed", (row) => typeof row["last_failure"] === "string");
    return id;
  };
  try {
    const walked = await stage.send(["Steps", "walk"], { id: stage.key(), count: 2, pauseMs: 0 });
    await stage.soonShows(walked, "is completed", ({ status }) => status === "completed");
    const whole = await replay(walked);
    if (whole.isSigned) return; // A replay has no key to sign with, and says so.
    assert.deepEqual([whole.exitCode, whole.end.kind, whole.end.is_same, whole.asInBundle], [0, "returns", true, true]);
    const begun = await replay(walked, "--to", "0");
    assert.deepEqual([begun.exitCode, begun.end.kind, begun.asInBundle], [0, "requests", null], JSON.stringify(begun));

    const plain = await replay(await fails("flaky"));
    assert.deepEqual([plain.exitCode, plain.end.kind, plain.asInBundle], [3, "failed", true], JSON.stringify(plain));
    assert.match(plain.sentence, FAILURE);

    const step = await fails("flakyStep");
    const before = await replay(step);
    assert.deepEqual([before.exitCode, before.end.kind, before.asInBundle], [0, "requests", false], JSON.stringify(before));
    const executed = await replay(step, "--run-steps");
    assert.deepEqual([executed.exitCode, executed.end.kind, executed.asInBundle], [3, "failed", true], JSON.stringify(executed));
    assert.match(executed.sentence, FAILURE);
  } finally {
    for (const id of failing) await stage.admin.invocation(id, "kill");
    rmSync(folder, { recursive: true, force: true });
  }
}

async function replayOf(stage: SdkStage, folder: string, id: string, flags: readonly string[]): Promise<ReplayOutcome> {
  const file = join(folder, `${id}.json`);
  const answer = await stage.admin.get(`/invocations/${id}/bundle`);
  assert.equal(answer.status, 200, answer.text);
  writeFileSync(file, answer.text);
  const program = await programBundle("services/cli");
  const args = [program, "replay", file, "--endpoint", stage.endpoint.url, "--json", ...flags];
  const env = { PATH: process.env["PATH"], HOME: folder };
  const { exitCode, stdout, stderr } = await new RunningCommand(process.execPath, args, { env, timeoutMs: REPLAY_MS }).ended;
  if (stderr.includes("only signed requests")) return { isSigned: true, exitCode, end: {}, sentence: "", asInBundle: null };
  assert.notEqual(stdout, "", stderr);
  const { end, sentence, as_in_bundle: asInBundle }: ReplayOutput = JSON.parse(stdout);
  return { isSigned: false, exitCode, end, sentence, asInBundle };
}
