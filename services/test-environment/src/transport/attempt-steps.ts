/** Follows the frames of one attempt, and names the points at which a crash makes a difference: before and after a step is stored. */
import { ProtoReader } from "@perdure/base";
import {
  decodeCommand,
  decodeProposeRunCompletion,
  type Frame,
  isCommand,
  isFault,
  type JournalCommand,
  MessageType,
  notificationIdOf,
  proposalCompletionIdOf,
} from "@perdure/service-protocol";
import { stepLabel } from "../journal/step-label.js";

/** during: the step begins to execute; only runs have it. */
export type AckSide = "during" | "before-ack" | "after-ack";

/** A point that an attempt has reached. */
export interface ReachedPoint {
  readonly service: string;
  readonly handler: string;
  readonly key: string;
  readonly invocationId: string;
  /** As `journal` shows it: the name of a run, "sleep 3d", "call Service/handler". */
  readonly step: string;
  readonly isRun: boolean;
  readonly side: AckSide;
  /** Completion id of the run's result; undefined for other steps. */
  readonly completionId: number | undefined;
}

const DEBUG_ID_TAG = (2 << 3) | 2;
const KEY_TAG = (6 << 3) | 2;

export class AttemptSteps {
  readonly #service: string;
  readonly #handler: string;
  #invocationId = "";
  #key = "";
  /** Names of runs by the completion id of their result. */
  readonly #runs = new Map<number, string>();
  /** Runs whose results this attempt has sent. */
  readonly #proposed = new Set<number>();

  /** `path`: `/invoke/Service/handler`. */
  constructor(path: string) {
    const [, , service = "", handler = ""] = path.split("/").map(decodeURIComponent);
    this.#service = service;
    this.#handler = handler;
  }

  /** A frame for the handler; returns the point behind the step that it confirms. */
  sent({ type, body }: Frame): ReachedPoint | undefined {
    if (type === MessageType.Start) this.#readStart(body);
    else if (type === MessageType.Run) this.#rememberRun(decodeCommand(type, body));
    else if (type === MessageType.RunCompletion) {
      const id = notificationIdOf(type, body);
      if (id.kind === "completion") return this.#confirmed(id.id);
    } else if (type === MessageType.ProposeRunCompletionAck) return this.#confirmed(proposalCompletionIdOf(body));
    return undefined;
  }

  /** A frame from the handler; returns the point before the step is stored. */
  received({ type, body }: Frame): ReachedPoint | undefined {
    if (type === MessageType.ProposeRunCompletion) {
      const proposal = decodeProposeRunCompletion(body);
      if (isFault(proposal)) return undefined;
      this.#proposed.add(proposal.resultCompletionId);
      return this.#runPoint(proposal.resultCompletionId, "before-ack");
    }
    if (!isCommand(type)) return undefined;
    const command = decodeCommand(type, body);
    if (isFault(command)) return undefined;
    this.#rememberRun(command);
    if (command.kind === "run") return this.#runPoint(command.resultCompletionId, "during");
    const step = stepLabel(command, undefined);
    if (step === undefined) return undefined;
    return this.#point(step, { isRun: false, side: "before-ack", completionId: undefined });
  }

  #readStart(body: Uint8Array): void {
    const reader = new ProtoReader(body);
    while (reader.hasMore()) {
      const tag = reader.tag();
      if (tag === DEBUG_ID_TAG) this.#invocationId = reader.string();
      else if (tag === KEY_TAG) this.#key = reader.string();
      else reader.skip(tag & 7);
    }
  }

  #rememberRun(command: JournalCommand | { readonly kind: "fault" }): void {
    if (command.kind === "run") this.#runs.set(command.resultCompletionId, command.name === "" ? "run" : command.name);
  }

  /** The result may be confirmed twice, by its acknowledgement and by its completion. */
  #confirmed(completionId: number): ReachedPoint | undefined {
    if (!this.#proposed.delete(completionId)) return undefined;
    return this.#runPoint(completionId, "after-ack");
  }

  #runPoint(completionId: number, side: AckSide): ReachedPoint {
    return this.#point(this.#runs.get(completionId) ?? "run", { isRun: true, side, completionId });
  }

  #point(step: string, rest: Pick<ReachedPoint, "isRun" | "side" | "completionId">): ReachedPoint {
    return {
      service: this.#service,
      handler: this.#handler,
      key: this.#key,
      invocationId: this.#invocationId,
      step,
      ...rest,
    };
  }
}
