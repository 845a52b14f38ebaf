package dev.perdure.patterns;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.restate.sdk.Context;
import dev.restate.sdk.common.TerminalException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Requests from handlers to systems outside of Perdure: in your project, the client of the real system. */
final class Outside {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final int CLIENT_ERROR = 400;
  private static final int SERVER_ERROR = 500;

  private Outside() {}

  /**
   * Sends one request, {@code action} for example {@code bank/charge}, as a step with a name. The system performs the action once per key: a
   * step may run again when a crash prevents its result from being stored, so every request that changes something needs a key.
   *
   * <p>Throws {@link TerminalException} when the system refuses (4xx), so that the handler fails; any other exception is retried by Perdure.
   */
  static JsonNode call(Context ctx, String step, String action, String key, Object body) {
    return ctx.run(step, JsonNode.class, () -> send(action, key, body));
  }

  private static JsonNode send(String action, String key, Object body) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(System.getenv("OUTSIDE_URL") + "/" + action))
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .POST(HttpRequest.BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)))
            .build();
    HttpResponse<String> response = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    int status = response.statusCode();
    if (status >= CLIENT_ERROR && status < SERVER_ERROR) throw new TerminalException(status, response.body());
    if (status != 200) throw new IOException(action + " responded " + status + ": " + response.body());
    return JSON.readTree(response.body());
  }
}
