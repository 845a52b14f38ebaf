/** Texts that the console keeps for all users of an environment. */
import { type ConsoleDocumentShape, getConsoleDocument, putConsoleDocument } from "@perdure/admin-contract";
import type { z } from "zod";
import type { ApiCallOptions, ApiClient } from "./api-client.js";

export type ConsoleDocumentName = "views" | "attention";
export type ConsoleDocument = z.infer<typeof ConsoleDocumentShape>;

export class ConsoleDocumentsApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  /** Rejects with status 404 when the server keeps none. */
  get(document: ConsoleDocumentName, { signal }: ApiCallOptions = {}): Promise<ConsoleDocument> {
    return this.#api.call(getConsoleDocument, { document }, { signal });
  }

  /** Rejects with status 409 when the document has another version. */
  put(document: ConsoleDocumentName, expectedVersion: number, value: string): Promise<ConsoleDocument> {
    return this.#api.call(putConsoleDocument, { document }, { json: { expected_version: expectedVersion, value } });
  }
}
