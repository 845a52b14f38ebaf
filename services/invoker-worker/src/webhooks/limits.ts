/** Bounds of deliveries to webhooks, each with the reason for its value. */

/** Time for one request, from connecting to the last byte: receivers should respond at once and work afterwards. */
export const WEBHOOK_TIMEOUT_MS = 20_000;

/** Bytes of a response's body that are read; it is quoted in the failure, and not needed otherwise. */
export const WEBHOOK_RESPONSE_BYTES_MAX = 256;

/** Pauses between the attempts of one delivery: from a second, doubled, to a quarter of an hour. */
export const WEBHOOK_RETRY_FIRST_MS = 1_000;
export const WEBHOOK_RETRY_FACTOR = 2;
export const WEBHOOK_RETRY_MAX_MS = 900_000;

/** Attempts of one delivery, in some four hours; the delivery has failed then, and can be replayed. */
export const WEBHOOK_ATTEMPTS_MAX = 24;

/** Attempts without a subscription after which it counts as deleted: a minute, which a change of the registry never takes to arrive. */
export const WEBHOOK_LOOKUPS_MAX = 6;
