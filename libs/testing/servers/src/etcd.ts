/** The state of a control plane is a set of keys in etcd. Restoring a copy of them restores the control plane. */
interface EtcdPair {
  /** Base64, as etcd's gateway has it; so is the value. */
  readonly key: string;
  readonly value: string;
}

/** All keys with their values. */
export type EtcdContents = readonly EtcdPair[];

/** Prefix of all keys of Kubernetes; the next key after the prefix ends the range. */
const ALL = { key: base64("/registry/"), range_end: base64("/registry0") };
/** The API server and the controllers renew their leases here again and again. */
const LIVENESS = /^\/registry\/(?:leases\/kube-system|masterleases)\//;
/** Keys of one transaction: etcd takes 128 operations. */
const TRANSACTION_KEYS_MAX = 128;

/** Sends a request to etcd's HTTP gateway. Rejects with the answer when etcd refuses. */
export async function requestEtcd(port: number, path: string, body: object): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/v3/${path}`, { method: "POST", body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd: ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

export async function readEtcd(port: number): Promise<EtcdContents> {
  const { kvs = [] } = (await requestEtcd(port, "kv/range", ALL)) as { kvs?: EtcdPair[] };
  return kvs.map(({ key, value }) => ({ key, value })).filter(({ key }) => !LIVENESS.test(fromBase64(key)));
}

/** Restores the contents: deletes new keys, and writes changed and deleted keys again. Watchers receive an event for each key. */
export async function restoreEtcd(port: number, contents: EtcdContents): Promise<void> {
  const now = new Map((await readEtcd(port)).map(({ key, value }) => [key, value]));
  const operations: object[] = [];
  for (const { key, value } of contents) {
    if (now.get(key) !== value) operations.push({ request_put: { key, value } });
    now.delete(key);
  }
  for (const key of now.keys()) operations.push({ request_delete_range: { key } });
  for (let at = 0; at < operations.length; at += TRANSACTION_KEYS_MAX) {
    await requestEtcd(port, "kv/txn", { success: operations.slice(at, at + TRANSACTION_KEYS_MAX) });
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function fromBase64(text: string): string {
  return Buffer.from(text, "base64").toString();
}
