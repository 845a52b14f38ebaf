/** Exports the list as a file; read in pieces, so that the user sees the progress and can stop it. */
import type { AdminClient } from "@perdure/admin-client";
import { useEffect, useRef, useState } from "react";
import { Button, ChoiceField, Dialog, DialogActions, download, ProblemNote } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { type Format, headOf, lineOfRow } from "./export-text.js";
import type { Sort } from "./filter-address.js";
import { EXPORTED_AT_ONCE, EXPORTED_MAX } from "./limits.js";
import { EXPORTED_COLUMNS, pageOf, pageStatement, rowsStatement } from "./statements.js";
import type { InvocationList } from "./use-list.js";

const CHOICES = [
  { value: "csv", label: "CSV, for spreadsheets" },
  { value: "jsonl", label: "JSON lines, for programs" },
] as const;

interface ExportDialogProps {
  readonly list: InvocationList;
  /** Number of invocations that match the condition. */
  readonly total: number;
  readonly condition: string | undefined;
  readonly sort: Sort;
  readonly onClose: () => void;
}

export function ExportDialog({ list, total, condition, sort, onClose }: ExportDialogProps) {
  const { admin, name } = useEnvironment();
  const [format, setFormat] = useState<Format>("csv");
  const [done, setDone] = useState<number>();
  const [rowCount, setRowCount] = useState(Math.min(total, EXPORTED_MAX));
  const [problem, setProblem] = useState<unknown>();
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const isRunning = done !== undefined && done < rowCount && problem === undefined;

  const run = async (): Promise<void> => {
    const halt = new AbortController();
    stop.current = halt;
    setProblem(undefined);
    setDone(0);
    const parts = [headOf(format, EXPORTED_COLUMNS)];
    try {
      const ids = await allIdsOf(admin, list, { condition, sort }, halt.signal);
      setRowCount(ids.length);
      for (let from = 0; from < ids.length; from += EXPORTED_AT_ONCE) {
        const some = ids.slice(from, from + EXPORTED_AT_ONCE);
        const rows = await admin.sql.query(rowsStatement(some), { signal: halt.signal });
        const byId = new Map(rows.map((row) => [row["id"], row]));
        for (const id of some) {
          const row = byId.get(id);
          // Invocations that were deleted meanwhile are left out.
          if (row !== undefined) parts.push(lineOfRow(format, EXPORTED_COLUMNS, row));
        }
        setDone(from + some.length);
      }
      const file = new Blob(parts, { type: "text/plain;charset=utf-8" });
      download(file, `invocations-${name}-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.${format}`);
    } catch (cause) {
      if (!halt.signal.aborted) setProblem(cause);
    }
  };
  const isLess = list.isCut || rowCount < total;
  return (
    <Dialog title="Export invocations" isOpen onClose={onClose}>
      <div className="stack">
        <p>
          {rowCount.toLocaleString("en")} invocations, in the order of the list
          {isLess && `. An export has at most ${EXPORTED_MAX.toLocaleString("en")}: narrow the filter for the others`}.
        </p>
        <ChoiceField label="Format" value={format} choices={CHOICES} onChange={setFormat} />
        {done !== undefined && (
          <>
            <progress className="runs-progress" aria-label="Progress" value={done} max={Math.max(1, rowCount)} />
            <p role="status" className="small quiet">
              {done < rowCount ? `${done.toLocaleString("en")} read` : "Done: the file is downloaded."}
            </p>
          </>
        )}
        {problem !== undefined && <ProblemNote cause={problem} title="The export failed." />}
        <DialogActions>
          <Button onClick={onClose}>{done === rowCount ? "Close" : "Cancel"}</Button>
          <Button
            appearance="primary"
            isBusy={isRunning}
            forbidden={forbiddenBecause(rowCount, list.isPaged)}
            onClick={() => void run()}
          >
            Export
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  );
}

/** Returns all ids in the order of the list, also those of pages that were not read yet. */
async function allIdsOf(
  admin: AdminClient,
  list: InvocationList,
  { condition, sort }: Pick<ExportDialogProps, "condition" | "sort">,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const ids = new Set(list.ids);
  for (let { next } = list; next !== undefined && ids.size < EXPORTED_MAX; ) {
    const page = pageOf(await admin.sql.query(pageStatement(condition, sort, next), { signal }));
    for (const id of page.ids) ids.add(id);
    next = page.next;
  }
  return [...ids].slice(0, EXPORTED_MAX);
}

function forbiddenBecause(count: number, isPaged: boolean): string | undefined {
  if (!isPaged) return "The list is still loading";
  return count === 0 ? "Nothing to export" : undefined;
}
