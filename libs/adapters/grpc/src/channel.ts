/** What this package uses of a connection to another process or thread. The client of grpc-js is one; `message-port` has another. */
import type { Readable } from "node:stream";
import type { CallOptions, Metadata, MethodDefinition, ServiceError } from "@grpc/grpc-js";

export interface UnaryCall {
  cancel(): void;
}

/** Messages of one call, in their order, then `end` or one `error`. `cancel` ends the call with an `error`. */
export type ReadingCall<Out> = Pick<Readable, "on" | "once"> & AsyncIterable<Out> & UnaryCall;

/** `write` returns false when the other end has to read first; `drain` follows. */
export interface DuplexCall<In> extends UnaryCall, Pick<Readable, "on"> {
  write(message: In): boolean;
  end(): void;
}

type Serialize<In> = MethodDefinition<In, unknown>["requestSerialize"];
type Deserialize<Out> = MethodDefinition<unknown, Out>["responseDeserialize"];

export interface Channel {
  makeUnaryRequest<In, Out>(
    path: string,
    serialize: Serialize<In>,
    deserialize: Deserialize<Out>,
    request: In,
    metadata: Metadata,
    options: CallOptions,
    answered: (error: ServiceError | null, answer?: Out) => void,
  ): UnaryCall;
  makeServerStreamRequest<In, Out>(
    path: string,
    serialize: Serialize<In>,
    deserialize: Deserialize<Out>,
    request: In,
    metadata?: Metadata,
    options?: CallOptions,
  ): ReadingCall<Out>;
  makeBidiStreamRequest<In, Out>(path: string, serialize: Serialize<In>, deserialize: Deserialize<Out>): DuplexCall<In>;
  /** Ends the calls that are open. A second call does nothing. */
  close(): void;
}
