/** Commands for the management API of an environment. */
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { registerBundle } from "./bundle.js";
import { registerCalls } from "./call.js";
import { registerCluster } from "./cluster.js";
import { registerCompare } from "./compare.js";
import { registerDeployments } from "./deployments.js";
import { registerEvents } from "./events.js";
import { registerExplain } from "./explain.js";
import { registerFork } from "./fork.js";
import { registerInvocations } from "./invocations.js";
import { registerKafka } from "./kafka.js";
import { registerLogs } from "./logs.js";
import { registerOperations } from "./operations.js";
import { registerPromises } from "./promises.js";
import { registerRules } from "./rules.js";
import { registerSchedules } from "./schedules.js";
import { registerServices } from "./services.js";
import { registerSql } from "./sql.js";
import { registerState } from "./state.js";
import { registerVersion } from "./version.js";

export function register(program: Command, context: Context): void {
  registerVersion(program, context);
  registerCluster(program, context);
  registerDeployments(program, context);
  registerServices(program, context);
  registerCalls(program, context);
  registerInvocations(program, context);
  registerOperations(program, context);
  registerExplain(program, context);
  registerBundle(program, context);
  registerFork(program, context);
  registerCompare(program, context);
  registerLogs(program, context);
  registerState(program, context);
  registerPromises(program, context);
  registerSql(program, context);
  registerKafka(program, context);
  registerSchedules(program, context);
  registerEvents(program, context);
  registerRules(program, context);
}
