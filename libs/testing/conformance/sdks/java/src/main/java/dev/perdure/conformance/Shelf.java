package dev.perdure.conformance;

import dev.restate.sdk.Context;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Service;
import java.util.List;

@Service
public class Shelf {
  public record Contents(List<String> items, String sessionToken) {}

  @Handler
  public Contents list(Context ctx, Planted.Secret request) {
    return new Contents(List.of(), request.password());
  }
}
