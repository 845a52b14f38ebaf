/** Queries an environment in SQL, from an address that can be shared. */
import { type FormEvent, type ReactNode, useEffect, useMemo, useState } from "react";
import {
  Button,
  CodeEditor,
  CopyButton,
  Dialog,
  DialogActions,
  durationText,
  Icon,
  Menu,
  Page,
  ProblemNote,
  TextField,
  useNow,
} from "../../kit/index.js";
import { useAddress } from "../address.js";
import { useRequest } from "../request.js";
import { textOf } from "../rows.js";
import { EXAMPLES } from "./examples.js";
import { withoutSaved, withRun, withSaved } from "./memory.js";
import { ResultView } from "./result-view.js";
import { explaining, statementOf } from "./statement.js";
import { TablesList } from "./tables-list.js";
import { useMemory } from "./use-memory.js";
import { type SqlRun, useRun } from "./use-run.js";
import "./sql.css";

const FIRST = "SELECT id, target, status, created_at FROM sys_invocation ORDER BY created_at DESC LIMIT 100";
const COLUMNS =
  "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position";

export default function SqlPage() {
  const [parameters, change] = useAddress();
  const addressText = parameters.get("q") ?? FIRST;
  const [text, setText] = useState(addressText);
  useEffect(() => setText(addressText), [addressText]);
  const { run, start, cancel } = useRun();
  const [memory, remember] = useMemory();
  const [isSaving, setSaving] = useState(false);
  const { tables, problem } = useTables();
  const isEmpty = statementOf(text).text === "";
  const runNow = (statement: string) => {
    if (statementOf(statement).text === "") return;
    setText(statement);
    change({ q: statement });
    remember((now) => withRun(now, statement.trim(), Date.now()));
    start(statement);
  };
  const noPlan = explaining(statementOf(text), false) === undefined ? "Only queries have a plan" : undefined;
  const explain = (isMeasured: boolean) => {
    const statement = explaining(statementOf(text), isMeasured);
    if (statement !== undefined) start(statement);
  };
  return (
    <Page title="SQL" lead="Query invocations, journals, state, queues and deployments. Queries are read-only.">
      <div className="stack stack--tight">
        <CodeEditor
          label="Query"
          language="sql"
          value={text}
          onChange={setText}
          onSubmit={() => runNow(text)}
          tables={tables}
          linesMin={6}
        />
        {problem}
        <div className="row">
          <Button
            appearance="primary"
            isBusy={run.kind === "running"}
            forbidden={isEmpty ? "Enter a query first" : undefined}
            onClick={() => runNow(text)}
          >
            Run
          </Button>
          {run.kind === "running" && <Button onClick={cancel}>Cancel</Button>}
          <Menu
            trigger={
              <Button>
                Explain <Icon name="fold-open" />
              </Button>
            }
            actions={[
              { label: "Plan of the query", forbidden: noPlan, onSelect: () => explain(false) },
              { label: "Run the query and measure its plan", forbidden: noPlan, onSelect: () => explain(true) },
            ]}
          />
          <Button forbidden={isEmpty ? "Enter a query first" : undefined} onClick={() => setSaving(true)}>
            Save
          </Button>
          <span className="quiet small">Ctrl+Enter runs the query. Copy link:</span>
          <CopyButton text={addressOf(text)} what="Copy link to this query" />
        </div>
      </div>
      <Outcome run={run} />
      <div className="sql__lists">
        <List
          title="Examples"
          items={EXAMPLES.map(({ name, statement }) => ({ label: name, statement }))}
          onPick={runNow}
          none=""
          isOpen={run.kind === "none"}
        />
        <List
          title="Saved queries"
          items={memory.saved.map(({ name, statement }) => ({ label: name, statement }))}
          onPick={runNow}
          onRemove={(name) => remember((now) => withoutSaved(now, name))}
          none="Saved queries of this browser are listed here."
        />
        <List
          title="History"
          items={memory.history.map(({ statement }) => ({ label: statement, statement }))}
          onPick={runNow}
          none="Queries that you run in this browser are listed here."
        />
        <TablesList tables={tables} onPick={runNow} />
      </div>
      {isSaving && (
        <SaveDialog
          onClose={() => setSaving(false)}
          onSave={(name) => {
            remember((now) => withSaved(now, name, text));
            setSaving(false);
          }}
        />
      )}
    </Page>
  );
}

