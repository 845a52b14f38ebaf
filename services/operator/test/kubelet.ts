/** Plays the kubelet in a control plane without nodes: each pod becomes ready as soon as it is created, and a pod in deletion ends. */
import { type KubeObject, type KubernetesClient, Reflector, type ReflectorPorts, resources } from "@perdure/kubernetes";

export interface Kubelet extends AsyncDisposable {
  /** Pods that start from now on get this address; none when undefined. May be called more than once for a pod. */
  placePods(addressOf: (pod: KubeObject) => Promise<string | undefined>): void;
  /** Pods for which this is true crash again and again, and never become ready. */
  breakPods(isBroken: (pod: KubeObject) => boolean): void;
  /** Pods for which this is true have not started: nothing is reported about them. */
  holdStarts(isHeld: (pod: KubeObject) => boolean): void;
  /** Holds or releases the end of pods that are to end. */
  holdEnds(isHeld: boolean): void;
  pods(namespace: string): readonly KubeObject[];
}

export async function playKubelet(client: KubernetesClient, ports: Omit<ReflectorPorts, "client">): Promise<Kubelet> {
  const stop = new AbortController();
  const pods = new Reflector<KubeObject>({ resource: resources.pods }, { ...ports, client });
  let isBroken: (pod: KubeObject) => boolean = () => false;
  let addressOf: (pod: KubeObject) => Promise<string | undefined> = async () => undefined;
  let isHeldBack: (pod: KubeObject) => boolean = () => false;
  let areEndsHeld = false;
  const under = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const sync = (pod: KubeObject): void => {
    const acting = act(pod)
      .catch((cause: unknown) => {
        const status = (cause as { readonly status?: number }).status;
        // Replaced by one of the same name meanwhile: its uid is another.
        const isReplaced = status === 404 || status === 409 || (status === 422 && String(cause).includes("metadata.uid"));
        if (!stop.signal.aborted && !isReplaced) failures.push(cause);
      })
      .finally(() => under.delete(acting));
    under.add(acting);
  };
  async function act(pod: KubeObject): Promise<void> {
    const { name, namespace, uid, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined) {
      if (!areEndsHeld) await removePod(client, pod);
      return;
    }
    if (isReady(pod) || isHeldBack(pod)) return;
    const isWell = !isBroken(pod);
    const { containers } = pod["spec"] as { readonly containers: readonly { readonly name: string; readonly image: string }[] };
    const state = isWell
      ? { running: { startedAt: "2026-01-01T00:00:00Z" } }
      : { waiting: { reason: "CrashLoopBackOff", message: "back-off restarting failed container" } };
    const containerStatuses = containers.map(({ name: container, image }) => {
      return { name: container, image, imageID: "", ready: isWell, restartCount: 0, started: isWell, state };
    });
    const conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
      type,
      status: isWell || !type.endsWith("Ready") ? "True" : "False",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    }));
    const podIP = await addressOf(pod);
    const address = podIP === undefined ? {} : { podIP, podIPs: [{ ip: podIP }] };
    const status = { phase: "Running", conditions, containerStatuses, ...address };
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) };
    await client.apply(
      { apiVersion: "v1", kind: "Pod", metadata, status },
      { manager: "kubelet", force: true, subresource: "status" },
    );
  }
  pods.onChange((pod, change) => {
    if (change !== "deleted") sync(pod);
  });
  const running = pods.run(stop.signal);
  await pods.synced;
  return {
    placePods(place) {
      addressOf = place;
    },
    breakPods(broken) {
      isBroken = broken;
      for (const pod of pods.values()) sync(pod);
    },
    holdStarts(isHeld) {
      isHeldBack = isHeld;
      for (const pod of pods.values()) sync(pod);
    },
    holdEnds(isHeld) {
      areEndsHeld = isHeld;
      for (const pod of pods.values()) sync(pod);
    },
    pods: (namespace) => [...pods.values()].filter(({ metadata }) => metadata.namespace === namespace),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await Promise.all(under);
      if (failures.length > 0) throw failures[0];
    },
  };
}

function isReady(pod: KubeObject): boolean {
  const { conditions = [] } = (pod["status"] ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

/** Ends the pod at once, as a kubelet does after its processes have ended. */
async function removePod(client: KubernetesClient, { metadata }: KubeObject): Promise<void> {
  await client.delete(resources.pods, metadata.name, metadata.namespace, { gracePeriodSeconds: 0 });
}
