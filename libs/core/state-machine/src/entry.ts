/**
 * A journal entry as it is stored: the frame's type and body exactly as they went over the wire,
 * so that replay is a copy of bytes. Entries never change once stored.
 */
export interface JournalEntry {
  readonly type: number;
  /** Frame body; owned by the entry (never a view into a socket's buffer). */
  readonly body: Uint8Array;
  readonly appendedAtMs: number;
}

/** Event between entries, for display: a failed attempt or a pause. The newest 16 are kept per invocation. */
export interface JournalEvent {
  readonly kind: "transientError" | "paused";
  readonly afterIndex: number;
  readonly atMs: number;
  readonly error: AttemptError | undefined;
}

/** Why an attempt failed. `code` is the number that callers get when it becomes the outcome; `errorCode` that of our catalogue. */
export interface AttemptError {
  readonly errorCode: string;
  readonly code: number;
  readonly message: string;
  readonly stacktrace: string | undefined;
  readonly relatedCommandIndex: number | undefined;
  readonly relatedCommandName: string | undefined;
  readonly relatedCommandType: number | undefined;
}
