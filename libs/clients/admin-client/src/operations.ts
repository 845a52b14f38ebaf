/** Changes that can be undone for a while. */
import { getOperation, listOperations, undoOperation } from "@perdure/admin-contract";
import type { ApiCallOptions, ApiClient } from "./api-client.js";
import type { OperationView } from "./views.js";

export class OperationsApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  /** The newest first. */
  async list({ signal }: ApiCallOptions = {}): Promise<readonly OperationView[]> {
    return (await this.#api.call(listOperations, {}, { signal })).operations;
  }

  get(id: string, { signal }: ApiCallOptions = {}): Promise<OperationView> {
    return this.#api.call(getOperation, { operation_id: id }, { signal });
  }

  /** `state` is `undoing` while a batch undoes it. A repetition changes nothing. */
  undo(id: string, { signal }: ApiCallOptions = {}): Promise<OperationView> {
    return this.#api.call(undoOperation, { operation_id: id }, { signal, isRepeatable: true });
  }
}
