/** The events that `perdure dev --json` prints, one a line. */
import type { RunningCommand } from "@perdure/processes";

export interface DevEvent {
  readonly event: string;
  readonly [fact: string]: unknown;
}

export const eventsOf = ({ stdout }: RunningCommand): readonly DevEvent[] =>
  stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as DevEvent);

/** The `count`th event of this name. */
export async function event(dev: RunningCommand, name: string, count = 1): Promise<DevEvent> {
  await dev.until(new RegExp(`(?:"event":"${name}"[\\s\\S]*?\\n[\\s\\S]*?){${count}}`));
  return eventsOf(dev).filter((one) => one.event === name)[count - 1] as DevEvent;
}
