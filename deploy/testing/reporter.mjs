/**
 * Shows the progress of a run of many suites and what it waits for, and at the end the slow suites. At a terminal one line is rewritten;
 * elsewhere each suite has a line. The results are also written to a file (`PERDURE_TEST_RESULTS`), for a runner that repeats failed
 * suites.
 */
import { writeFileSync } from "node:fs";
import { relative } from "node:path";

/** Interval of updates of the line at a terminal. */
const PROGRESS_MS = 1000;
const SLOWEST_SHOWN_MAX = 10;
/** Lines of a failure that are shown twice; the first time it is shown whole. */
const FAILURE_LINES_MAX = 40;

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

export default class Progress {
  #root;
  #out = process.stdout;
  #isWatched = process.stdout.isTTY === true && process.env.CI === undefined;
  #total = 0;
  #done = 0;
  #runningSince = new Map();
  #suites = [];
  #timer;

  constructor({ rootDir }) {
    this.#root = rootDir;
  }

  onRunStart({ numTotalTestSuites }) {
    this.#total = numTotalTestSuites;
    if (this.#isWatched) this.#timer = setInterval(() => this.#showProgress(), PROGRESS_MS);
  }

  onTestFileStart({ path }) {
    this.#runningSince.set(path, performance.now());
  }

  onTestFileResult({ path }, result) {
    const startedAt = this.#runningSince.get(path) ?? performance.now();
    this.#runningSince.delete(path);
    this.#done++;
    const name = relative(this.#root, path);
    const isFailed = result.numFailingTests > 0 || result.testExecError !== undefined;
    const ms = performance.now() - startedAt;
    const failure = isFailed ? (result.failureMessage ?? String(result.testExecError?.message)) : undefined;
    const { numPassingTests: passed, numFailingTests: failed } = result;
    // A suite that could not run has no failed test, and is one.
    this.#suites.push({ name, ms, passed, failed: isFailed ? Math.max(1, failed) : 0, failure });
    this.#clearLine();
    if (isFailed || !this.#isWatched) {
      this.#out.write(`${isFailed ? "FAIL" : "PASS"} ${name} (${seconds(ms)}) [${this.#done} of ${this.#total}]\n`);
    }
    for (const { type, message } of result.console ?? []) {
      if (isFailed || type === "warn") this.#out.write(`  ${message.replaceAll("\n", "\n  ")}\n`);
    }
    if (failure !== undefined) this.#out.write(`${failure}\n`);
  }

  #showProgress() {
    const [oldest, startedAt] = this.#runningSince.entries().next().value ?? [];
    const failed = this.#suites.filter(({ failure }) => failure !== undefined).length;
    const slowest =
      oldest === undefined
        ? ""
        : `, longest running: ${relative(this.#root, oldest)} (${seconds(performance.now() - startedAt)})`;
    const text = `${this.#done} of ${this.#total} suites, ${failed} failed${slowest}`;
    this.#clearLine();
    this.#out.write(text.slice(0, (this.#out.columns ?? 80) - 1));
  }

  #clearLine() {
    if (this.#isWatched) this.#out.write("\r\u001b[2K");
  }

  onRunComplete(_contexts, { startTime, wasInterrupted }) {
    clearInterval(this.#timer);
    this.#clearLine();
    const suites = this.#suites;
    const broken = suites.filter(({ failure }) => failure !== undefined);
    for (const { name, failure } of suites.length > SLOWEST_SHOWN_MAX ? broken : []) {
      this.#out.write(`\nFAILED ${name}\n${failure.split("\n").slice(0, FAILURE_LINES_MAX).join("\n")}\n`);
    }
    this.#out.write("\nThe slowest suites:\n");
    for (const { name, ms } of suites.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST_SHOWN_MAX)) {
      this.#out.write(`  ${seconds(ms).padStart(8)}  ${name}\n`);
    }
    const sum = (of) => suites.reduce((total, suite) => total + of(suite), 0);
    const passed = sum((suite) => suite.passed);
    const failed = sum((suite) => suite.failed);
    this.#out.write(`\nSuites: ${broken.length} failed, ${suites.length - broken.length} passed, of ${this.#total}\n`);
    this.#out.write(`Tests: ${failed} failed, ${passed} passed in ${seconds(Date.now() - startTime)}\n`);
    const file = process.env.PERDURE_TEST_RESULTS;
    // An interrupted run writes no results, so that a part is not taken for the whole.
    if (file !== undefined && !wasInterrupted) writeFileSync(file, JSON.stringify({ total: this.#total, suites }));
  }

  getLastError() {}
}
