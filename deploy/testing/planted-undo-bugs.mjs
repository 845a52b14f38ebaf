/** Bugs of undo that the simulator must find in worlds with changes that are undone. See `planted-bugs.mjs`. */
import { partition, plant } from "./plant.mjs";

const inUndoneWorlds = (...bug) => ({ ...plant(...bug), isUndone: true });

export const PLANTED_UNDO_BUGS = [
  inUndoneWorlds("undo-delivers-again", "A restored callee delivers its result also to callers that have it", 121, [
    partition("undo/undo.ts"),
    'if (present.status === "completed") notifySink(out, sink, present.outcome, { mayRepeat: true });',
    'if (present.status === "completed") notifySink(out, sink, present.outcome);',
  ]),
  inUndoneWorlds("undo-leaves-callees", "An undo restores no callee whose result its caller waits for", 23, [
    partition("undo/pending.ts"),
    "if (!callee.ok) continue;",
    "if (!callee.ok || resultIds.has(decoded.id.id)) continue;",
  ]),
  inUndoneWorlds("undone-row-stays", "A restored invocation stays among the completed ones", 1, [
    partition("undo/undo.ts"),
    '  out.mutate({ kind: "deleteInvocation", id });\n',
    "",
  ]),
  inUndoneWorlds("edit-undo-overwrites", "The undo of a state edit overwrites what was written since", 10, [
    partition("undo/state-edit.ts"),
    "    return bytesEqual(hashOf(value), afterHash);\n",
    "    return true;\n",
  ]),
  inUndoneWorlds("withdrawn-edit-is-applied", "A waiting edit whose undo withdrew it is applied all the same", 8, [
    partition("undo/state-edit.ts"),
    '  out.mutate({ kind: "deleteInbox", service, key, seq });\n',
    "",
  ]),
];
