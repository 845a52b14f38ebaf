/**
 * Why: what handlers really did can only be seen from inside them. They run in the process of the test and leave marks here: how
 * often something ran, what it saw, what it wants to tell. Handlers decide by a probe only where a test wants exactly that.
 */
export class HandlerProbe {
  readonly #counts = new Map<string, number>();
  readonly #values = new Map<string, unknown>();
  readonly #lists = new Map<string, unknown[]>();

  /** Adds to a count and gives the new one. */
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

/** One for the whole test file: services are built before any test knows of them. */
export const probe = new HandlerProbe();
