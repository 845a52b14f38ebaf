package dev.perdure.patterns;

import dev.restate.sdk.Context;
import dev.restate.sdk.DurableFuture;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Service;
import java.util.List;

/** Fan-out and fan-in. See ../src/fan-out/services.ts of the folder above for the explanation. */
@Service
public class BookCounter {
  /** Returns the number of words of all pages, which are counted at the same time. */
  @Handler
  public int count(Context ctx, List<String> pages) {
    List<DurableFuture<Integer>> counts =
        pages.stream().<DurableFuture<Integer>>map(page -> PageCounterClient.fromContext(ctx).count(page)).toList();
    return counts.stream().mapToInt(DurableFuture::await).sum();
  }
}
