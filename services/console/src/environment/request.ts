/**
 * Queries and changes of an environment, the same for all pages: cancellable, polled while the page is visible, each failure shown once.
 */
import type { SqlRow } from "@perdure/admin-client";
import { keepPreviousData, type UseMutationResult, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { type ChangeOptions, useReportedChange } from "../kit/index.js";
import { type ConsoleEnvironment, useEnvironment } from "./environment.js";

/** Poll interval of live pages. A hidden window does not poll. */
export const LIVE_MS = 2_000;

interface EnvironmentRequestOptions {
  /** Requested repeatedly; false: once. */
  readonly everyMs?: number | false;
  readonly isOff?: boolean;
}

/** `key` identifies the query within this environment, with everything that the answer depends on. */
export function useRequest<T>(
  key: readonly unknown[],
  request: (environment: ConsoleEnvironment, signal: AbortSignal) => Promise<T>,
  { everyMs = false, isOff = false }: EnvironmentRequestOptions = {},
): UseQueryResult<T> {
  const environment = useEnvironment();
  return useQuery({
    queryKey: [environment.key, ...key],
    queryFn: ({ signal }) => request(environment, signal),
    refetchInterval: everyMs,
    enabled: !isOff,
    placeholderData: keepPreviousData,
  });
}

/** Rows of one statement; columns that are null are absent from a row. */
export function useSql(statement: string, options: EnvironmentRequestOptions = {}): UseQueryResult<readonly SqlRow[]> {
  return useRequest(["sql", statement], ({ admin }, signal) => admin.sql.query(statement, { signal }), options);
}

/** Makes a change; afterwards all queries of this environment are requested again. */
export function useChange<V = void, T = unknown>(
  change: (environment: ConsoleEnvironment, variables: V) => Promise<T>,
  options: ChangeOptions<T, V> = {},
): UseMutationResult<T, Error, V> {
  const environment = useEnvironment();
  return useReportedChange([environment.key], (variables: V) => change(environment, variables), options);
}
