/** Why: all pages ask an environment, and change it, the same way: cancellable, live while somebody looks, failures told once. */
import type { Row } from "@perdure/admin-client";
import {
  keepPreviousData,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useTell } from "../kit/toast.js";
import { type Environment, useEnvironment } from "./environment.js";

/** How often live pages look again. While the window is hidden they do not. */
export const LIVE_MS = 2_000;

export interface AskOptions {
  /** Asked again and again; false: once. */
  readonly everyMs?: number | false;
  readonly isOff?: boolean;
}

/** `key` names what is asked within this environment, with all that the answer depends on. */
export function useAsk<T>(
  key: readonly unknown[],
  ask: (environment: Environment, signal: AbortSignal) => Promise<T>,
  { everyMs = false, isOff = false }: AskOptions = {},
): UseQueryResult<T> {
  const environment = useEnvironment();
  return useQuery({
    queryKey: [environment.key, ...key],
    queryFn: ({ signal }) => ask(environment, signal),
    refetchInterval: everyMs,
    enabled: !isOff,
    placeholderData: keepPreviousData,
  });
}

/** Rows of one statement; columns that are null are absent from a row. */
export function useSql(statement: string, options: AskOptions = {}): UseQueryResult<readonly Row[]> {
  return useAsk(["sql", statement], ({ admin }, signal) => admin.sql.query(statement, { signal }), options);
}

export interface ChangeOptions<T, V> {
  /** Said when it is done. Left out: nothing is said. */
  readonly done?: (result: T, wanted: V) => string;
  /** Said when it failed: `It was not killed`. Left out: the page shows `error` itself. */
  readonly failed?: string;
  readonly onDone?: (result: T, wanted: V) => void;
}

/** Something is done; afterwards everything that is known of this environment is asked again. */
export function useChange<V = void, T = unknown>(
  change: (environment: Environment, wanted: V) => Promise<T>,
  { done, failed, onDone }: ChangeOptions<T, V> = {},
): UseMutationResult<T, Error, V> {
  const environment = useEnvironment();
  const queries = useQueryClient();
  const tell = useTell();
  return useMutation<T, Error, V>({
    mutationFn: (wanted) => change(environment, wanted),
    onSuccess: (result, wanted) => {
      if (done !== undefined) tell.done(done(result, wanted));
      onDone?.(result, wanted);
    },
    onError: (cause) => {
      if (failed !== undefined) tell.failed(failed, cause);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: [environment.key] }),
  });
}
