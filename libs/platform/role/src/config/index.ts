export { type ConfigInputs, type LoadedConfig, loadConfig } from "./load.js";
export { printConfig } from "./print.js";
export {
  boolean,
  byteSize,
  choice,
  custom,
  decimal,
  duration,
  group,
  inlineTable,
  integer,
  optionalByteSize,
  optionalDuration,
  optionalInteger,
  optionalSecret,
  optionalText,
  port,
  text,
  textMap,
  tomlValue,
  traceUrl,
} from "./setting.js";
export type { Alias } from "./sources.js";
export type { GroupSchema } from "./tree.js";
