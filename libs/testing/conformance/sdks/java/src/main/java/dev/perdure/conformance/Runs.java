package dev.perdure.conformance;

import java.util.concurrent.ConcurrentHashMap;

/** How often a piece of user code ran, by a name that the scenario chooses: what a journal must not repeat. */
final class Runs {
  private static final ConcurrentHashMap<String, Integer> BY_NAME = new ConcurrentHashMap<>();

  private Runs() {}

  static int ran(String name) {
    return BY_NAME.merge(name, 1, Integer::sum);
  }
}
