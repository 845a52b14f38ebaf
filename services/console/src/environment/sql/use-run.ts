/** One statement runs at a time; the user can cancel it, and leaving the page cancels it. */
import { useCallback, useEffect, useRef, useState } from "react";
import { useEnvironment } from "../environment.js";
import { ROWS_MAX } from "./limits.js";
import { resultOf, type SqlResult } from "./result.js";
import { boundedStatement, describingStatement, statementOf } from "./statement.js";

export type SqlRun =
  | { readonly kind: "none" }
  | { readonly kind: "running"; readonly sinceMs: number }
  | { readonly kind: "done"; readonly statement: string; readonly result: SqlResult; readonly tookMs: number }
  | { readonly kind: "failed"; readonly cause: unknown }
  | { readonly kind: "cancelled" };

export function useRun(): { readonly run: SqlRun; readonly start: (written: string) => void; readonly cancel: () => void } {
  const { admin } = useEnvironment();
  const [run, setRun] = useState<SqlRun>({ kind: "none" });
  const running = useRef<AbortController>(undefined);
  const start = useCallback(
    (written: string) => {
      running.current?.abort();
      const mine = new AbortController();
      running.current = mine;
      const begunMs = performance.now();
      setRun({ kind: "running", sinceMs: Date.now() });
      const finish = (next: SqlRun) => {
        // Another run may have begun meanwhile.
        if (running.current === mine) setRun(next);
      };
      const { signal } = mine;
      const statement = statementOf(written);
      const describing = describingStatement(statement);
      Promise.all([
        admin.sql.exact(boundedStatement(statement, ROWS_MAX + 1), { signal }),
        describing === undefined ? undefined : admin.sql.query(describing, { signal }),
      ]).then(
        ([rows, described]) =>
          finish({ kind: "done", statement: written, result: resultOf(described, rows), tookMs: performance.now() - begunMs }),
        (cause: unknown) => finish(signal.aborted ? { kind: "cancelled" } : { kind: "failed", cause }),
      );
    },
    [admin],
  );
  const cancel = useCallback(() => running.current?.abort(), []);
  useEffect(() => cancel, [cancel]);
  return { run, start, cancel };
}
