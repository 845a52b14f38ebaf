/** Typed client of the management API of one runtime, for command line, console and tests. */

import { getHealth, getVersion } from "@perdure/admin-contract";
import { type ApiCallOptions, ApiClient, type ApiClientOptions } from "./api-client.js";
import { ConsoleDocumentsApi } from "./console-documents.js";
import { DeploymentsApi, ServicesApi } from "./deployments.js";
import { EventsApi } from "./events.js";
import { BatchesApi, InvocationsApi } from "./invocations.js";
import { ObjectStateApi } from "./object-state.js";
import { OperationsApi } from "./operations.js";
import { KafkaClustersApi, RulesApi, SchedulesApi, SubscriptionsApi } from "./resources.js";
import { SqlApi } from "./sql.js";
import type { VersionView } from "./views.js";

/** All methods reject with `AdminApiError`. */
export class AdminClient {
  readonly deployments: DeploymentsApi;
  readonly services: ServicesApi;
  readonly invocations: InvocationsApi;
  readonly batches: BatchesApi;
  readonly operations: OperationsApi;
  readonly state: ObjectStateApi;
  readonly sql: SqlApi;
  readonly kafkaClusters: KafkaClustersApi;
  readonly subscriptions: SubscriptionsApi;
  readonly schedules: SchedulesApi;
  readonly rules: RulesApi;
  readonly events: EventsApi;
  readonly consoleDocuments: ConsoleDocumentsApi;
  readonly #api: ApiClient;

  constructor(options: ApiClientOptions) {
    const api = new ApiClient({ ...options, baseUrl: `${options.baseUrl.replace(/\/+$/, "")}/${GENERATION}` });
    this.#api = api;
    this.sql = new SqlApi(api);
    this.deployments = new DeploymentsApi(api);
    this.services = new ServicesApi(api);
    this.invocations = new InvocationsApi(api, this.sql);
    this.batches = new BatchesApi(api);
    this.operations = new OperationsApi(api);
    this.state = new ObjectStateApi(api, this.sql);
    this.kafkaClusters = new KafkaClustersApi(api);
    this.subscriptions = new SubscriptionsApi(api);
    this.schedules = new SchedulesApi(api);
    this.rules = new RulesApi(api);
    this.events = new EventsApi(api);
    this.consoleDocuments = new ConsoleDocumentsApi(api);
  }

  version({ signal }: ApiCallOptions = {}): Promise<VersionView> {
    return this.#api.call(getVersion, {}, { signal });
  }

  /** Rejects when the server is not healthy or the answer is not one of the admin API. */
  async health({ signal }: ApiCallOptions = {}): Promise<void> {
    await this.#api.send(getHealth, {}, { signal });
  }
}

/** Version of the API; in v4 a registration that changes nothing is a success. */
const GENERATION = "v4";
