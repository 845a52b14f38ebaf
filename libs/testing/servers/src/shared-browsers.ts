/**
 * The browsers that the suites of one run share, their number is the argument: started by `deploy/testing/run.mjs`, prints their addresses
 * in one line of JSON (see `browser.ts`), and closes them when its standard input ends, which it does however the runner ends.
 */
import { startSharedBrowser } from "./browser.js";

// Ctrl-C reaches the whole group of processes; the runner decides when the browsers close.
process.on("SIGINT", () => {});
const browsers = await Promise.all(Array.from({ length: Number(process.argv[2]) }, startSharedBrowser));
console.log(JSON.stringify(browsers.map((browser) => browser.wsEndpoint())));
process.stdin.resume().once("end", async () => {
  await Promise.all(browsers.map((browser) => browser.close()));
  process.exit();
});
