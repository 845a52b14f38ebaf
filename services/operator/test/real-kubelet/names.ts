/**
 * Resolves names of services and pods to addresses, from the EndpointSlices of the real controllers. An API server accepts no loopback
 * address for a pod, so pods report one of 10.244.0.0/16, which stands for the address of 127.0.0.0/8 with the same end. ClusterIPs are
 * skipped: a service's name resolves to its pods directly, whose ports are the same.
 */
import { renameSync, writeFileSync } from "node:fs";
import type { MetadataOnly, Resource } from "@perdure/kubernetes";
import { NAMES_DELAY_MS } from "./limits.js";

export const ENDPOINT_SLICES: Resource = {
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  isNamespaced: true,
};

export interface EndpointSlice extends MetadataOnly {
  readonly endpoints?: readonly {
    readonly addresses: readonly string[];
    readonly hostname?: string;
    readonly conditions?: { readonly ready?: boolean };
  }[];
}

/** Two numbers: the end of a pod's address. */
export type PodNumber = readonly [number, number];

export const clusterAddress = ([a, b]: PodNumber): string => `10.244.${a}.${b}`;

export class Names implements Disposable {
  readonly file: string;
  readonly #network: number;
  readonly #clusterDns: string;
  readonly #slices: { values(): Iterable<EndpointSlice> };
  #timer: NodeJS.Timeout | undefined;
  #names: Readonly<Record<string, readonly string[]>> = {};

  /** `network`: second number of the addresses of 127.0.0.0/8 that are ours. */
  constructor(file: string, network: number, clusterDns: string, slices: { values(): Iterable<EndpointSlice> }) {
    this.file = file;
    this.#network = network;
    this.#clusterDns = clusterDns;
    this.#slices = slices;
    this.write();
  }

  carrying(address: string): string {
    return address.replace(/^10\.244\./, `127.${this.#network}.`);
  }

  addressesOf(name: string): readonly string[] {
    return this.#names[name] ?? [];
  }

  writeSoon(): void {
    this.#timer ??= setTimeout(() => this.write(), NAMES_DELAY_MS);
  }

  write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const names: Record<string, string[]> = {};
    const add = (name: string, addresses: readonly string[]): void => {
      names[name] = [...(names[name] ?? []), ...addresses.map((one) => this.carrying(one))];
    };
    for (const { metadata, endpoints } of this.#slices.values()) {
      const service = metadata.labels?.["kubernetes.io/service-name"];
      const suffix = `${service}.${metadata.namespace}.svc.${this.#clusterDns}`;
      for (const { addresses, hostname, conditions } of endpoints ?? []) {
        if (conditions?.ready === false) continue;
        add(suffix, addresses);
        if (hostname !== undefined) add(`${hostname}.${suffix}`, addresses);
      }
    }
    this.#names = names;
    writeFileSync(`${this.file}.next`, JSON.stringify(names));
    renameSync(`${this.file}.next`, this.file); // Renamed, so that readers get a complete file.
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
