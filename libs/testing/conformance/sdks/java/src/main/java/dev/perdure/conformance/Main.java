package dev.perdure.conformance;

import dev.restate.sdk.auth.signing.RestateRequestIdentityVerifier;
import dev.restate.sdk.endpoint.Endpoint;
import dev.restate.sdk.http.vertx.HttpEndpointRequestHandler;
import dev.restate.sdk.http.vertx.RestateHttpServer;

/**
 * The services of the scenarios (see README.md two folders up) with the Java SDK. Environment: PORT; MODE, "bidi" or
 * "request-response"; IDENTITY_KEY when requests must be signed. This SDK has no named signals, so there is no service Flag.
 */
public final class Main {
  private Main() {}

  public static void main(String[] args) {
    Endpoint.Builder endpoint =
        Endpoint.builder()
            .bind(new Greeter())
            .bind(new Steps())
            .bind(new Counter())
            .bind(new Signup())
            .bind(new Caller())
            .bind(new Mailbox())
            .bind(new Failing())
            .bind(new Napper())
            .bind(new Planted())
            .bind(new Shelf());
    String identityKey = System.getenv("IDENTITY_KEY");
    if (identityKey != null) endpoint.withRequestIdentityVerifier(RestateRequestIdentityVerifier.fromKey(identityKey));
    boolean isRequestResponse = "request-response".equals(System.getenv("MODE"));
    RestateHttpServer.listen(
        HttpEndpointRequestHandler.fromEndpoint(endpoint.build(), isRequestResponse),
        Integer.parseInt(System.getenv("PORT")));
  }
}
