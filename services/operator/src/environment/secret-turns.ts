/**
 * Limits how many environments apply a changed Secret at once. Many environments use one Secret, that of the cell's database. When it
 * changes, the pods of each have to be replaced, which interrupts every environment with one worker. So a few apply the new value at a time
 * (`releases.at-once`), and a value that does not work stops there.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";

export class SecretTurns {
  readonly #atOnce: number;
  /** Environments whose pods are being replaced. Only a leader uses them, and a new leader begins with none. */
  readonly #replacing = new Set<string>();

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Whether the environment may apply a changed Secret now. One that is not ready is not interrupted by it and uses no turn. */
  take({ metadata, status }: EnvironmentResource): boolean {
    const { name } = metadata;
    const isReady = status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") === true;
    if (!isReady || this.#replacing.has(name)) return true;
    if (this.#replacing.size >= this.#atOnce) return false;
    this.#replacing.add(name);
    return true;
  }

  /** Ends the turn: the environment is ready with the new Secret, at rest, or deleted. */
  end(environment: string): void {
    this.#replacing.delete(environment);
  }

  clear(): void {
    this.#replacing.clear();
  }
}
