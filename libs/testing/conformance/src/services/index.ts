/** Every service of the feature suites, under names with a suffix so that one server can hold them in several variants. */
import type { ServiceDefinitions } from "../sdk-endpoint.js";
import { callsService } from "./calls.js";
import { combineService } from "./combine.js";
import { echoService } from "./echo.js";
import { failuresService } from "./failures.js";
import { flowServices } from "./flows.js";
import { awakeablesService, signalsService, treeObjects } from "./signals.js";
import { stepsService } from "./steps.js";
import { storeObject } from "./store.js";
import { timersService } from "./timers.js";

export type { CombinedResult, Tree } from "./combine.js";
export { mended } from "./failures.js";
export { awaited, type Blocking } from "./signals.js";

export function featureServices(suffix = ""): ServiceDefinitions {
  const echo = echoService(suffix);
  const store = storeObject(suffix);
  const { flow, quick, failing, brief, caller } = flowServices(suffix);
  const { leaf, root, persistent } = treeObjects(suffix);
  return [
    echo,
    store,
    stepsService(suffix),
    timersService(suffix, echo),
    callsService(suffix, echo, store),
    combineService(suffix, echo),
    awakeablesService(suffix),
    signalsService(suffix),
    leaf,
    root,
    persistent,
    failuresService(suffix, echo),
    flow,
    quick,
    failing,
    brief,
    caller,
  ];
}
