/** Why: the console is one page served at two places, the management API of an environment and the cloud; this is how both serve it. */
export { type BuiltConsole, builtConsole } from "./built-console.js";
export { type AnyRequest, type AnyResponse, type ConsoleHost, type ConsoleHostOptions, openConsole } from "./console-host.js";