interface SqlTables {
  /** Columns by table, for completion. */
  readonly tables: Readonly<Record<string, readonly string[]>>;
  /** The error of a failed request for the tables. */
  readonly problem: ReactNode;
}

function useTables(): SqlTables {
  const { data, isError, error, refetch } = useRequest(["sql-columns"], ({ admin }, signal) =>
    admin.sql.query(COLUMNS, { signal }),
  );
  const tables = useMemo(() => {
    const tables: Record<string, string[]> = {};
    for (const row of data ?? []) {
      const [table, column] = [textOf(row, "table_name"), textOf(row, "column_name")];
      if (table === undefined || column === undefined) continue;
      const columns = tables[table];
      if (columns === undefined) tables[table] = [column];
      else columns.push(column);
    }
    return tables;
  }, [data]);
  const isUnknown = data === undefined && isError;
  return {
    tables,
    problem: isUnknown && (
      <ProblemNote cause={error} title="Table and column names could not be loaded." onRetry={() => void refetch()} />
    ),
  };
}

function Outcome({ run }: { readonly run: SqlRun }) {
  switch (run.kind) {
    case "none":
      return null;
    case "running":
      return <Running sinceMs={run.sinceMs} />;
    case "cancelled":
      return <p role="status">Cancelled.</p>;
    case "failed":
      return <ProblemNote cause={run.cause} title="The query failed." />;
    default:
      return <ResultView result={run.result} tookMs={run.tookMs} />;
  }
}

function Running({ sinceMs }: { readonly sinceMs: number }) {
  const nowMs = useNow();
  return (
    <p className="quiet" role="status">
      Running{nowMs - sinceMs >= 1_000 && ` for ${durationText(Math.floor((nowMs - sinceMs) / 1_000) * 1_000)}`} … (timeout: 1
      minute)
    </p>
  );
}

interface ListProps {
  readonly title: string;
  readonly items: readonly { readonly label: string; readonly statement: string }[];
  readonly none: string;
  readonly isOpen?: boolean;
  readonly onPick: (statement: string) => void;
  readonly onRemove?: (label: string) => void;
}

function List({ title, items, none, isOpen, onPick, onRemove }: ListProps) {
  return (
    <details className="card" open={isOpen}>
      <summary>{title}</summary>
      {items.length === 0 ? (
        <p className="quiet small">{none}</p>
      ) : (
        <ul className="sql__list">
          {items.map(({ label, statement }) => (
            <li key={label} className="sql__item">
              <Button isSmall appearance="bare" className="sql__pick" title={statement} onClick={() => onPick(statement)}>
                <span>{label}</span>
              </Button>
              {onRemove !== undefined && (
                <Button isSmall appearance="bare" aria-label={`Remove ${label}`} onClick={() => onRemove(label)}>
                  <Icon name="clear" />
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

function SaveDialog({ onClose, onSave }: { readonly onClose: () => void; readonly onSave: (name: string) => void }) {
  const [name, setName] = useState("");
  const [isTried, setTried] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (name.trim() !== "") onSave(name.trim());
  };
  return (
    <Dialog title="Save query" isOpen onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          hint="A saved query with this name is replaced"
          problem={isTried && name.trim() === "" ? "Enter a name." : undefined}
          autoComplete="off"
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" appearance="primary">
            Save
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** A user who opens the address sees the statement, and runs it with a click. */
function addressOf(statement: string): string {
  return `${location.origin}${location.pathname}?${new URLSearchParams({ q: statement })}`;
}
