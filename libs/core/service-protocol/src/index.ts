/**
 * Encodes and decodes the service protocol: frames, messages and versions, and an attempt as a state machine without sockets. It has no
 * sockets and no clocks; its functions depend on their input alone.
 */
export { attachedId } from "./attached-id.js";
export * from "./codec/control.js";
export { decodeCommand } from "./codec/decode-command.js";
export { encodeCommand, encodeInput } from "./codec/encode-command.js";
export * from "./codec/notification.js";
export * from "./codec/peek.js";
export * from "./codec/start.js";
export { isFault, type ProtocolFault, protocolViolation } from "./fault.js";
export * from "./frame.js";
export {
  type Combinator,
  decodeFuture,
  encodeFuture,
  type Future,
  FutureTooDeep,
  futureFromLists,
  isEmptyFuture,
  isTooDeep,
  waitingCompletions,
  waitingNamedSignals,
  waitingSignals,
} from "./future.js";
export { evaluateFuture, type LeafOutcome, narrowFuture } from "./future-evaluate.js";
export { futureToJson, notificationIdToJson } from "./future-json.js";
export * from "./journal-command.js";
export * from "./limits.js";
export * from "./message-type.js";
export * from "./values.js";
export * from "./versions.js";
