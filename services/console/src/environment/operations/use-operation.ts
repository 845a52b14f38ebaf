/** Queries and the change of one operation that can be undone. */
import { AdminApiError, type OperationView } from "@perdure/admin-client";
import { type UseMutationResult, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useEnvironment } from "../environment.js";
import { useChange } from "../request.js";
import { UNDOABLE_MS, UNDOING_MS } from "./limits.js";
import { isWhollyUndone, outcomeText } from "./operation-text.js";

/** Requested until nothing can change any more. */
export function useOperation(id: string): UseQueryResult<OperationView> {
  const { key, admin } = useEnvironment();
  return useQuery({
    queryKey: [key, "operations", id],
    queryFn: ({ signal }) => admin.operations.get(id, { signal }),
    refetchInterval: ({ state: { data, error } }) => {
      if (data?.state === "undoing") return UNDOING_MS;
      return isUnlisted(error) || data?.state === "undone" || data?.state === "expired" ? false : UNDOABLE_MS;
    },
  });
}

/** The operation is no longer listed: its time was over long ago. */
export function isUnlisted(cause: unknown): boolean {
  return cause instanceof AdminApiError && cause.status === 404;
}

/** A message says so when everything is undone; the outcome is shown otherwise, and so is a failure. */
export function useUndo(id: string): UseMutationResult<OperationView, Error, void> {
  return useChange<void, OperationView>(({ admin }) => admin.operations.undo(id), {
    done: (operation) =>
      isWhollyUndone(operation) && operation.undo !== null ? `Undone: ${outcomeText(operation.undo, operation)}` : undefined,
  });
}
