/**
 * Most suites spend their time waiting for servers of their own, so two of them share a machine well; some measure durations and need the
 * machine to themselves. Jest runs the first kind in parallel workers, then the others one by one: it stays one run with one summary, and
 * `--maxWorkers=1` runs all of them one by one.
 */
import TestRunner from "jest-runner";
import { longestFirst } from "./longest-first.mjs";

/** Suites that have the machine to themselves. One that only waits for an event is none: on a busy machine the event comes later. */
const ALONE = [
  // These break a whole cluster at random and measure its pauses; CI does not run them again, since a single failure is a finding.
  /failover|fuzz-connections/,
  // Frames and first loads.
  /speed\.browser\.test\.ts$/,
  // Checks that something starts within a second or two of something else.
  /operator\/test\/cloud-environment\.k8s\.test\.ts$/,
  /tunnel-relay\/test\/official-cli\.namespace\.test\.ts$/,
  // Hundreds of environments, or thousands of records through two kills: they take both processors, and others would wait for them.
  /conformance\/test\/kafka\.kafka\.test\.ts$/,
  /operator\/test\/scale\.k8s\.test\.ts$/,
  // Measures response times for what they reveal, and how many requests a limit admits.
  /tenancy\/test\/cloud-api\.postgres\.test\.ts$/,
  /conformance\/test\/cloud\/threats\.postgres\.test\.ts$/,
];

export default class BesideThenAlone extends TestRunner {
  async runTests(tests, watcher, options) {
    if (options.serial) return super.runTests(tests, watcher, options);
    // Relative to the root: the name of the checkout's folder must not match.
    const runsAlone = ({ path }) => ALONE.some((pattern) => pattern.test(path.slice(this._globalConfig.rootDir.length)));
    const alone = tests.filter(runsAlone);
    const beside = longestFirst(tests.filter((test) => !runsAlone(test)));
    if (beside.length > 0) await super.runTests(beside, watcher, options);
    if (alone.length > 0) await super.runTests(alone, watcher, { ...options, serial: true });
  }
}
