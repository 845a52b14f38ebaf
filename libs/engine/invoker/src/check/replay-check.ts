/**
 * Checks whether a candidate endpoint could continue a stored journal. The endpoint replays the journal, performs nothing, and the result
 * is how far it follows. The journal first ends in a stop that keeps the handler from starting a step (see `checked-journal.ts`). When
 * the result is ambiguous, the journal is replayed again without the stop: to find whether the handler waits at the end of its journal,
 * where it may, and whether it returns what it returned before. Neither starts a step of a deterministic handler.
 */
import { type Logger, PerdureError } from "@perdure/base";
import type { DeploymentView } from "@perdure/control";
import { isSupportedVersion } from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";
import { type CheckedJournal, checkedJournal } from "./checked-journal.js";
import { evaluateGuarded, evaluatePlain, type ReplayResult } from "./evaluate.js";
import { errorOf, type ReplayCheckDeps, type ReplayCheckOptions, type ReplaySubject, sendReplay } from "./send-replay.js";

export interface ReplayCheck {
  /** `timeoutMs` is the timeout of all replays of this journal. Never rejects; an aborted `signal` makes the result a failure. */
  check(candidate: DeploymentView, subject: ReplaySubject, timeoutMs: number, signal: AbortSignal): Promise<ReplayResult>;
}

export function createReplayCheck(deps: ReplayCheckDeps & { readonly logger: Logger }, options: ReplayCheckOptions): ReplayCheck {
  const { clock, logger } = deps;
  return {
    async check(candidate, subject, timeoutMs, signal) {
      const untilMs = clock.monotonicMs() + timeoutMs;
      const { isCompleted, version } = subject;
      if (!isSupportedVersion(version)) {
        return { kind: "failed", error: errorOf("RT0014", `service protocol ${version} is not spoken here`) };
      }
      const spoken = { ...subject, version };
      const send = (entries: readonly JournalEntry[]) => {
        const leftMs = Math.max(1, untilMs - clock.monotonicMs());
        return sendReplay(deps, options, { candidate, subject: spoken, entries, timeoutMs: leftMs, isMarked: true }, signal);
      };
      try {
        const journal: CheckedJournal = checkedJournal(subject.entries);
        const guarded = evaluateGuarded(journal, await send(journal.guarded), isCompleted);
        if (guarded.kind !== "waits" && guarded.kind !== "returned") return guarded;
        return evaluatePlain(journal, await send(journal.entries), isCompleted);
      } catch (cause) {
        const error = PerdureError.from(cause);
        logger.error({ invocationId: subject.facts.id, error, cause }, "journal could not be replayed for a check");
        return { kind: "failed", error: errorOf("RT0006", error.detail) };
      }
    },
  };
}
