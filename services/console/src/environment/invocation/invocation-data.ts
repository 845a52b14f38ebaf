/** Queries of the page of an invocation. They repeat while something may still change, and no longer. */
import {
  AdminApiError,
  type AdminClient,
  type ExplanationView,
  type SqlRow,
  sqlText,
  type TimelineView,
} from "@perdure/admin-client";
import { keepPreviousData, type UseQueryResult, useQueries, useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { messageOf } from "../../kit/index.js";
import { type ConsoleEnvironment, useEnvironment } from "../environment.js";
import { useRequest } from "../request.js";
import { completionIdOf, type EntryValue, entryValueOf } from "./entry-value.js";
import { type EventFacts, eventOf } from "./failure-text.js";
import { factsOf, type InvocationSummary } from "./invocation-facts.js";
import { type InvocationTimeline, readTimeline } from "./invocation-timeline.js";
import { EVENTS_MAX, WATCH_MS } from "./limits.js";
import type { TimelineChild } from "./timeline-layout.js";

/** The invocation does not exist: it never did, or its retention has ended. */
export function isGone(cause: unknown): boolean {
  return cause instanceof AdminApiError && cause.status === 404;
}

/** Requested every second until `isOver` returns that nothing will change any more. */
function useWatched<T>(
  key: readonly unknown[],
  request: (environment: ConsoleEnvironment, signal: AbortSignal) => Promise<T>,
  isOver: (data: T) => boolean,
): UseQueryResult<T> {
  const environment = useEnvironment();
  return useQuery({
    queryKey: [environment.key, ...key],
    queryFn: ({ signal }) => request(environment, signal),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (isGone(state.error) || (state.data !== undefined && isOver(state.data)) ? false : WATCH_MS),
  });
}

/** Null when there is no such invocation. */
export function useInvocation(id: string): UseQueryResult<InvocationSummary | null> {
  return useWatched(
    ["invocation", "row", id],
    async ({ admin }, signal) => {
      const row = await admin.invocations.row(id, { signal });
      return row === undefined ? null : factsOf(row);
    },
    (facts) => facts === null || facts.status === "completed",
  );
}

export function useExplanation(id: string): UseQueryResult<ExplanationView> {
  return useWatched(
    ["invocation", "explain", id],
    ({ admin }, signal) => admin.invocations.explain(id, { signal }),
    ({ status }) => status === "completed",
  );
}

/** The timeline with the first `pages` thousands of steps. Pages that cannot change any more are read once. */
export function useTimeline(id: string, pages = 1): UseQueryResult<InvocationTimeline> {
  const completePages = useRef(new Map<number, TimelineView>());
  return useWatched(
    ["invocation", "timeline", id, pages],
    ({ admin }, signal) => fetchTimeline(admin, id, pages, completePages.current, signal),
    ({ isDone }) => isDone,
  );
}

async function fetchTimeline(
  admin: AdminClient,
  id: string,
  pagesMax: number,
  completePages: Map<number, TimelineView>,
  signal: AbortSignal,
): Promise<InvocationTimeline> {
  const pages: TimelineView[] = [];
  let newest: TimelineView | undefined;
  for (let from: number | null = 0; from !== null && pages.length < pagesMax; ) {
    let page: TimelineView | undefined = completePages.get(from);
    if (page === undefined) {
      page = await admin.invocations.timeline(id, { fromStep: from, signal });
      newest = page;
      if (isComplete(page)) completePages.set(from, page);
    }
    pages.push(page);
    from = page.next_step;
  }
  // Other changes may have come while the pages were read.
  newest ??= await admin.invocations.timeline(id, { fromStep: pages.at(-1)?.steps.at(-1)?.index ?? 0, signal });
  return readTimeline(pages, newest);
}

/** A full page whose steps are all done. */
function isComplete({ next_step, steps }: TimelineView): boolean {
  return next_step !== null && steps.every(({ result }) => result !== "pending");
}

/** Timelines of unfolded children. */
export function useChildren(ids: readonly string[]): ReadonlyMap<string, TimelineChild> {
  const { key, admin } = useEnvironment();
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: [key, "invocation", "timeline", id, 1],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) => fetchTimeline(admin, id, 1, new Map(), signal),
      refetchInterval: ({
        state,
      }: {
        readonly state: { readonly data: InvocationTimeline | undefined; readonly error: Error | null };
      }) => (state.data?.isDone === true || isGone(state.error) ? (false as const) : WATCH_MS),
    })),
    combine: (results) => new Map(results.map((result, index) => [ids[index] ?? "", childOf(result)])),
  });
}

function childOf({ data, error }: UseQueryResult<InvocationTimeline>): TimelineChild {
  if (data !== undefined) return { kind: "life", timeline: data };
  if (error === null) return { kind: "loading" };
  return {
    kind: "failed",
    message: isGone(error) ? "Not found: its retention has passed, or it was purged." : messageOf(error),
  };
}

/** Failures and pauses, oldest first; requested again when `signature` changes. */
export function useEvents(id: string, signature: string): UseQueryResult<readonly EventFacts[]> {
  const statement =
    `SELECT appended_at, event_type, event_json FROM sys_journal_events WHERE id = ${sqlText(id)} ` +
    `ORDER BY appended_at LIMIT ${EVENTS_MAX}`;
  return useRequest(["invocation", "events", id, signature], async ({ admin }, signal) => {
    const rows = await admin.sql.query(statement, { signal });
    return rows.map(eventOf).filter((event) => event !== undefined);
  });
}

/** Steps with the beginnings of their values, from a journal index on; requested again when `signature` changes. */
export function usePayloads(id: string, from: number, signature: string): UseQueryResult<TimelineView> {
  return useRequest(["invocation", "payloads", id, from, signature], ({ admin }, signal) =>
    admin.invocations.timeline(id, { payloads: true, fromStep: from, signal }),
  );
}

// ── whole values ─────────────────────────────────────────────────────────────────────────────────

export type ValueOf = "argument" | "result";

/** The whole value of a step: of the entry itself, or of the completion that answers it. Rejects when it was deleted. */
async function loadValue(admin: AdminClient, id: string, index: number, of: ValueOf, signal: AbortSignal): Promise<EntryValue> {
  const where = `id = ${sqlText(id)}`;
  const own = textIn(
    await admin.sql.query(`SELECT entry_json FROM sys_journal WHERE ${where} AND "index" = ${index}`, { signal }),
  );
  if (of === "argument") return entryValueOf(own);
  const completion = completionIdOf(own);
  // Signals carry their result themselves.
  if (completion === undefined) return entryValueOf(own);
  const statement =
    `SELECT entry_json FROM sys_journal WHERE ${where} AND "index" > ${index} AND entry_type LIKE 'Notification:%' ` +
    `AND entry_lite_json LIKE ${sqlText(`%{"CompletionId":${completion}}%`)} ORDER BY "index" LIMIT 1`;
  return entryValueOf(textIn(await admin.sql.query(statement, { signal })));
}

function textIn(rows: readonly SqlRow[]): string {
  const text = rows[0]?.["entry_json"];
  if (typeof text !== "string") throw new Error("The entry is no longer in the journal, or cannot be decoded.");
  return text;
}

export function useValue(id: string, index: number, of: ValueOf, isOff: boolean, signature: string): UseQueryResult<EntryValue> {
  return useRequest(
    ["invocation", "value", id, index, of, signature],
    ({ admin }, signal) => loadValue(admin, id, index, of, signal),
    { isOff },
  );
}
