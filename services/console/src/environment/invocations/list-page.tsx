import { conditionOf, type InvocationFilter } from "@perdure/admin-client";
import { useCallback, useEffect, useRef, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { Button, Empty, Icon, Loading, messageOf, Page, ProblemNote, Snippet } from "../../kit/index.js";
import { areLetterKeysEnabled, usePageKeys } from "../../shell/page-keys.js";
import { useEnvironment } from "../environment.js";
import { BulkBar } from "./bulk-bar.js";
import { COLUMNS_KEY, chosenColumns, listColumns } from "./columns.js";
import { ColumnsDialog } from "./columns-dialog.js";
import { ExportDialog } from "./export-dialog.js";
import { filterOf, queryOf, type Sort, sortOf } from "./filter-address.js";
import { FilterBar } from "./filter-bar.js";
import { HistogramView } from "./histogram-view.js";
import { type GridHandle, InvocationGrid } from "./invocation-grid.js";
import { KEYS } from "./keys.js";
import { HEAD_ROWS, LISTED_MAX } from "./limits.js";
import { isNothing, type ListSelection, NOTHING } from "./selection.js";
import { totalOf } from "./statements.js";
import { useCounts } from "./use-counts.js";
import { type InvocationList, isRefusal, useInvocationList } from "./use-list.js";
import { useRows } from "./use-rows.js";
import "./invocations.css";

type ListDialog = "columns" | "export";

export function ListPage() {
  const [query, setQuery] = useSearchParams();
  const filter = filterOf(query);
  const sort = sortOf(query);
  const { condition, problem } = conditionOr(filter);
  const [isLive, setLive] = useState(true);
  const [isEngaged, setEngaged] = useState(false);
  const [selection, setSelection] = useState<ListSelection>(NOTHING);
  const [chosen, setChosen] = useState(() => chosenColumns(localStorage.getItem(COLUMNS_KEY)));
  const [openDialog, setOpenDialog] = useState<ListDialog>();
  const grid = useRef<GridHandle>(null);
  const form = useRef<HTMLFormElement>(null);
  const mayMove = !isEngaged && isNothing(selection);
  const list = useInvocationList({ condition, sort, isLive, mayMove, isOff: problem !== undefined });
  const rows = useRows(isLive);
  const counts = useCounts(filter, isLive);
  const total = list.isWhole || counts === undefined ? list.ids.length : Math.max(list.ids.length, totalOf(counts, filter));

  // biome-ignore lint/correctness/useExhaustiveDependencies: what was chosen belongs to the list of before
  useEffect(() => setSelection(NOTHING), [condition]);
  const change = (next: InvocationFilter, nextSort: Sort) => setQuery(queryOf(next, nextSort));
  const renew = () => {
    grid.current?.toTop();
    list.renew();
  };
  const choose = (columns: readonly string[]) => {
    setChosen(columns);
    localStorage.setItem(COLUMNS_KEY, columns.join(","));
  };
  const press = useRef<(key: string, isShift: boolean) => boolean>(() => false);
  press.current = (key, isShift) => {
    if (key === "/") form.current?.querySelector("input")?.focus();
    else if (key === "n") renew();
    else if (key === "Escape" && !isNothing(selection)) setSelection(NOTHING);
    else if (["j", "k", "x", "X"].includes(key)) return grid.current?.press(key, isShift) ?? false;
    else return false;
    return true;
  };
  useKeys(press);
  usePageKeys(KEYS);
  const closing = useCallback(() => setOpenDialog(undefined), []);

  return (
    <Page title="Invocations" isFull actions={<ListActions isLive={isLive} onLive={setLive} onDialog={setOpenDialog} />}>
      <FilterBar
        filter={filter}
        sort={sort}
        onChange={change}
        problem={problem ?? (isRefusal(list.error) ? messageOf(list.error) : undefined)}
        formRef={form}
        counts={counts}
      />
      <ListProblems list={list} rowProblem={rows.problem} />
      <HistogramView
        filter={filter}
        condition={condition}
        isLive={isLive}
        isOff={problem !== undefined || list.isRefused}
        onChange={(next) => change(next, sort)}
      />
      <div className="runs-room">
        {!list.isRefused && <Counts list={list} total={total} onRenew={renew} />}
        {isNothing(selection) ? null : (
          <BulkBar
            selection={selection}
            condition={condition}
            total={list.isWhole || counts !== undefined ? total : undefined}
            onSelect={setSelection}
          />
        )}
        {list.isRefused ? null : list.ids.length === 0 ? (
          (list.error ?? problem ?? undefined) === undefined && (
            <Nothing isLoading={list.isLoading} isFiltered={condition !== undefined} />
          )
        ) : (
          <InvocationGrid
            ids={list.ids}
            isWhole={list.isWhole}
            isOld={list.isLoading}
            rows={rows}
            columns={listColumns(chosen)}
            selection={selection}
            onSelect={setSelection}
            onEngaged={setEngaged}
            onReach={list.reach}
            ref={grid}
          />
        )}
      </div>
      {openDialog === "columns" && <ColumnsDialog chosen={chosen} onChange={choose} onClose={closing} />}
      {openDialog === "export" && <ExportDialog list={list} total={total} condition={condition} sort={sort} onClose={closing} />}
    </Page>
  );
}

interface ListActionsProps {
  readonly isLive: boolean;
  readonly onLive: (isLive: boolean) => void;
  readonly onDialog: (dialog: ListDialog) => void;
}

function ListActions({ isLive, onLive, onDialog }: ListActionsProps) {
  return (
    <>
      <Button aria-pressed={isLive} onClick={() => onLive(!isLive)}>
        {isLive ? "● Live" : "Paused"}
      </Button>
      <Button onClick={() => onDialog("columns")}>
        <Icon name="columns" /> Columns
      </Button>
      <Button onClick={() => onDialog("export")}>
        <Icon name="export" /> Export
      </Button>
      <Link href="/invocations?batches" className="button button--quiet">
        Batches
      </Link>
      <Link href="/bundle" className="button button--quiet">
        Open bundle
      </Link>
    </>
  );
}

interface ListProblemsProps {
  readonly list: InvocationList;
  /** Why the rows could not be loaded; undefined when they could. */
  readonly rowProblem: unknown;
}

function ListProblems({ list, rowProblem }: ListProblemsProps) {
  return (
    <>
      {list.error !== null && !isRefusal(list.error) && (
        <ProblemNote
          cause={list.error}
          title={list.ids.length === 0 ? "The list could not be loaded." : "The list is out of date."}
          onRetry={list.renew}
        />
      )}
      {rowProblem !== undefined && list.error === null && (
        <ProblemNote cause={rowProblem} title="The rows are out of date." onRetry={list.renew} />
      )}
    </>
  );
}

interface CountsProps {
  readonly list: InvocationList;
  readonly total: number;
  readonly onRenew: () => void;
}

function Counts({ list, total, onRenew }: CountsProps) {
  const { isWatched, fresh, isLoading } = list;
  return (
    <div className="runs-room__counts">
      <p className="quiet small" role="status">
        {isLoading ? "Loading …" : countText(list, total)}
      </p>
      {fresh === 0 ? null : (
        <Button isSmall appearance="primary" onClick={onRenew}>
          {fresh === undefined ? `more than ${HEAD_ROWS} new` : `${fresh} new`}
        </Button>
      )}
      {!isWatched && (
        <Button isSmall onClick={onRenew}>
          Refresh
        </Button>
      )}
    </div>
  );
}

function countText({ ids, isPaged, isWhole, isCut }: InvocationList, total: number): string {
  if (isCut) return `the first ${LISTED_MAX.toLocaleString("en")}; narrow the filter to see others`;
  if (isWhole) return total === 1 ? "1 invocation" : `${total.toLocaleString("en")} invocations`;
  const first = `the first ${ids.length.toLocaleString("en")}`;
  if (total > ids.length) return `${first} of ${total.toLocaleString("en")} invocations`;
  return isPaged ? first : `${first}, counting the others …`;
}

function Nothing({ isLoading, isFiltered }: { readonly isLoading: boolean; readonly isFiltered: boolean }) {
  const { ingressUrl } = useEnvironment();
  if (isLoading) return <Loading what="Loading invocations" />;
  if (isFiltered) {
    return (
      <Empty title="No matching invocations">
        <p>Remove a part of the filter, or change the expression.</p>
      </Empty>
    );
  }
  return (
    <Empty title="No invocations yet">
      <p>Every call of a handler appears here with its status and result. Call one:</p>
      <Snippet label="a call" text={`curl ${ingressUrl}/MyService/myHandler --json '"hello"'`} />
      <p>
        Or from the <Link href="/playground">playground</Link>. Completed ones stay as long as their service retains them.
      </p>
    </Empty>
  );
}

function conditionOr(filter: InvocationFilter): { readonly condition: string | undefined; readonly problem: string | undefined } {
  try {
    return { condition: conditionOf(filter), problem: undefined };
  } catch (cause) {
    if (!(cause instanceof RangeError || cause instanceof TypeError)) throw cause;
    return { condition: undefined, problem: cause.message };
  }
}

/** Keys of the page, unless the user types text or a dialog is open. */
function useKeys(press: { readonly current: (key: string, isShift: boolean) => boolean }): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const at = event.target instanceof Element ? event.target : undefined;
      // Prevented: it was the second letter of a shortcut to another page.
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !areLetterKeysEnabled()) return;
      if (at?.closest("input, textarea, select, [contenteditable], [role=dialog], [role=menu], [role=combobox], [role=listbox]"))
        return;
      if (!press.current(event.key, event.shiftKey)) return;
      event.preventDefault();
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, [press]);
}
