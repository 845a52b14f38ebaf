/** Bodies of requests about event subscriptions. */
import { z } from "zod";
import { EVENT_DESCRIPTION_CHARS_MAX, EVENT_FILTER_CHARS_MAX, WEBHOOK_URL_CHARS_MAX } from "../limits.js";
import { EventTypeShape } from "./responses.js";

const Name = z.string().min(1).max(EVENT_FILTER_CHARS_MAX);

export const CreateEventSubscription = z
  .strictObject({
    types: z.array(EventTypeShape).min(1),
    filter: z.strictObject({ service: Name.nullish(), handler: Name.nullish(), scope: Name.nullish() }).nullish(),
    to: z.union([
      z.strictObject({ service: Name, handler: Name }),
      z.strictObject({ url: z.string().min(1).max(WEBHOOK_URL_CHARS_MAX) }),
    ]),
    description: z.string().max(EVENT_DESCRIPTION_CHARS_MAX).nullish(),
  })
  .meta({ id: "CreateEventSubscriptionRequest" });
