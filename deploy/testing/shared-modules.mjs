/**
 * Jest's `testRunner`: runs a suite as Jest does, but Node.js imports it and its modules, so suites of one worker share modules of the
 * product that one of them has loaded. Jest would compile and evaluate every module once more for each suite, in a context of its own,
 * which took most of the processor time of a small suite. After a suite, environment variables and the working directory are put back.
 */
import { existsSync } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import circus from "jest-circus/runner";
import { LIMIT_OF_SUITE, setGlobals } from "./shared-globals.mjs";

const require = createRequire(import.meta.url);
const { default: runSuiteOfJest } = circus;

/** Under these symbols jest-circus keeps the tests of a suite and the handlers of its events. */
const HANDLERS = Symbol.for("EVENT_HANDLERS");
const STATE = "JEST_STATE_SYMBOL";

/** Number of suites that ran in this process. */
let suiteCount = 0;

const ROOT = new URL("../../", import.meta.url).href;
/** Modules of tests keep what happens in a suite, such as the steps that a handler ran, so each suite evaluates its own. */
const OF_TESTS = /\/test\/.*\.ts$|^libs\/testing\/conformance\/src\/.*\.ts$|\.test\.ts$/;

/** Sources name each other as the compiled files will be called; suites import the functions of Jest. */
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === "@jest/globals") return { url: new URL("shared-globals.mjs", import.meta.url).href, shortCircuit: true };
    const resolved = next(sourceOf(specifier, context.parentURL), context);
    const isOfTests = resolved.url.startsWith(ROOT) && OF_TESTS.test(resolved.url.slice(ROOT.length));
    return isOfTests ? { ...resolved, url: `${resolved.url}?suite=${suiteCount}` } : resolved;
  },
});

function sourceOf(specifier, parent) {
  if (!specifier.startsWith(".") || !specifier.endsWith(".js")) return specifier;
  const source = specifier.replace(/\.js$/, ".ts");
  return existsSync(new URL(source, parent)) ? source : specifier;
}

/** A new copy of jest-circus: the earlier one has the tests of the suite before. */
function requireAnew(path) {
  delete require.cache[path];
  delete globalThis[HANDLERS];
  for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
    if (symbol.description === STATE) delete globalThis[symbol];
  }
  return require(path);
}

/** The methods of Jest's module registry that jest-circus calls, with modules of Node.js. */
const sharedModules = (environment) => ({
  requireInternalModule: requireAnew,
  requireModule: require,
  setGlobalsForRuntime: (globals) => setGlobals(globals, environment),
  enterTestCode() {},
  leaveTestCode() {},
  unstable_shouldLoadAsEsm: () => true,
  unstable_importModule: (path) => import(pathToFileURL(path).href),
});

export default async function runSuite(globalConfig, config, environment, _modulesOfJest, path, ...rest) {
  const variables = { ...process.env };
  const folder = process.cwd();
  const { console } = globalThis;
  globalThis.console = environment.global.console;
  delete globalThis[LIMIT_OF_SUITE];
  suiteCount++;
  try {
    return await runSuiteOfJest(globalConfig, config, environment, sharedModules(environment), path, ...rest);
  } finally {
    globalThis.console = console;
    process.chdir(folder);
    for (const name of Object.keys(process.env)) if (!(name in variables)) delete process.env[name];
    Object.assign(process.env, variables);
  }
}
