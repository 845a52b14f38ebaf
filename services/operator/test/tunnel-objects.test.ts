import { expect, test } from "@jest/globals";
import { type CloudEnvironment, cloudEnvironmentSpec } from "@perdure/custom-resources";
import type { KubeObject } from "@perdure/kubernetes";
import { loadSettings } from "@perdure/tunnel-client/settings";
import { proxyService, tunnelObjects } from "../src/cloud-environment/desired.js";
import { tunnelNameOf } from "../src/cloud-environment/names.js";
import { addressesOf } from "../src/service-deployment/addresses.js";
import { cell } from "./cell.js";

function aCloud(tunnel: Readonly<Record<string, unknown>> = {}): CloudEnvironment {
  const spec = cloudEnvironmentSpec.parse({
    environmentId: "env_0123456789abcdef",
    region: "eu",
    signingPublicKey: `publickeyv1_${"1".repeat(43)}`,
    authentication: { secretRef: { name: "cloud", key: "api-key" } },
    tunnel,
  });
  const metadata = { name: "shop", uid: "4f9d0c1e-0000-0000-0000-000000000000" };
  return { apiVersion: "perdure.dev/v1alpha1", kind: "CloudEnvironment", metadata, spec };
}

interface Pod {
  readonly affinity: unknown;
  readonly containers: readonly {
    readonly image: string;
    readonly env: readonly { readonly name: string; readonly value?: string }[];
  }[];
}

function podOf(objects: readonly KubeObject[]): Pod {
  const deployment = objects.find(({ kind }) => kind === "Deployment") as KubeObject;
  return (deployment["spec"] as { readonly template: { readonly spec: Pod } }).template.spec;
}

test("a tunnel client parses what the operator configures", () => {
  const [container] = podOf(tunnelObjects(aCloud({ remoteProxy: true }), cell)).containers;
  const environment = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value ?? "tunnel-shop-0"]));
  const { values } = loadSettings({ file: undefined, environment, flags: [] });
  expect(values).toMatchObject({
    nodeName: "tunnel-shop-0",
    tunnel: {
      environmentId: "env_0123456789abcdef",
      name: "shop-4f9d0c",
      signingPublicKeys: [`publickeyv1_${"1".repeat(43)}`],
      credentialFile: "/run/perdure/credential/key",
      srv: "tunnel.eu.example.org",
      allow: ["http://*.svc.cluster.local:9080"],
    },
    remoteProxy: {
      enabled: true,
      ingressUrl: "https://0123456789abcdef.env.eu.example.org:8080",
      adminUrl: "https://0123456789abcdef.env.eu.example.org:9070",
    },
  });
});

test("without ports there is no Service, and the user's image, variables and affinity are used", () => {
  const env = [{ name: "PERDURE_TUNNEL__SERVERS", value: "relay.example.org:9090" }];
  const cloud = aCloud({ image: "mirror/tunnel:1", env, affinity: { nodeAffinity: {} } });
  expect(proxyService(cloud, cell)).toBeUndefined();
  const pod = podOf(tunnelObjects(cloud, cell));
  expect(pod.affinity).toEqual({ nodeAffinity: {} });
  const image = expect.stringMatching(/\/perdure-tunnel-client:/);
  expect(podOf(tunnelObjects(aCloud({}), cell)).containers[0]).toMatchObject({ image });
  expect(pod.containers[0]).toMatchObject({ image: "mirror/tunnel:1", env: expect.arrayContaining(env) });
});

test("addresses of a version: inside, through the cluster's tunnel, through its own", () => {
  const addresses = addressesOf(cell);
  const cloud = aCloud();
  const place = { name: "shop-0123456789", namespace: "team" };
  const proxy = "https://tunnel.eu.example.org:9080/0123456789abcdef";
  expect(addresses.endpoint(place)).toBe("http://shop-0123456789.team.svc.cluster.local:9080");
  expect(addresses.tunnelled(cloud, place)).toBe(
    `${proxy}/${tunnelNameOf(cloud)}/http/shop-0123456789.team.svc.cluster.local/9080`,
  );
  expect(addresses.inProcess(cloud, place)).toBe(`${proxy}/shop-0123456789/http/in-process/9080`);
  expect(addresses.adminOfCloud(cloud)).toBe("https://0123456789abcdef.env.eu.example.org:9070");
  expect(addresses.adminOfEnvironment("env_0123456789abcdef")).toBe("http://runtime.env-0123456789abcdef.svc.cluster.local:9070");
  const service = { namespace: "perdure", name: "server", port: 9070 };
  expect(addresses.adminOfService({ ...service, path: "/" })).toBe("http://server.perdure.svc.cluster.local:9070");
  expect(addresses.adminOfService({ ...service, path: "/admin/" })).toBe("http://server.perdure.svc.cluster.local:9070/admin");
});
