/** Serves the built console from memory with negotiated encodings, caching, and a policy that runs only its own scripts. */
export { builtConsole } from "./built-console.js";
export { type ConsoleHost, openConsole } from "./console-host.js";
