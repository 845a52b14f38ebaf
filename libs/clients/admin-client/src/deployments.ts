/** Deployments and their services: list, register, check, change, remove. */
import {
  checkDeployment,
  getDeployment,
  getService,
  getServiceDocument,
  listDeployments,
  listServices,
  modifyService,
  OPERATION_HEADER,
  registerDeployment,
  removeDeployment,
  tolerant,
  updateDeployment,
  VerificationShape,
} from "@perdure/admin-contract";
import type { RegisterDeployment, UpdateDeployment } from "@perdure/admin-contract/requests";
import type { z } from "zod";
import { type ApiCallOptions, type ApiClient, responseValue } from "./api-client.js";
import { AdminApiError, isRecord } from "./api-error.js";
import type {
  DeployCheckBounds,
  DeploymentDetail,
  DeploymentSummary,
  RegistrationView,
  ServiceChanges,
  ServiceMetadata,
  VerificationView,
} from "./views.js";

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
  readonly verify?: boolean | DeployCheckBounds;
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
    return (await this.#api.call(listDeployments, {}, { signal })).deployments;
  }

  get(id: string, { signal }: ApiCallOptions = {}): Promise<DeploymentDetail> {
    return this.#api.call(getDeployment, { deployment: id }, { signal });
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
    const json: z.input<typeof RegisterDeployment> = {
      ...where,
      additional_headers: headers,
      metadata,
      force: force ?? false,
      breaking: breaking ?? false,
      dry_run: dryRun ?? false,
      verify: verify ?? false,
    };
    const response = await this.#api.send(registerDeployment, {}, { json, signal });
    return { deployment: responseValue(registerDeployment, response), isNew: response.status === 201 };
  }

  /** Updates in place: the same code at another address, or with other headers. */
  update(
    id: string,
    { address, useHttp11, headers, overwrite, dryRun }: DeploymentChanges,
    { signal }: ApiCallOptions = {},
  ): Promise<DeploymentDetail> {
    const json: z.input<typeof UpdateDeployment> = {
      ...(address === undefined ? {} : isArn(address) ? { arn: address } : { uri: address }),
      ...(useHttp11 === undefined ? {} : { use_http_11: useHttp11 }),
      ...(headers === undefined ? {} : { additional_headers: headers }),
      overwrite: overwrite ?? false,
      dry_run: dryRun ?? false,
    };
    return this.#api.call(updateDeployment, { deployment: id }, { json, signal });
  }

  /**
   * Removes a deployment; without `force` only when no invocation needs it. Resolves with the id of the operation with which the removal can
   * be undone; undefined when it cannot.
   */
  async remove(id: string, force: boolean, { signal }: ApiCallOptions = {}): Promise<string | undefined> {
    const response = await this.#api.send(removeDeployment, { deployment: id }, { query: { force }, signal });
    return response.header(OPERATION_HEADER);
  }

  /** Checks whether suspended and paused invocations could continue on the deployment. */
  check(id: string, bounds: DeployCheckBounds = {}, { signal }: ApiCallOptions = {}): Promise<VerificationView> {
    return this.#api.call(checkDeployment, { deployment: id }, { json: bounds, signal });
  }
}

export class ServicesApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async list({ signal }: ApiCallOptions = {}): Promise<readonly ServiceMetadata[]> {
    return (await this.#api.call(listServices, {}, { signal })).services;
  }

  get(name: string, { signal }: ApiCallOptions = {}): Promise<ServiceMetadata> {
    return this.#api.call(getService, { service: name }, { signal });
  }

  /** OpenAPI document of the service's handlers. */
  openapi(name: string, { signal }: ApiCallOptions = {}): Promise<Record<string, unknown>> {
    return this.#api.call(getServiceDocument, { service: name }, { signal });
  }

  /** Changes options until the next registration. */
  modify(name: string, changes: ServiceChanges, { signal }: ApiCallOptions = {}): Promise<ServiceMetadata> {
    return this.#api.call(modifyService, { service: name }, { json: changes, signal });
  }
}

/** The findings of the deploy check that refused a registration (META0101); undefined when the error is not such a refusal. */
export function findingsOf(cause: unknown): VerificationView | undefined {
  if (!(cause instanceof AdminApiError) || !isRecord(cause.body)) return undefined;
  return tolerant(VerificationShape).safeParse(cause.body["verification"]).data;
}
