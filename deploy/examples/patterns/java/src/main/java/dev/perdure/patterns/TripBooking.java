package dev.perdure.patterns;

import dev.restate.sdk.Context;
import dev.restate.sdk.RestateRandom;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Service;
import dev.restate.sdk.common.TerminalException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;

/** Saga: several bookings in several systems, all or none. See ../src/saga/services.ts of the folder above for the explanation. */
@Service
public class TripBooking {
  public record Trip(String traveller, String from, String to) {}

  /** Returns the references of flight, car and hotel, or cancels what was booked before the refusal. */
  @Handler
  public List<String> book(Context ctx, Trip trip) {
    Deque<Runnable> compensations = new ArrayDeque<>();
    List<String> references = new ArrayList<>();
    RestateRandom random = ctx.random(); // Once: each call begins the same sequence again.
    try {
      for (String system : List.of("flights", "cars", "hotels")) {
        String key = random.nextUUID().toString(); // The same value in every attempt: the system recognizes a repeated request.
        compensations.push(() -> Outside.call(ctx, "cancel " + system, system + "/cancel", key, Map.of("key", key)));
        references.add(Outside.call(ctx, "book " + system, system + "/book", key, trip).get("reference").asText());
      }
      return references;
    } catch (TerminalException refusal) {
      compensations.forEach(Runnable::run); // The last one first.
      throw refusal;
    }
  }
}
