import { describeProvisioner, MemoryProvisioner } from "./index.js";

describeProvisioner("in memory", async () => {
  const provisioner = new MemoryProvisioner();
  let port = 1;
  provisioner.onApply = ({ environmentId }) =>
    queueMicrotask(() =>
      provisioner.ready(environmentId, { ingress: `http://127.0.0.1:${port++}`, admin: `http://127.0.0.1:${port++}` }),
    );
  return provisioner;
});
