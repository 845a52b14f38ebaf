/** Opens consumers of Kafka topics. kafkajs and its codecs are loaded when the first subscription needs them. */
import type { Clock, Logger } from "@perdure/base";
import type { EgressGuard } from "@perdure/egress";
import type { RecordSource } from "@perdure/subscriptions";

export interface KafkaPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Admits connections; undefined: all are allowed. */
  readonly guard?: EgressGuard | undefined;
  /** External id when a role is assumed at AWS. */
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
