package tutorial;

import dev.restate.sdk.endpoint.Endpoint;
import dev.restate.sdk.http.vertx.RestateHttpServer;

public final class Main {
  private Main() {}

  public static void main(String[] args) {
    int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "9080"));
    RestateHttpServer.listen(Endpoint.bind(new Greeter()).bind(new Order()), port);
  }
}
