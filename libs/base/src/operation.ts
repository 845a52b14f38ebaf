/**
 * Why: what clients and servers of databases and gRPC do is measured and traced, and drivers know neither metrics nor traces. They tell an
 * observer what begins and how it ends; without one they tell nobody, at no cost.
 */

export interface OperationObserver {
  /**
   * @param name of a closed set: a verb, or a method
   * @param target of a closed set: a table, or a service
   * @param traceparent of what it is done for, when that is not what the process is doing just then
   */
  begin(name: string, target: string, traceparent?: string): Operation;
}

export interface Operation {
  /** For whoever is asked, in another process; undefined when nobody traces. */
  readonly traceparent: string | undefined;
  /** What the work asks for belongs to this operation. */
  run<T>(work: () => T): T;
  /** Once. `error`: of a closed set; undefined when it went well. */
  end(error: string | undefined): void;
}

/** Several as one; undefined when there is none. */
export function observers(...some: readonly (OperationObserver | undefined)[]): OperationObserver | undefined {
  const all = some.filter((each) => each !== undefined);
  if (all.length <= 1) return all[0];
  return {
    begin(name, target, traceparent) {
      const begun = all.map((each) => each.begin(name, target, traceparent));
      return {
        traceparent: begun.find((each) => each.traceparent !== undefined)?.traceparent,
        run: (work) => begun.reduce((inner, each) => () => each.run(inner), work)(),
        end(error) {
          for (const each of begun) each.end(error);
        },
      };
    },
  };
}
