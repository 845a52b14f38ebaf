/**
 * Observers of operations: drivers of databases and gRPC have neither metrics nor traces of their own, so they report the begin and the end
 * of each operation to an observer. Without an observer there is no cost.
 */

export interface OperationObserver {
  /**
   * Begins an operation.
   * @param name of a closed set: a verb, or a method
   * @param target of a closed set: a table, or a service
   * @param traceparent of the cause of the operation, when it is not the active trace context of the process
   */
  begin(name: string, target: string, traceparent?: string): Operation;
}

export interface Operation {
  /** Trace context to send to the other process; undefined without tracing. */
  readonly traceparent: string | undefined;
  /** Runs `work` with this operation as the parent of the operations that it begins. */
  run<T>(work: () => T): T;
  /** Ends the operation; call it once. `error`: of a closed set; undefined after a success. */
  end(error: string | undefined): void;
}

/** Combines several observers into one; undefined when there is none. */
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
