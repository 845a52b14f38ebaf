/** Where records come from. The client and its codecs are loaded when the first subscription needs them. */
import type { Clock, Logger } from "@perdure/base";
import type { RecordSource } from "@perdure/subscription";

export interface KafkaPorts {
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createKafkaSource(ports: KafkaPorts): RecordSource {
  return {
    async open(options, receiver) {
      const { openMember } = await import("./member.js");
      return openMember(options, receiver, ports);
    },
  };
}
