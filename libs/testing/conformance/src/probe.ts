/**
 * Records what handlers did, which only they can observe. They run in the test's process and record here how often something ran and which
 * values it had. A handler changes its behaviour by a probe only where a test requires that.
 */
export class HandlerProbe {
  readonly #counts = new Map<string, number>();
  readonly #values = new Map<string, unknown>();
  readonly #lists = new Map<string, unknown[]>();

  /** Adds to a counter and returns the new value. */
  bump(name: string, by = 1): number {
    const count = this.count(name) + by;
    this.#counts.set(name, count);
    return count;
  }

  count(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  put(name: string, value: unknown): void {
    this.#values.set(name, value);
  }

  get<T>(name: string): T | undefined {
    return this.#values.get(name) as T | undefined;
  }

  push(name: string, value: unknown): void {
    const list = this.#lists.get(name);
    if (list === undefined) this.#lists.set(name, [value]);
    else list.push(value);
  }

  list<T>(name: string): readonly T[] {
    return (this.#lists.get(name) ?? []) as T[];
  }
}

/** One probe for the whole test file: services are built before the first test runs. */
export const probe = new HandlerProbe();
