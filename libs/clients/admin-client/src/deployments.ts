/** Deployments and their services: list, register, check, change, remove. */
import { z } from "zod";
import { type ApiCallOptions, type ApiClient, isSuccess, parsed, segment } from "./api-client.js";
import { errorOf } from "./api-error.js";
import { ADMIN_REQUEST_MS } from "./limits.js";
import {
  type DeploymentSummary,
  type DeploymentView,
  deploymentListShape,
  deploymentShape,
  type RegistrationView,
  registrationShape,
  type ServiceChanges,
  type ServiceView,
  serviceListShape,
  serviceShape,
  type VerificationView,
  verificationShape,
} from "./shapes.js";

/** Bounds of a deploy check; an absent one has the server's default (docs/deploy-check.md). */
export interface CheckBounds {
  readonly in_flight_per_handler?: number;
  readonly completed_per_handler?: number;
  readonly invocations?: number;
  readonly timeout?: string;
}

export interface Registration {
  /** `http://…`, `https://…`, `tunnel://…`, or the ARN of a Lambda function. */
  readonly address: string;
  readonly useHttp11?: boolean;
  readonly assumeRoleArn?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Replaces the deployment that is registered at the address. */
  readonly force?: boolean;
  /** Registers even when handlers are missing or a check has findings. */
  readonly breaking?: boolean;
  readonly dryRun?: boolean;
  /** Replays journals against the new code first. */
  readonly verify?: boolean | CheckBounds;
}

export interface RegistrationResult {
  readonly deployment: RegistrationView;
  /** False when the same deployment was registered already and nothing changed. */
  readonly isNew: boolean;
}

export interface DeploymentChanges {
  readonly address?: string;
  readonly useHttp11?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly overwrite?: boolean;
  readonly dryRun?: boolean;
}

const isArn = (address: string): boolean => address.startsWith("arn:");

export class DeploymentsApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  /** All deployments, oldest first. */
  async list({ signal }: ApiCallOptions = {}): Promise<readonly DeploymentSummary[]> {
    return (await this.#api.request(deploymentListShape, "GET", "/deployments", { signal, withinMs: ADMIN_REQUEST_MS }))
      .deployments;
  }

  get(id: string, { signal }: ApiCallOptions = {}): Promise<DeploymentView> {
    return this.#api.request(deploymentShape, "GET", `/deployments/${segment(id)}`, { signal, withinMs: ADMIN_REQUEST_MS });
  }

  /**
   * Discovers the endpoint, runs the check if `verify` is set, and registers. Rejects with `AdminApiError`; META0101 has the findings in
   * its body.
   */
  async register(registration: Registration, { signal }: ApiCallOptions = {}): Promise<RegistrationResult> {
    const { address, headers, metadata, force, breaking, dryRun, verify } = registration;
    const where = isArn(address)
      ? { arn: address, assume_role_arn: registration.assumeRoleArn ?? null }
      : { uri: address, use_http_11: registration.useHttp11 ?? false };
    const json = {
      ...where,
      additional_headers: headers,
      metadata,
      force: force ?? false,
      breaking: breaking ?? false,
      dry_run: dryRun ?? false,
      verify: verify ?? false,
    };
    const response = await this.#api.exchange("POST", "/deployments", { json, signal, withinMs: ADMIN_REQUEST_MS });
    if (!isSuccess(response)) throw errorOf(response);
    return { deployment: parsed(registrationShape, response), isNew: response.status === 201 };
  }

  /** Updates in place: the same code at another address, or with other headers. */
  update(
    id: string,
    { address, useHttp11, headers, overwrite, dryRun }: DeploymentChanges,
    { signal }: ApiCallOptions = {},
  ): Promise<DeploymentView> {
    const json = {
      ...(address === undefined ? {} : isArn(address) ? { arn: address } : { uri: address }),
      ...(useHttp11 === undefined ? {} : { use_http_11: useHttp11 }),
      ...(headers === undefined ? {} : { additional_headers: headers }),
      overwrite: overwrite ?? false,
      dry_run: dryRun ?? false,
    };
    return this.#api.request(deploymentShape, "PATCH", `/deployments/${segment(id)}`, {
      json,
      signal,
      withinMs: ADMIN_REQUEST_MS,
    });
  }

  /** Removes a deployment; without `force` only when no invocation needs it. */
  async remove(id: string, force: boolean, { signal }: ApiCallOptions = {}): Promise<void> {
    await this.#api.send("DELETE", `/deployments/${segment(id)}`, { query: { force }, signal, withinMs: ADMIN_REQUEST_MS });
  }

  /** Checks whether suspended and paused invocations could continue on the deployment. */
  check(id: string, bounds: CheckBounds = {}, { signal }: ApiCallOptions = {}): Promise<VerificationView> {
    const request = { json: bounds, signal, withinMs: ADMIN_REQUEST_MS };
    return this.#api.request(verificationShape, "POST", `/deployments/${segment(id)}/verify`, request);
  }
}

export class ServicesApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async list({ signal }: ApiCallOptions = {}): Promise<readonly ServiceView[]> {
    return (await this.#api.request(serviceListShape, "GET", "/services", { signal, withinMs: ADMIN_REQUEST_MS })).services;
  }

  get(name: string, { signal }: ApiCallOptions = {}): Promise<ServiceView> {
    return this.#api.request(serviceShape, "GET", `/services/${segment(name)}`, { signal, withinMs: ADMIN_REQUEST_MS });
  }

  /** OpenAPI document of the service's handlers. */
  openapi(name: string, { signal }: ApiCallOptions = {}): Promise<Record<string, unknown>> {
    const path = `/services/${segment(name)}/openapi`;
    return this.#api.request(z.record(z.string(), z.unknown()), "GET", path, { signal, withinMs: ADMIN_REQUEST_MS });
  }

  /** Changes options until the next registration. */
  modify(name: string, changes: ServiceChanges, { signal }: ApiCallOptions = {}): Promise<ServiceView> {
    const request = { json: changes, signal, withinMs: ADMIN_REQUEST_MS };
    return this.#api.request(serviceShape, "PATCH", `/services/${segment(name)}`, request);
  }
}
