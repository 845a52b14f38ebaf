/** Bugs of throttled requests; each is found in worlds with `THROTTLE=1`. */
import { partition, plant, processor } from "./plant.mjs";

const inThrottledWorlds = (...bug) => ({ ...plant(...bug), isThrottled: true });

export const PLANTED_THROTTLE_BUGS = [
  inThrottledWorlds(
    "throttle-ends-early",
    "A timer of a period that was replaced deletes the row of the present one, and places are given away twice",
    1,
    [
      partition("invocation/throttle.ts"),
      "  if (period?.endsAtMs !== timer.dueAtMs) return;",
      "  if (period === undefined) return;",
    ],
    [
      partition("invocation/throttle.ts"),
      '  if (before !== undefined) out.mutate({ kind: "deleteTimer", timer: timerOf(rowId, before) });\n',
      "",
    ],
  ),
  inThrottledWorlds("throttle-keys-stay-counted", "The number of throttle keys only rises", 1, [
    partition("invocation/throttle.ts"),
    "  putKeyCount(throttleKeyCount(view) - 1, out);\n",
    "",
  ]),
  inThrottledWorlds("throttle-count-stops", "The count of a throttle stops below its limit", 5, [
    partition("invocation/throttle.ts"),
    "  const admittedCount = isOver ? 1 : before.admittedCount + 1;\n",
    "  const admittedCount = isOver ? 1 : Math.min(before.admittedCount + 1, throttle.limit - 1 || 1);\n",
  ]),
  inThrottledWorlds("throttle-counts-repetitions", "A repeated request is counted again", 2, [
    partition("invocation/invoke.ts"),
    "  if (existing !== undefined) return meetExisting(existing, command, out);\n",
    "  if (existing !== undefined && command.throttle !== undefined) admitThrottled(view, command, out);\n  if (existing !== undefined) return meetExisting(existing, command, out);\n",
  ]),
  inThrottledWorlds(
    "mark-from-before-the-barrier",
    "A timer of state that is armed while due ones are about to be read, and due before them, never fires",
    1043,
    [
      processor("timers.ts"),
      '        if (group === "state") await this.#beginStateRead(leader);\n',
      '        const marked = leader.nextDueAtMs[group];\n        if (group === "state") await this.#beginStateRead(leader);\n',
    ],
    [processor("timers.ts"), "        const from = leader.nextDueAtMs[group];\n", "        const from = marked;\n"],
  ),
];
