/** Serves the console, which is one page, at two places: the management API of an environment and the cloud. */
export { type BuiltConsole, builtConsole } from "./built-console.js";
export { type AnyRequest, type AnyResponse, type ConsoleHost, type ConsoleHostOptions, openConsole } from "./console-host.js";
