/** Event subscriptions, and their deliveries as SQL has them. */
import {
  createEventSubscription,
  getEventSubscription,
  listEventSubscriptions,
  OPERATION_HEADER,
  removeEventSubscription,
  replayEventDelivery,
  revokeOldEventSecret,
  rotateEventSecret,
} from "@perdure/admin-contract";
import type { ApiCallOptions, ApiClient } from "./api-client.js";
import type { EventSubscriptionCreation, EventSubscriptionView, EventSubscriptionWithSecretView } from "./views.js";

export class EventsApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async list({ signal }: ApiCallOptions = {}): Promise<readonly EventSubscriptionView[]> {
    return (await this.#api.call(listEventSubscriptions, {}, { signal })).subscriptions;
  }

  get(id: string, { signal }: ApiCallOptions = {}): Promise<EventSubscriptionView> {
    return this.#api.call(getEventSubscription, { event_subscription: id }, { signal });
  }

  create(fields: EventSubscriptionCreation, { signal }: ApiCallOptions = {}): Promise<EventSubscriptionWithSecretView> {
    return this.#api.call(createEventSubscription, {}, { json: fields, signal });
  }

  /** Resolves with the id of the operation with which the removal can be undone; undefined when it cannot. */
  async remove(id: string, { signal }: ApiCallOptions = {}): Promise<string | undefined> {
    return (await this.#api.send(removeEventSubscription, { event_subscription: id }, { signal })).header(OPERATION_HEADER);
  }

  rotateSecret(id: string, { signal }: ApiCallOptions = {}): Promise<EventSubscriptionWithSecretView> {
    return this.#api.call(rotateEventSecret, { event_subscription: id }, { signal });
  }

  /** Ends the validity of the secret before the present one. */
  revokeOldSecret(id: string, { signal }: ApiCallOptions = {}): Promise<EventSubscriptionView> {
    return this.#api.call(revokeOldEventSecret, { event_subscription: id }, { signal });
  }

  /** Delivers an event again; resolves with the invocation that does. */
  async replay(delivery: string, { signal }: ApiCallOptions = {}): Promise<string> {
    return (await this.#api.call(replayEventDelivery, { invocation_id: delivery }, { signal })).invocation_id;
  }
}
