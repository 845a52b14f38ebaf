package dev.perdure.patterns;

import dev.restate.sdk.Context;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Service;
import java.util.Map;

/** The parts of the fan-out. See ../src/fan-out/services.ts of the folder above for the explanation. */
@Service
public class PageCounter {
  /** Returns the number of words of one page. */
  @Handler
  public int count(Context ctx, String page) {
    return Outside.call(ctx, "count the words", "pages/count", page, Map.of("page", page)).get("words").asInt();
  }
}
