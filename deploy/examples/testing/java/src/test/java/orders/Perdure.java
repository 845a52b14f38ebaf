package orders;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.restate.sdk.endpoint.Endpoint;
import dev.restate.sdk.http.vertx.RestateHttpServer;
import io.vertx.core.http.HttpServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Starts {@code perdure test-server} for a class of tests, and the endpoint beside it. PERDURE names the program. */
final class Perdure implements BeforeAllCallback, AfterAllCallback {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final HttpClient HTTP = HttpClient.newHttpClient();

  private final Object service;
  private Process server;
  private HttpServer endpoint;
  private JsonNode addresses;

  Perdure(Object service) {
    this.service = service;
  }

  @Override
  public void beforeAll(ExtensionContext context) throws Exception {
    String program = Objects.requireNonNullElse(System.getenv("PERDURE"), "perdure");
    server =
        new ProcessBuilder(program, "test-server", "--skip-time", "manual")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    addresses = JSON.readTree(server.inputReader().readLine());
    endpoint = RestateHttpServer.fromEndpoint(Endpoint.bind(service));
    int port = endpoint.listen(0).toCompletionStage().toCompletableFuture().get().actualPort();
    request("POST", admin() + "/deployments", "{\"uri\": \"http://127.0.0.1:" + port + "\"}");
  }

  @Override
  public void afterAll(ExtensionContext context) throws Exception {
    server.getOutputStream().close(); // The server ends with its input.
    server.waitFor();
    endpoint.close();
  }

  String ingress() {
    return addresses.get("ingress_url").asText();
  }

  String admin() {
    return addresses.get("admin_url").asText();
  }

  JsonNode request(String method, String url, String body) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url))
            .header("content-type", "application/json")
            .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
            .build();
    var response = HTTP.send(request, BodyHandlers.ofString());
    if (response.statusCode() >= 400) throw new IOException(url + ": " + response.statusCode() + " " + response.body());
    return JSON.readTree(response.body());
  }

  /** Moves time, and returns when all that became due has run. */
  void advance(int hours) throws Exception {
    request("POST", admin() + "/testing/clock", "{\"hours\": " + hours + "}");
  }

  /** Returns the id of the fault. */
  String crashAt(String step, String when) throws Exception {
    var fault = JSON.createObjectNode().put("kind", "crash").put("step", step).put("when", when);
    return request("POST", admin() + "/testing/faults", fault.toString()).get("id").asText();
  }

  /** How often a fault has happened. */
  int hits(String fault) throws Exception {
    for (JsonNode candidate : request("GET", admin() + "/testing/faults", null).get("faults")) {
      if (candidate.get("id").asText().equals(fault)) return candidate.get("hits").asInt();
    }
    throw new IllegalArgumentException("no fault " + fault);
  }

  /** The labels of the journal. */
  List<String> steps(String invocation) throws Exception {
    List<String> labels = new ArrayList<>();
    for (JsonNode step : request("GET", admin() + "/testing/journals/" + invocation, null).get("steps")) {
      labels.add(step.get("label").asText());
    }
    return labels;
  }
}
