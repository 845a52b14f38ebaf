/** Messages that `make cluster` and `make cloud` print about their programs beside the demo. */
import type { SupervisionMessages } from "@perdure/processes";
import { fact, heading, line, paint } from "#demo/terminal";

/** `what`: `cluster` or `cloud`. */
export function supervisionMessages(what: string): SupervisionMessages {
  return {
    leftovers: (names) => {
      heading(`An earlier ${what} was not stopped`);
      fact(`stopped what was left of it: ${names.join(", ")}`);
    },
    restarted: (text) => fact(text, "✗"),
    failed: (cause) => line(`${paint("red", "✗")} ${cause instanceof Error ? cause.message : String(cause)}`),
    stopping: () => {
      line();
      line(paint("gray", "stopping …"));
    },
  };
}
