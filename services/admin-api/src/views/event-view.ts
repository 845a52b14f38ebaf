/**
 * Event subscriptions as JSON. Secrets are part of a response only where the route adds them; the address of a webhook, which may be a
 * credential itself, never is.
 */
import type { EventSubscriptionShape } from "@perdure/admin-contract";
import { formatTimestampNanos, isRedactedUrl, redactUrl } from "@perdure/base";
import type { EventSubscriptionRecord } from "@perdure/metadata";
import type { ViewOf } from "./response.js";

export function eventSubscriptionView(record: EventSubscriptionRecord): ViewOf<typeof EventSubscriptionShape> {
  const { id, types, filter, target, webhook, description, createdAtMs } = record;
  return {
    id,
    types: [...types],
    filter: { service: filter.service, handler: filter.handler, scope: filter.scope },
    to: webhook === undefined ? { service: target.service, handler: target.handler } : shownWebhook(webhook.url),
    secret_count: webhook?.secrets.length,
    description,
    created_at: formatTimestampNanos(createdAtMs),
  };
}

function shownWebhook(address: string) {
  const url = redactUrl(address);
  return { url, redacted: isRedactedUrl(url) };
}
