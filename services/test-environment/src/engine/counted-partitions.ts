/** The partitions of an environment. Requests to them are activity from the moment at which they are made. */
import type { Partitions } from "@perdure/control";
import type { EngineActivity } from "../time/activity.js";

export function countedPartitions(plain: Partitions, activity: EngineActivity): Partitions {
  return {
    invoke(command, wait, observer) {
      activity.bump();
      return plain.invoke(command, wait, observer);
    },
    attach: (id, observer) => plain.attach(id, observer),
    output: (id) => plain.output(id),
    describe: (id) => plain.describe(id),
    submit(command) {
      activity.bump();
      return plain.submit(command);
    },
  };
}
