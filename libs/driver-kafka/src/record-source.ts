/** Where records come from. The client and its codecs are loaded when the first subscription needs them. */
import type { Clock, Logger } from "@perdure/base";
import type { EgressGuard } from "@perdure/egress";
import type { RecordSource } from "@perdure/subscription";

export interface KafkaPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Says where connections may go; without one they may go anywhere. */
  readonly guard?: EgressGuard | undefined;
  /** Sent along when a role is assumed at AWS. */
  readonly awsExternalId?: string | undefined;
}

export function createKafkaSource(ports: KafkaPorts): RecordSource {
  return {
    async open(options, receiver) {
      const { openMember } = await import("./member.js");
      return openMember(options, receiver, ports);
    },
  };
}
