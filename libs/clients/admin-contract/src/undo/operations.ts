import type { AdminOperation } from "../operation.js";
import { OperationShape, OperationsShape } from "./responses.js";

export const listOperations = {
  method: "GET",
  path: "/operations",
  results: { 200: OperationsShape },
} as const satisfies AdminOperation;

export const getOperation = {
  method: "GET",
  path: "/operations/{operation_id}",
  results: { 200: OperationShape },
} as const satisfies AdminOperation;

/** 202: a batch undoes it. A repeated request changes nothing and returns the state. */
export const undoOperation = {
  method: "POST",
  path: "/operations/{operation_id}/undo",
  results: { 200: OperationShape, 202: OperationShape },
} as const satisfies AdminOperation;

/** Header of a response that names the operation with which the change can be undone. */
export const OPERATION_HEADER = "x-perdure-operation";
