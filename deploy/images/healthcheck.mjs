/**
 * Checks whether the program in this container is live, for engines that run a command in it; orchestrators request `/livez` themselves.
 *
 * node healthcheck.mjs VARIABLE PORT     the variable that may set another port
 */
const [variable = "", port = ""] = process.argv.slice(2);
const response = await fetch(`http://127.0.0.1:${process.env[variable] ?? port}/livez`, { signal: AbortSignal.timeout(4_000) });
process.exit(response.ok ? 0 : 1);
