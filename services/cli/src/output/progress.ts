/** Progress of a long operation: on a terminal an animated line, elsewhere a line per step. */
import type { Clock, TimerHandle } from "@perdure/base";
import { oneLine, withoutControls } from "./controls.js";

export interface ProgressIndicator {
  /** Shows the present step. */
  step(text: string): void;
  /** Ends after success; the line stays. */
  done(text: string): void;
  /** Ends without a result, which the caller reports; nothing stays on a terminal. */
  stop(): void;
}

/** Progress indicator without output, for `--json`. */
export const silentProgress: ProgressIndicator = { step() {}, done() {}, stop() {} };

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const FRAME_MS = 90;
const CLEAR_LINE = "\r\x1b[2K";

interface ProgressOptions {
  readonly write: (text: string) => void;
  readonly isTerminal: boolean;
  readonly clock: Clock;
  readonly paint: (style: "green" | "cyan", text: string) => string;
}

export function startProgress(first: string, options: ProgressOptions): ProgressIndicator {
  const progress = options.isTerminal ? turningLine(oneLine(first), options) : plainLines(oneLine(first), options);
  return {
    step: (text) => progress.step(oneLine(text)),
    done: (text) => progress.done(withoutControls(text)),
    stop: () => progress.stop(),
  };
}

function plainLines(first: string, { write }: ProgressOptions): ProgressIndicator {
  let last = "";
  const writeLine = (text: string): void => {
    if (text !== last) write(`${text}\n`);
    last = text;
  };
  writeLine(`${first} …`);
  return { step: (text) => writeLine(`${text} …`), done: writeLine, stop() {} };
}

function turningLine(first: string, { write, clock, paint }: ProgressOptions): ProgressIndicator {
  let text = first;
  let frame = 0;
  let timer: TimerHandle | undefined;
  const draw = (): void => {
    write(`${CLEAR_LINE}${paint("cyan", FRAMES[frame++ % FRAMES.length] ?? "")} ${text} …`);
    timer = clock.setTimer(FRAME_MS, draw);
  };
  const end = (): void => {
    timer?.cancel();
    timer = undefined;
    write(CLEAR_LINE);
  };
  draw();
  return {
    step(next) {
      text = next;
    },
    done(last) {
      end();
      write(`${paint("green", "✔")} ${last}\n`);
    },
    stop: end,
  };
}
