import type { UseMutationResult } from "@tanstack/react-query";
import { useToast } from "../../kit/index.js";
import type { ConsoleEnvironment } from "../environment.js";
import { useChange } from "../request.js";
import { useUndoOffer } from "./undo-message.js";

interface DeletionOptions<V> {
  /** What the message says that was deleted. */
  readonly done: (variables: V) => string;
  readonly onDone: () => void;
}

/** Deletes something and offers to undo that. `remove` resolves with the id of the operation; undefined when it cannot be undone. */
export function useDeletion<V = void>(
  remove: (environment: ConsoleEnvironment, variables: V) => Promise<string | undefined>,
  { done, onDone }: DeletionOptions<V>,
): UseMutationResult<string | undefined, Error, V> {
  const toast = useToast();
  const offerUndo = useUndoOffer();
  return useChange<V, string | undefined>(remove, {
    onDone: (operation, variables) => {
      if (operation === undefined) toast.done(done(variables));
      else offerUndo(done(variables), operation);
      onDone();
    },
  });
}
