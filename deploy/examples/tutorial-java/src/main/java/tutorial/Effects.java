package tutorial;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Stands for the outside world: each effect is a line in a file, so that you can count how often it happened. */
final class Effects {
  private Effects() {}

  static void effect(String line) {
    Path file = Path.of(System.getenv().getOrDefault("EFFECTS_FILE", "effects.log"));
    try {
      Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException cause) {
      throw new UncheckedIOException(cause);
    }
  }
}
