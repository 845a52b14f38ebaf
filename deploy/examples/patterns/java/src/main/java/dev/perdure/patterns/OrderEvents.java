package dev.perdure.patterns;

import dev.restate.sdk.ObjectContext;
import dev.restate.sdk.SharedObjectContext;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Shared;
import dev.restate.sdk.annotation.VirtualObject;
import dev.restate.sdk.common.StateKey;
import java.util.Map;
import java.util.Optional;

/** Webhook receiver: one object per order. See ../src/webhook/services.ts of the folder above for the explanation. */
@VirtualObject
public class OrderEvents {
  private static final StateKey<Event> LATEST = StateKey.of("latest", Event.class);

  public record Event(int sequence, String status) {}

  /** The idempotency key of the request is the id of the event, so a repeated delivery starts nothing. */
  @Handler
  public void receive(ObjectContext ctx, Event event) {
    Optional<Event> latest = ctx.get(LATEST);
    if (latest.isPresent() && latest.get().sequence() >= event.sequence()) return; // An older event that arrives late.
    Map<String, Object> notice = Map.of("order", ctx.key(), "sequence", event.sequence(), "status", event.status());
    Outside.call(ctx, "notify the customer", "customers/notify", ctx.key() + "/" + event.sequence(), notice);
    ctx.set(LATEST, event);
  }

  @Shared
  public String status(SharedObjectContext ctx) {
    return ctx.get(LATEST).map(Event::status).orElse("unknown");
  }
}
