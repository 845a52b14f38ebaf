/** Why: what the list found leaves the console as a file; read in pieces, so that one can watch and end it. */
import { useEffect, useRef, useState } from "react";
import { Button, ChoiceField, Dialog, DialogActions, ProblemNote } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { type Format, headOf, lineOfRow } from "./export-text.js";
import { EXPORTED_AT_ONCE, EXPORTED_MAX } from "./limits.js";
import { EXPORTED_COLUMNS, rowsStatement } from "./statements.js";

const CHOICES = [
  { value: "csv", label: "CSV, for spreadsheets" },
  { value: "jsonl", label: "JSON lines, for programs" },
] as const;

export interface ExportDialogProps {
  /** In the order of the list. */
  readonly ids: readonly string[];
  readonly isWhole: boolean;
  /** The list itself is cut. */
  readonly isCut: boolean;
  readonly onClose: () => void;
}

export function ExportDialog({ ids, isWhole, isCut, onClose }: ExportDialogProps) {
  const { admin, name } = useEnvironment();
  const [format, setFormat] = useState<Format>("csv");
  const [done, setDone] = useState<number>();
  const [problem, setProblem] = useState<unknown>();
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const wanted = ids.slice(0, EXPORTED_MAX);
  const isRunning = done !== undefined && done < wanted.length && problem === undefined;

  const run = async (): Promise<void> => {
    const halt = new AbortController();
    stop.current = halt;
    setProblem(undefined);
    setDone(0);
    const parts = [headOf(format, EXPORTED_COLUMNS)];
    try {
      for (let from = 0; from < wanted.length; from += EXPORTED_AT_ONCE) {
        const some = wanted.slice(from, from + EXPORTED_AT_ONCE);
        const rows = await admin.sql.query(rowsStatement(some), { signal: halt.signal });
        const byId = new Map(rows.map((row) => [row["id"], row]));
        for (const id of some) {
          const row = byId.get(id);
          // What is gone meanwhile is left out.
          if (row !== undefined) parts.push(lineOfRow(format, EXPORTED_COLUMNS, row));
        }
        setDone(from + some.length);
      }
      save(parts, `invocations-${name}-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.${format}`);
    } catch (cause) {
      if (!halt.signal.aborted) setProblem(cause);
    }
  };
  const isLess = isCut || wanted.length < ids.length;
  return (
    <Dialog title="Export invocations" isOpen onClose={onClose}>
      <div className="stack">
        <p>
          {wanted.length.toLocaleString("en")} invocations, in the order of the list
          {isLess && `. An export has at most ${EXPORTED_MAX.toLocaleString("en")}: narrow the filter for the others`}.
        </p>
        <ChoiceField label="Format" value={format} choices={CHOICES} onChange={setFormat} />
        {done !== undefined && (
          <>
            <progress className="runs-progress" aria-label="Progress" value={done} max={Math.max(1, wanted.length)} />
            <p role="status" className="small quiet">
              {done < wanted.length ? `${done.toLocaleString("en")} read` : "Done: the file is downloaded."}
            </p>
          </>
        )}
        {problem !== undefined && <ProblemNote cause={problem} title="The export failed." />}
        <DialogActions>
          <Button onClick={onClose}>{done === wanted.length ? "Close" : "Cancel"}</Button>
          <Button
            look="primary"
            isBusy={isRunning}
            forbidden={forbiddenBecause(wanted.length, isWhole)}
            onClick={() => void run()}
          >
            Export
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  );
}

function forbiddenBecause(count: number, isWhole: boolean): string | undefined {
  if (!isWhole) return "The list is still loading";
  return count === 0 ? "Nothing to export" : undefined;
}

function save(parts: string[], name: string): void {
  const url = URL.createObjectURL(new Blob(parts, { type: "text/plain;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it; a minute is enough for any disk.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
