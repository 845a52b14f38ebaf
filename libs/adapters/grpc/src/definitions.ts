/** gRPC's view of the services in `proto/control`: method names and how their messages become bytes. */
import { type DescService, fromBinary, type Message, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { MethodDefinition } from "@grpc/grpc-js";
import {
  decodeAnswers,
  decodeRequests,
  type ExchangeRequest,
  type ExchangeResponse,
  encodeAnswers,
  encodeRequests,
} from "./codec/exchange.js";
import { Partitions } from "./gen/v1/partitions_pb.js";
import { Registry } from "./gen/v1/registry_pb.js";
import { Schedules } from "./gen/v1/schedules_pb.js";
import { Tenancy } from "./gen/v1/tenancy_pb.js";

type Methods = DescService["method"];
type Definition<M extends Methods> = {
  readonly [Name in keyof M]: MethodDefinition<MessageShape<M[Name]["input"]>, MessageShape<M[Name]["output"]>>;
};

/** Every method of a service, as generated from its file in `proto/control`. */
function definitionOf<M extends Methods>({ typeName, method }: { readonly typeName: string; readonly method: M }): Definition<M> {
  const definitions = Object.entries(method).map(([name, { name: onWire, methodKind, input, output }]) => {
    const definition: MethodDefinition<Message, Message> = {
      path: `/${typeName}/${onWire}`,
      requestStream: methodKind === "client_streaming" || methodKind === "bidi_streaming",
      responseStream: methodKind === "server_streaming" || methodKind === "bidi_streaming",
      requestSerialize: (message) => asBuffer(toBinary(input, message)),
      requestDeserialize: (bytes) => fromBinary(input, bytes),
      responseSerialize: (message) => asBuffer(toBinary(output, message)),
      responseDeserialize: (bytes) => fromBinary(output, bytes),
    };
    return [name, definition];
  });
  return Object.fromEntries(definitions) as Definition<M>;
}

/** A view, not a copy. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Batches are lists here; their form is that of `RequestBatch` and `AnswerBatch`. */
const exchange: MethodDefinition<readonly ExchangeRequest[], readonly ExchangeResponse[]> = {
  path: "/perdure.control.v1.Partitions/Exchange",
  requestStream: true,
  responseStream: true,
  requestSerialize: encodeRequests,
  requestDeserialize: decodeRequests,
  responseSerialize: encodeAnswers,
  responseDeserialize: decodeAnswers,
};

export const partitionsDefinition = { ...definitionOf(Partitions), exchange } as const;
export const registryDefinition = definitionOf(Registry);
export const schedulesDefinition = definitionOf(Schedules);
export const tenancyDefinition = definitionOf(Tenancy);
