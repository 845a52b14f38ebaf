/** A provisioner in a process of its own, so that a test can kill it: applies one request and reports when it is ready. */
import { Secret, silentLogger, systemClock, systemRandom } from "@perdure/base";
import type { DesiredRuntime } from "@perdure/cloud";
import { openProcessProvisioner, type ProcessProvisionerOptions } from "../src/index.js";

export interface SupervisorTask {
  readonly options: ProcessProvisionerOptions;
  readonly desired: Omit<DesiredRuntime, "signingKeyPem">;
  /** Signing key of the requested runtime, as text, because JSON has no type for secrets. */
  readonly signingKeyPem: string;
}

const { options, desired, signingKeyPem } = JSON.parse(process.argv[2] ?? "") as SupervisorTask;
const provisioner = openProcessProvisioner({ clock: systemClock, random: systemRandom, logger: silentLogger }, options);
provisioner.onChange((_id, state) => {
  if (state?.phase === "ready") console.log(`ready ${process.pid}`);
});
await provisioner.apply({ ...desired, signingKeyPem: new Secret(signingKeyPem) });
