/**
 * Changes log levels without a restart, which would end the situation under investigation. A process with a config file reads its
 * `log-filter` again when it gets SIGHUP; other changes of the file take effect at the next start.
 */
import type { Logging } from "@perdure/telemetry";

/** The part of a process that listens for signals. */
interface SignalHooks {
  on(name: "SIGHUP", listener: () => void): unknown;
  off(name: "SIGHUP", listener: () => void): unknown;
}

/** `read`: the filter as it is written now; throws when it cannot be read, and then the levels stay. Without a file SIGHUP keeps its meaning: the terminal is gone. */
export function followLogFilter(
  file: string | undefined,
  read: () => string,
  { logger, setFilter }: Logging,
  hooks: SignalHooks,
): Disposable {
  if (file === undefined) return { [Symbol.dispose]() {} };
  const again = (): void => {
    try {
      const filter = read();
      setFilter(filter);
      logger.info({ filter }, "log levels changed to those of the config file");
    } catch (cause) {
      logger.warn({ cause }, "the config file cannot be used; log levels are unchanged");
    }
  };
  hooks.on("SIGHUP", again);
  return { [Symbol.dispose]: () => void hooks.off("SIGHUP", again) };
}
