/** The report of a run: one line per scenario and the totals. */
export type ScenarioOutcome =
  | { readonly kind: "passed"; readonly ms: number }
  | { readonly kind: "failed"; readonly ms: number; readonly reason: string }
  | { readonly kind: "skipped"; readonly reason: string };

const LABELS = { passed: "ok  ", failed: "FAIL", skipped: "skip" } as const;

export class SdkReport {
  readonly #counts = { passed: 0, failed: 0, skipped: 0 };
  readonly #write: (line: string) => void;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  heading(text: string): void {
    this.#write(text);
  }

  add(title: string, outcome: ScenarioOutcome): void {
    this.#counts[outcome.kind] += 1;
    const label = `    ${LABELS[outcome.kind]} ${title}`;
    if (outcome.kind === "skipped") return this.#write(`${label} (${outcome.reason})`);
    this.#write(`${label} (${Math.round(outcome.ms)} ms)`);
    if (outcome.kind === "failed") for (const line of outcome.reason.trimEnd().split("\n")) this.#write(`         ${line}`);
  }

  get hasFailures(): boolean {
    return this.#counts.failed > 0;
  }

  get total(): number {
    return this.#counts.passed + this.#counts.failed + this.#counts.skipped;
  }

  /** `3 passed, 1 failed, 2 skipped`. */
  get sum(): string {
    const { passed, failed, skipped } = this.#counts;
    return `${passed} passed, ${failed} failed, ${skipped} skipped`;
  }
}
