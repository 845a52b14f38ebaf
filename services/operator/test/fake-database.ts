/** Records what the operator requests from a database, and fails on demand, so that suites about Kubernetes need no PostgreSQL. */
import { PerdureError, silentLogger, systemRandom } from "@perdure/base";
import type { EnvironmentDatabaseOptions, PrepareOptions, PrepareOutcome } from "@perdure/postgres";
import { VirtualClock } from "@perdure/testkit";
import { type DatabaseDriver, EnvironmentDatabases } from "../src/environment/databases.js";

export class FakeDatabase implements DatabaseDriver {
  /** Passwords of the roles, by the id of the environment. */
  readonly passwords = new Map<string, string>();
  /** Ids of environments that have rows in the platform's tables. */
  readonly shared = new Set<string>();
  /** Ids in the order of the requests. */
  readonly requestedIds: string[] = [];
  failure: PerdureError | undefined;

  async prepare({ environmentId, password, isRunning }: PrepareOptions): Promise<PrepareOutcome> {
    this.requestedIds.push(environmentId);
    if (this.failure !== undefined) throw this.failure;
    if (isRunning && this.shared.has(environmentId)) return "inUse";
    this.shared.delete(environmentId);
    this.passwords.set(environmentId, password.reveal());
    return "prepared";
  }

  async remove({ environmentId }: EnvironmentDatabaseOptions): Promise<void> {
    this.requestedIds.push(environmentId);
    if (this.failure !== undefined) throw this.failure;
    this.passwords.delete(environmentId);
    this.shared.delete(environmentId);
  }

  databases(clock = new VirtualClock()): EnvironmentDatabases {
    return new EnvironmentDatabases({ clock, random: systemRandom, logger: silentLogger, driver: this });
  }
}

export const unavailable = new PerdureError("STO0001", "the database failed: connect ECONNREFUSED");
