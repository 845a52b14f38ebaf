import { type AdminOperation, PAGE_QUERY } from "../operation.js";
import { DeploymentDetailShape, DeploymentsShape, RegistrationShape } from "./responses.js";
import { VerificationShape } from "./verification.js";

export const listDeployments = {
  method: "GET",
  path: "/deployments",
  query: PAGE_QUERY,
  results: { 200: DeploymentsShape },
} as const satisfies AdminOperation;

/** 200: registered before and unchanged, or replaced by force. */
export const registerDeployment = {
  method: "POST",
  path: "/deployments",
  query: { verify: "`true`: replay journals of existing invocations against the new code first, performing nothing" },
  results: { 200: RegistrationShape, 201: RegistrationShape },
} as const satisfies AdminOperation;

export const getDeployment = {
  method: "GET",
  path: "/deployments/{deployment}",
  results: { 200: DeploymentDetailShape },
} as const satisfies AdminOperation;

export const removeDeployment = {
  method: "DELETE",
  path: "/deployments/{deployment}",
  query: { force: "`true`: even when invocations still need it" },
} as const satisfies AdminOperation;

export const updateDeployment = {
  method: "PATCH",
  path: "/deployments/{deployment}",
  results: { 200: DeploymentDetailShape },
} as const satisfies AdminOperation;

/** The same under the method of older tools. */
export const putDeployment = { ...updateDeployment, method: "PUT" } as const satisfies AdminOperation;

export const checkDeployment = {
  method: "POST",
  path: "/deployments/{deployment}/verify",
  results: { 200: VerificationShape },
} as const satisfies AdminOperation;
