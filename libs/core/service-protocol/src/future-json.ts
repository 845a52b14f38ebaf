/** Awaited futures as introspection shows them (`suspended_waiting_future_json`): an externally tagged tree. */
import type { Combinator, Future } from "./future.js";
import type { NotificationId } from "./values.js";

type FutureLeafJson = { CompletionId: number } | { SignalIndex: number } | { SignalName: string };
type FutureJson = { Single: FutureLeafJson } | { [Node in CombinatorJson]?: FutureJson[] };

type CombinatorJson = Capitalize<Combinator>;

const nodeNames: Readonly<Record<Combinator, CombinatorJson>> = {
  unknown: "Unknown",
  firstCompleted: "FirstCompleted",
  allCompleted: "AllCompleted",
  firstSucceededOrAllFailed: "FirstSucceededOrAllFailed",
  allSucceededOrFirstFailed: "AllSucceededOrFirstFailed",
};

/** `{"Unknown":[{"Single":{"CompletionId":1}},{"Single":{"SignalIndex":1}}]}`: completions, signals, names, then nested nodes. */
export function futureToJson(future: Future): FutureJson {
  const children: FutureJson[] = [];
  for (const id of future.completions) children.push({ Single: { CompletionId: id } });
  for (const index of future.signalIndexes) children.push({ Single: { SignalIndex: index } });
  for (const name of future.signalNames) children.push({ Single: { SignalName: name } });
  for (const child of future.nested) children.push(futureToJson(child));
  return { [nodeNames[future.combinator]]: children };
}

/** A notification's id in the same style, as `entry_lite_json` shows it. */
export function notificationIdToJson(id: NotificationId): FutureLeafJson {
  if (id.kind === "completion") return { CompletionId: id.id };
  return id.kind === "signalIndex" ? { SignalIndex: id.index } : { SignalName: id.name };
}
