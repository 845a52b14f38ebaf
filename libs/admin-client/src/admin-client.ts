/** Why: everything one runtime's management port offers, typed, for command line, console and tests. */
import { Deployments, Services } from "./deployments.js";
import { type CallOptions, Door, type DoorOptions } from "./door.js";
import { Batches, Invocations } from "./invocations.js";
import { ADMIN_REQUEST_MS } from "./limits.js";
import { ObjectState } from "./object-state.js";
import { KafkaClusters, Rules, Schedules, Subscriptions } from "./resources.js";
import { type VersionView, versionShape } from "./shapes.js";
import { Sql } from "./sql.js";

/** All methods reject with `AdminApiError`. */
export class AdminClient {
  readonly deployments: Deployments;
  readonly services: Services;
  readonly invocations: Invocations;
  readonly batches: Batches;
  readonly state: ObjectState;
  readonly sql: Sql;
  readonly kafkaClusters: KafkaClusters;
  readonly subscriptions: Subscriptions;
  readonly schedules: Schedules;
  readonly rules: Rules;
  readonly #door: Door;

  constructor(options: DoorOptions) {
    const door = new Door({ ...options, baseUrl: `${options.baseUrl.replace(/\/+$/, "")}/${GENERATION}` });
    this.#door = door;
    this.sql = new Sql(door);
    this.deployments = new Deployments(door);
    this.services = new Services(door);
    this.invocations = new Invocations(door, this.sql);
    this.batches = new Batches(door);
    this.state = new ObjectState(door, this.sql);
    this.kafkaClusters = new KafkaClusters(door);
    this.subscriptions = new Subscriptions(door);
    this.schedules = new Schedules(door);
    this.rules = new Rules(door);
  }

  version({ signal }: CallOptions = {}): Promise<VersionView> {
    return this.#door.ask(versionShape, "GET", "/version", { signal, withinMs: ADMIN_REQUEST_MS });
  }

  /** Rejects when it is not well, or somebody else answers. */
  async health({ signal }: CallOptions = {}): Promise<void> {
    await this.#door.tell("GET", "/health", { signal, withinMs: ADMIN_REQUEST_MS });
  }
}

/** Of the interface: in it a registration that changes nothing is a success. */
const GENERATION = "v4";
