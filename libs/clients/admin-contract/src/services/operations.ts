import { type AdminOperation, PAGE_QUERY } from "../operation.js";
import { DocumentShape, HandlerShape, HandlersShape, ServiceShape, ServicesShape } from "./responses.js";

export const listServices = {
  method: "GET",
  path: "/services",
  query: PAGE_QUERY,
  results: { 200: ServicesShape },
} as const satisfies AdminOperation;

export const getService = {
  method: "GET",
  path: "/services/{service}",
  results: { 200: ServiceShape },
} as const satisfies AdminOperation;

export const modifyService = {
  method: "PATCH",
  path: "/services/{service}",
  results: { 200: ServiceShape },
} as const satisfies AdminOperation;

export const getServiceDocument = {
  method: "GET",
  path: "/services/{service}/openapi",
  results: { 200: DocumentShape },
} as const satisfies AdminOperation;

export const listHandlers = {
  method: "GET",
  path: "/services/{service}/handlers",
  query: PAGE_QUERY,
  results: { 200: HandlersShape },
} as const satisfies AdminOperation;

export const getHandler = {
  method: "GET",
  path: "/services/{service}/handlers/{handler}",
  results: { 200: HandlerShape },
} as const satisfies AdminOperation;

export const replaceState = { method: "POST", path: "/services/{service}/state" } as const satisfies AdminOperation;

/** The time to live of the state of one object. */
export const setStateTtl = {
  method: "PUT",
  path: "/services/{service}/state-ttl",
} as const satisfies AdminOperation;

/** Returns an operation of our own tools. Its response is the payload in the other form, whatever its content type. */
export function convertPayload<Direction extends "decode" | "encode">(direction: Direction) {
  return {
    method: "POST",
    path: `/internal/services/{service}/serdes/${direction}/{*serde}`,
    query: { deployment: "Deployment that converts: an id, or `latest` (default)" },
  } as const satisfies AdminOperation;
}
