/** Name of a stored timer in the checkers' record. */
export function timerText(timer: {
  readonly dueAtMs: number;
  readonly kind: string;
  readonly id: string;
  readonly sequence: number;
}): string {
  return `${timer.kind}/${timer.id}/${timer.sequence}/${timer.dueAtMs}`;
}
