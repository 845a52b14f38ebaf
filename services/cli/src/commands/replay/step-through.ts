/** The step debugger: forward and back by journal entry. Each position is a new attempt that replays so many commands. */
import { stdin } from "node:process";
import { createInterface, emitKeypressEvents } from "node:readline";
import type { BundleView } from "@perdure/admin-client";
import type { StepReplayResult } from "@perdure/invoker";
import type { Context } from "../../context.js";
import { moved, parseMove, type ReplayMove } from "./moves.js";
import { commandEntries } from "./outcome.js";
import { entryLine, type ReplayTo, report } from "./replay.js";

/** Resolves with the last position, when the user quits or the input ends. */
export async function stepThrough(
  context: Context,
  bundle: BundleView,
  replayTo: ReplayTo,
): Promise<StepReplayResult | undefined> {
  const { output } = context;
  const entries = commandEntries(bundle);
  output.note("n or → forward, b or ← back, a number: to that entry, e to the end, r again, q quits");
  let position = 1;
  let last: StepReplayResult | undefined;
  for (let move: ReplayMove | undefined = "again"; move !== undefined && move !== "quit"; move = await nextMove(context)) {
    position = moved(position, move, entries);
    output.note(entryLine(bundle, entries[position - 1] ?? 0));
    last = await replayTo(position);
    report(context, bundle, last, { withEntries: false });
  }
  return last;
}

/** Undefined at the end of the input. */
async function nextMove({ signal }: Context): Promise<ReplayMove | undefined> {
  const move = stdin.isTTY ? await moveOfKey(signal) : await moveOfLine();
  signal.throwIfAborted();
  return move;
}

let lines: AsyncIterator<string> | undefined;

async function moveOfLine(): Promise<ReplayMove | undefined> {
  lines ??= createInterface({ input: stdin })[Symbol.asyncIterator]();
  for (;;) {
    const next = await lines.next();
    if (next.done === true) return undefined;
    const move = parseMove(next.value);
    if (move !== undefined) return move;
  }
}

/** The terminal is raw only while a key is awaited: at other times Ctrl-C ends the command. */
function moveOfKey(signal: AbortSignal): Promise<ReplayMove | undefined> {
  emitKeypressEvents(stdin);
  stdin.setRawMode(true);
  stdin.resume();
  const { promise, resolve } = Promise.withResolvers<ReplayMove | undefined>();
  let digits = "";
  const onKey = (
    _: string | undefined,
    key: { readonly name?: string; readonly sequence?: string; readonly ctrl?: boolean },
  ): void => {
    const name = key.name ?? key.sequence ?? "";
    if (/^\d$/.test(name)) {
      digits += name;
      return;
    }
    if (key.ctrl === true && (name === "c" || name === "d")) return resolve("quit");
    const move = name === "return" && digits !== "" ? parseMove(digits) : parseMove(name);
    digits = "";
    if (move !== undefined) resolve(move);
  };
  const onAbort = (): void => resolve(undefined);
  stdin.on("keypress", onKey);
  signal.addEventListener("abort", onAbort);
  return promise.finally(() => {
    stdin.off("keypress", onKey);
    signal.removeEventListener("abort", onAbort);
    stdin.setRawMode(false);
    stdin.pause();
  });
}
