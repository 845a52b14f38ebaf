/** Serves the built console from memory with negotiated encodings, caching, and a policy that runs only its own scripts. */
export { type BuiltConsole, builtConsole } from "./built-console.js";
export { type AnyRequest, type AnyResponse, type ConsoleHost, type ConsoleHostOptions, openConsole } from "./console-host.js";
