/** `perdure invocations crash`: demonstrates recovery on a development server by stopping a running attempt. */
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { action, adminOf } from "./connect.js";
import { invocationId } from "./values.js";

export function registerCrash(invocations: Command, context: Context): void {
  invocations
    .command("crash")
    .argument("<id>", "", invocationId)
    .description("break the connection of its running attempt; it is retried (local servers only)")
    .action(action((id: string) => crash(context, id)));
}

async function crash(context: Context, id: string): Promise<void> {
  const { output } = context;
  const cut = await adminOf(context).invocations.crashAttempt(id, context);
  output.result({ id, ...cut }, () => {
    const entries = cut.journal_length === 1 ? "1 entry" : `${cut.journal_length} entries`;
    output.print(`${id}: attempt ${cut.attempt} was cut off with ${entries} in the journal; the next one continues from there`);
  });
}
