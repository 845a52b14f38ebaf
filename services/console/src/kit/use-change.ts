/** Changes that a page makes: each result or failure is shown once, and queries are requested again afterwards. */
import { type QueryKey, type UseMutationResult, useMutation, useQueryClient } from "@tanstack/react-query";
import { useToast } from "./toast.js";

export interface ChangeOptions<T, V> {
  /** Message when it is done. Left out or undefined: no message. */
  readonly done?: (result: T, variables: V) => string | undefined;
  /** Message when it failed: `It was not killed`. Left out: the page shows `error` itself. */
  readonly failed?: string;
  readonly onDone?: (result: T, variables: V) => void;
}

/** `queryKey`: beginning of the keys of the queries that are requested again, after a failure too. */
export function useReportedChange<V, T>(
  queryKey: QueryKey,
  change: (variables: V) => Promise<T>,
  { done, failed, onDone }: ChangeOptions<T, V>,
): UseMutationResult<T, Error, V> {
  const queries = useQueryClient();
  const toast = useToast();
  return useMutation<T, Error, V>({
    mutationFn: change,
    onSuccess: (result, variables) => {
      const message = done?.(result, variables);
      if (message !== undefined) toast.done(message);
      onDone?.(result, variables);
    },
    onError: (cause) => {
      if (failed !== undefined) toast.failed(failed, cause);
    },
    onSettled: () => queries.invalidateQueries({ queryKey }),
  });
}
