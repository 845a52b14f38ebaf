/** Collects findings of the checkers. A checker must not throw into the code under test, which would swallow the error. */
export interface SimulationFinding {
  /** The name of the rule that was broken, a constant text, so that runs can be grouped by it. */
  readonly rule: string;
  readonly detail: string;
  readonly atMs: number;
}

export class SimulationFindings {
  readonly #list: SimulationFinding[] = [];
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  report(rule: string, detail: string): void {
    this.#list.push({ rule, detail, atMs: this.#nowMs() });
  }

  /** Reports unless the condition holds. */
  require(condition: boolean, rule: string, detail: () => string): void {
    if (!condition) this.report(rule, detail());
  }

  get first(): SimulationFinding | undefined {
    return this.#list[0];
  }

  get all(): readonly SimulationFinding[] {
    return this.#list;
  }
}
