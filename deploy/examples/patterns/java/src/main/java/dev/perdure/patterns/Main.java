package dev.perdure.patterns;

import dev.restate.sdk.endpoint.Endpoint;
import dev.restate.sdk.http.vertx.RestateHttpServer;

/** Serves five of the patterns with the Java SDK, on port 9080 or PORT. */
public final class Main {
  private Main() {}

  public static void main(String[] args) {
    Endpoint endpoint =
        Endpoint.builder()
            .bind(new TripBooking())
            .bind(new ExpenseApproval())
            .bind(new BookCounter())
            .bind(new PageCounter())
            .bind(new OrderEvents())
            .bind(new Agent())
            .build();
    RestateHttpServer.listen(endpoint, Integer.parseInt(System.getenv().getOrDefault("PORT", "9080")));
  }
}
