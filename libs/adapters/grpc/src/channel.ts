/** What this package uses of a connection to another process or thread. The client of grpc-js is one. */
import type {
  CallOptions,
  ClientDuplexStream,
  ClientReadableStream,
  ClientUnaryCall,
  Metadata,
  MethodDefinition,
  ServiceError,
} from "@grpc/grpc-js";

export type UnaryCall = Pick<ClientUnaryCall, "cancel">;
/** Messages of one call, in their order, then `end` or one `error`. `cancel` ends the call with an `error`. */
export type ReadingCall<Out> = Pick<ClientReadableStream<Out>, "on" | "once" | "cancel" | typeof Symbol.asyncIterator>;
export type DuplexCall<In, Out> = Pick<ClientDuplexStream<In, Out>, "on" | "cancel" | "write" | "end">;

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
  makeBidiStreamRequest<In, Out>(path: string, serialize: Serialize<In>, deserialize: Deserialize<Out>): DuplexCall<In, Out>;
  /** Ends the calls that are open. A second call does nothing. */
  close(): void;
}
