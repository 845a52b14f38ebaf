/** Bugs of attachments that the simulator must find in worlds with `ATTACH=1`, one of them with `UNDO=1` as well. See `planted-bugs.mjs`. */
import { invoker, partition, plant, processor } from "./plant.mjs";

const inAttachedWorlds = (...bug) => ({ ...plant(...bug), isAttached: true });
const inUndoneAttachedWorlds = (...bug) => ({ ...plant(...bug), isAttached: true, isUndone: true });
const protocol = (path) => `libs/core/service-protocol/src/${path}`;

export const PLANTED_ATTACH_BUGS = [
  inAttachedWorlds("attach-to-a-caller-like-another", "Of two callers with one completion id only the first is notified", 4, [
    partition("invocation/outcome.ts"),
    "each.callerId === callerId && each.callerGeneration === callerGeneration && each.completionId === completionId,",
    "each.callerId.length === callerId.length && each.callerGeneration !== -1 && each.completionId === completionId,",
  ]),
  inAttachedWorlds("attach-ignores-the-handler", "An attachment by idempotency key finds the request of another handler", 1, [
    invoker("command-action.ts"),
    "        handler: target.handlerName,\n        scope:",
    '        handler: target.handlerName === "r" ? "h" : target.handlerName,\n        scope:',
  ]),
  inAttachedWorlds("output-of-the-unfinished", "The output of an invocation in flight is reported as absent", 1, [
    processor("callers/local-partitions.ts"),
    'if (invocation.status !== "completed") return { kind: "pending" };',
    'if (invocation.status !== "completed") return { kind: "notFound" };',
  ]),
  inAttachedWorlds("absent-is-waited-for", "A handler that attaches to an absent invocation is never answered", 1, [
    partition("invocation/outcome.ts"),
    "if (invocation === undefined) return notifySink(out, sink, NOT_FOUND);",
    "if (invocation === undefined) return;",
  ]),
  inUndoneAttachedWorlds("undo-forgets-attachments-by-key", "An undo attaches a handler again only to what it named by id", 51, [
    protocol("attached-id.ts"),
    "  switch (target.kind) {\n",
    '  if (target.kind !== "invocationId") return undefined;\n  switch (target.kind) {\n',
  ]),
];
