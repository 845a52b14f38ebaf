/** gRPC's view of the services in `proto/control`: method names and how their messages become bytes. */
import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { MethodDefinition } from "@grpc/grpc-js";
import { type Answer, decodeAnswers, decodeRequests, encodeAnswers, encodeRequests, type Request } from "./codec/exchange.js";
import { DirectorySchema, RowsPageSchema, RowsRequestSchema, WatchRequestSchema } from "./gen/v1/partitions_pb.js";
import { ChangeReplySchema, ChangeRequestSchema, RegistryStateSchema, WatchRegistryRequestSchema } from "./gen/v1/registry_pb.js";
import { ListSchedulesRequestSchema, SchedulesPageSchema } from "./gen/v1/schedules_pb.js";
import {
  TenancyAnswerSchema,
  TenancyNewsMessageSchema,
  TenancyQuestionSchema,
  WatchTenancyRequestSchema,
} from "./gen/v1/tenancy_pb.js";

function method<In extends DescMessage, Out extends DescMessage>(
  path: string,
  input: In,
  output: Out,
  streams: { readonly request: boolean; readonly response: boolean },
): MethodDefinition<MessageShape<In>, MessageShape<Out>> {
  return {
    path,
    requestStream: streams.request,
    responseStream: streams.response,
    requestSerialize: (message) => asBuffer(toBinary(input, message)),
    requestDeserialize: (bytes) => fromBinary(input, bytes),
    responseSerialize: (message) => asBuffer(toBinary(output, message)),
    responseDeserialize: (bytes) => fromBinary(output, bytes),
  };
}

/** A view, not a copy. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Batches are lists here; their form is that of `RequestBatch` and `AnswerBatch`. */
const exchange: MethodDefinition<readonly Request[], readonly Answer[]> = {
  path: "/perdure.control.v1.Partitions/Exchange",
  requestStream: true,
  responseStream: true,
  requestSerialize: encodeRequests,
  requestDeserialize: decodeRequests,
  responseSerialize: encodeAnswers,
  responseDeserialize: decodeAnswers,
};

export const partitionsDefinition = {
  exchange,
  watch: method("/perdure.control.v1.Partitions/Watch", WatchRequestSchema, DirectorySchema, { request: false, response: true }),
  rows: method("/perdure.control.v1.Partitions/Rows", RowsRequestSchema, RowsPageSchema, { request: false, response: true }),
} as const;

export const registryDefinition = {
  watch: method("/perdure.control.v1.Registry/Watch", WatchRegistryRequestSchema, RegistryStateSchema, {
    request: false,
    response: true,
  }),
  change: method("/perdure.control.v1.Registry/Change", ChangeRequestSchema, ChangeReplySchema, {
    request: false,
    response: false,
  }),
} as const;

export const schedulesDefinition = {
  ask: method("/perdure.control.v1.Schedules/Ask", ChangeRequestSchema, ChangeReplySchema, { request: false, response: false }),
  list: method("/perdure.control.v1.Schedules/List", ListSchedulesRequestSchema, SchedulesPageSchema, {
    request: false,
    response: true,
  }),
} as const;

export const tenancyDefinition = {
  ask: method("/perdure.control.v1.Tenancy/Ask", TenancyQuestionSchema, TenancyAnswerSchema, { request: false, response: false }),
  watch: method("/perdure.control.v1.Tenancy/Watch", WatchTenancyRequestSchema, TenancyNewsMessageSchema, {
    request: false,
    response: true,
  }),
} as const;
