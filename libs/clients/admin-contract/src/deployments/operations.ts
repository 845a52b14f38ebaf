import { type Operation, PAGE_QUERY } from "../operation.js";
import { DeploymentShape, DeploymentsShape, RegistrationShape } from "./responses.js";
import { VerificationShape } from "./verification.js";

export const listDeployments = {
  method: "GET",
  path: "/deployments",
  query: PAGE_QUERY,
  results: { 200: DeploymentsShape },
} as const satisfies Operation;

/** 200: registered before and unchanged, or replaced by force. */
export const registerDeployment = {
  method: "POST",
  path: "/deployments",
  query: { verify: "`true`: replay journals of existing invocations against the new code first, performing nothing" },
  results: { 200: RegistrationShape, 201: RegistrationShape },
} as const satisfies Operation;

export const getDeployment = {
  method: "GET",
  path: "/deployments/{deployment}",
  results: { 200: DeploymentShape },
} as const satisfies Operation;

export const removeDeployment = {
  method: "DELETE",
  path: "/deployments/{deployment}",
  query: { force: "`true`: even when invocations still need it" },
} as const satisfies Operation;

export const updateDeployment = {
  method: "PATCH",
  path: "/deployments/{deployment}",
  results: { 200: DeploymentShape },
} as const satisfies Operation;

/** The same under the method of older tools. */
export const putDeployment = { ...updateDeployment, method: "PUT" } as const satisfies Operation;

export const checkDeployment = {
  method: "POST",
  path: "/deployments/{deployment}/verify",
  results: { 200: VerificationShape },
} as const satisfies Operation;
