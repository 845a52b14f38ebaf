import { EventEmitter } from "node:events";
import { expect, test } from "@jest/globals";
import { createLogging } from "@perdure/telemetry";
import { followLogFilter } from "./log-levels.js";

function aProcess(file: string | undefined) {
  const lines: string[] = [];
  const logging = createLogging({
    filter: "info",
    format: "json",
    colors: false,
    service: "s",
    sink: (line) => lines.push(line),
  });
  const hooks = new EventEmitter();
  const written = { filter: "info" };
  const following = followLogFilter(
    file,
    () => {
      if (written.filter === "") throw new Error("the file is gone");
      return written.filter;
    },
    logging,
    hooks,
  );
  const messages = () => lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  return { logger: logging.logger.child({ component: "invoker" }), hooks, written, following, messages };
}

test("levels of single components follow the config file at SIGHUP, until the process ends", () => {
  const { logger, hooks, written, following, messages } = aProcess("perdure.toml");
  logger.debug({}, "unheard");
  written.filter = "info,invoker=debug";
  hooks.emit("SIGHUP");
  logger.debug({}, "heard");
  expect(messages()).toEqual(["log levels changed to those of the config file", "heard"]);
  following[Symbol.dispose]();
  expect(hooks.listenerCount("SIGHUP")).toBe(0);
});

test.each(["", "invoker=loud"])("a file with '%s' changes nothing", (filter) => {
  const { logger, hooks, written, messages } = aProcess("perdure.toml");
  written.filter = filter;
  hooks.emit("SIGHUP");
  logger.info({}, "still written");
  expect(messages()).toEqual(["the config file cannot be used; log levels are unchanged", "still written"]);
});

test("without a file SIGHUP ends the process, as everywhere", () => {
  expect(aProcess(undefined).hooks.listenerCount("SIGHUP")).toBe(0);
});
