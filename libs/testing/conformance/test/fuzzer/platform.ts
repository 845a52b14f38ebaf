/** Why: every listener of every program, on this machine. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DevCluster } from "@perdure/dev-cluster";
import { CloudTargets } from "./cloud-targets.js";
import { clusterTargets, StandaloneTargets } from "./cluster-targets.js";
import type { Target } from "./subject.js";

export class FuzzPlatform implements AsyncDisposable {
  readonly targets: readonly Target[];
  readonly #close: AsyncDisposableStack;

  private constructor(targets: readonly Target[], close: AsyncDisposableStack) {
    this.targets = targets;
    this.#close = close;
  }

  /** Resolves when all of it serves. */
  static async start(): Promise<FuzzPlatform> {
    await using close = new AsyncDisposableStack();
    const directory = mkdtempSync(join(tmpdir(), "perdure-fuzz-"));
    close.defer(() => rmSync(directory, { recursive: true, force: true }));
    const [cluster, standalone] = await Promise.all([
      DevCluster.start({ workers: 1, gateways: 1 }).then((one) => close.use(one)),
      StandaloneTargets.start().then((one) => close.use(one)),
    ]);
    const cloud = close.use(await CloudTargets.start(cluster.postgres.url, directory));
    const targets = [...(await clusterTargets(cluster)), ...cloud.targets, ...standalone.targets];
    return new FuzzPlatform(targets, close.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close.disposeAsync();
  }
}
