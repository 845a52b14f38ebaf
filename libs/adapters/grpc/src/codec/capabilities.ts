/** What the two ends of a stream of `Partitions.Exchange` announce to each other before everything else. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Capability, HelloSchema } from "../gen/v1/partitions_pb.js";

export interface Capabilities {
  /** Reads management commands, their answers, failures and errors as messages. False for processes of v0.1, which read JSON. */
  readonly readsTypedCommands: boolean;
}

/** Capabilities of a process that announces none. */
export const CAPABILITIES_V01: Capabilities = { readsTypedCommands: false };

/** The announcement of this version. */
export const HELLO = toBinary(HelloSchema, create(HelloSchema, { capabilities: [Capability.TYPED_COMMANDS] }));

/** Capabilities that this version does not have are ignored, and bytes that are no announcement announce none. */
export function decodeHello(bytes: Uint8Array): Capabilities {
  try {
    const { capabilities } = fromBinary(HelloSchema, bytes);
    return { readsTypedCommands: capabilities.includes(Capability.TYPED_COMMANDS) };
  } catch {
    return CAPABILITIES_V01;
  }
}
