/**
 * A cluster at work that is broken again and again, in a short version with a fixed seed; `make chaos` is the long one, and measures.
 * Pauses are bounded loosely here: what else runs on the machine counts as well.
 */
import { expect, test } from "@jest/globals";
import { FAULTS, type Fault, REFUSED } from "../../src/chaos/faults.js";
import { runChaos } from "../../src/chaos/rig.js";
import type { ChaosStage } from "../../src/chaos/stage.js";

const SEED = 45;
const CALLERS = 100;
const CHAOS_MS = 30_000;
const WHOLE_TEST_MS = 240_000;
/** Longest accepted interruption on a loaded machine. */
const PAUSE_MS_MAX = 20_000;

const named = (text: string): Fault => FAULTS.find(({ name }) => name.includes(text)) as Fault;

test(
  "what was accepted ends once, steps keep their values and counters are exact, whatever breaks meanwhile",
  async () => {
    const first = [named("freeze a leader"), named("kill -9 a worker")];
    let endMs = Number.POSITIVE_INFINITY;
    const next = async (stage: ChaosStage, played: number): Promise<Fault | undefined> => {
      if (played === 0) endMs = performance.now() + CHAOS_MS;
      // The worker to be killed must lead a third of the partitions, also when the frozen one has just resumed.
      if (played < first.length) await stage.untilBalanced();
      return first[played] ?? (performance.now() < endMs ? stage.random.pick(FAULTS) : undefined);
    };
    const lines: string[] = [];
    const report = await runChaos({
      seed: SEED,
      callers: CALLERS,
      next,
      briefly: true,
      pauseMs: 1_000,
      oneByOne: false,
      print: (line) => lines.push(line),
    });
    expect(report.violations.map((violation) => [violation, ...lines].join("\n"))).toEqual([]);
    const [freeze, kill] = report.faults;
    // The leader of yesterday did try to write.
    expect([freeze?.findings[REFUSED], lines[0]]).toEqual([expect.any(Number), expect.not.stringContaining(` 0 ${REFUSED}`)]);
    expect(kill?.pausesMs).toHaveLength(8);
    expect(Math.max(...(kill?.pausesMs ?? []))).toBeLessThan(PAUSE_MS_MAX);
    expect(report.counts["replays"]).toBeGreaterThan(0);
    expect(report.counts["answers"]).toBeGreaterThan(CALLERS);
  },
  WHOLE_TEST_MS,
);
