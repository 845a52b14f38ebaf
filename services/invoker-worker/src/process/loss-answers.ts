/**
 * HTTP API through which an operator of environments accepts that data are lost for good. Any worker serves it, also one that leads
 * nothing because of the loss. A client that names the mark of the missing data, which only logs contain, is authorized; nothing is
 * accepted while the data are present.
 *
 *     POST /accept-data-loss?mark=…    200 `{"kind": "accepted" | "acceptedBefore"}`    409 `{"reason": …}`    503 later perhaps
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Logger, PerdureError } from "@perdure/base";
import type { ProbeEndpoints } from "@perdure/process-kit/http";
import type { LossAcceptance } from "../data-set/accept-loss.js";
import { answer } from "./probe-answer.js";

interface LossAnswerPorts {
  /** Undefined while Redis is not connected, and without PostgreSQL. Rejects as `acceptLoss` does. */
  readonly accept: ((lost: string) => Promise<LossAcceptance>) | undefined;
  readonly logger: Logger;
}

const MARK = /^[0-9A-Za-z]{1,64}$/;

export function lossAnswers({ accept, logger }: LossAnswerPorts): ProbeEndpoints {
  return {
    "/accept-data-loss": (req: IncomingMessage, res: ServerResponse): void => {
      if (req.method !== "POST") return answer(res, 405, { reason: "POST" });
      const mark = new URL(req.url ?? "/", "http://localhost").searchParams.get("mark") ?? "";
      if (!MARK.test(mark)) return answer(res, 409, { reason: `'${mark.slice(0, 64)}' is not a mark of a data set` });
      if (accept === undefined) return answer(res, 503, { reason: "there is no record of a data set" });
      accept(mark).then(
        ({ kind }) => {
          logger.warn({ lost: mark, kind }, "the loss of a data set was accepted on request");
          answer(res, 200, { kind });
        },
        (cause: unknown) => {
          const error = PerdureError.from(cause);
          const isRefused = error.code === "STO0005" || error.code === "OPS0001";
          if (!isRefused) logger.warn({ cause }, "the loss of a data set cannot be accepted now");
          answer(res, isRefused ? 409 : 503, { reason: error.message });
        },
      );
    },
  };
}
