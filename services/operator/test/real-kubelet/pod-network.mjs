/**
 * Simulates the network of a pod, which tests cannot create. In a process with this module (`--import`), a server that listens on all
 * addresses listens on the pod's address, `localhost` is that address, and names of the cluster resolve to the current addresses of
 * services and pods. Configured by POD_ADDRESS, CLUSTER_DNS and CLUSTER_NAMES_FILE, which programs do not read.
 */
import dns from "node:dns";
import { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";

const { POD_ADDRESS: address, CLUSTER_DNS: suffix, CLUSTER_NAMES_FILE: namesFile } = process.env;

/** Undefined: not of the cluster. */
function addressesOf(host) {
  const name = host.replace(/\.$/, "").toLowerCase();
  if (name === "localhost") return [address];
  if (!name.endsWith(`.svc.${suffix}`)) return undefined;
  return JSON.parse(readFileSync(namesFile, "utf8"))[name] ?? [];
}

function notFound(hostname) {
  const error = new Error(`getaddrinfo ENOTFOUND ${hostname}`);
  return Object.assign(error, { errno: -3008, code: "ENOTFOUND", syscall: "getaddrinfo", hostname });
}

const { lookup } = dns;
dns.lookup = (hostname, options, callback) => {
  const done = typeof options === "function" ? options : callback;
  const addresses = addressesOf(String(hostname));
  if (addresses === undefined) return lookup(hostname, options, callback);
  if (addresses.length === 0) return process.nextTick(done, notFound(hostname));
  const all = typeof options === "object" && options !== null && options.all === true;
  if (all)
    return process.nextTick(
      done,
      null,
      addresses.map((one) => ({ address: one, family: 4 })),
    );
  return process.nextTick(done, null, addresses[0], 4);
};

const { lookup: lookupLater } = dns.promises;
dns.promises.lookup = async (hostname, options) => {
  const addresses = addressesOf(String(hostname));
  if (addresses === undefined) return lookupLater(hostname, options);
  if (addresses.length === 0) throw notFound(hostname);
  if (options?.all === true) return addresses.map((one) => ({ address: one, family: 4 }));
  return { address: addresses[0], family: 4 };
};

const EVERYWHERE = new Set(["::", "0.0.0.0", "localhost", "", undefined, null]);
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function listenInPod(...args) {
  const [first, second] = args;
  if (typeof first === "object" && first !== null && "port" in first) {
    const host = EVERYWHERE.has(first.host) ? address : first.host;
    return listen.call(this, { ...first, host, ipv6Only: false }, ...args.slice(1));
  }
  if (typeof first !== "number") return listen.apply(this, args);
  if (typeof second === "string") return listen.call(this, first, EVERYWHERE.has(second) ? address : second, ...args.slice(2));
  return listen.call(this, first, address, ...args.slice(1));
};

syncBuiltinESMExports();
