/** Bounds of mail, with their reasons. */

/** A step of the mail server that takes longer fails, and the mail is sent again later. */
export const MAIL_TIMEOUT_MS = 10_000;
/** Interval of polls for pending mail: the user waits at a page that announces it. */
export const MAIL_POLL_MS = 2_000;
/** Sent at the same time by one process. */
export const MAILS_AT_ONCE = 5;
/**
 * Bounds of the random pauses between attempts to send one. A running attempt holds the mail for the first, which must be longer than the
 * attempt.
 */
export const MAIL_AGAIN_FIRST_MS = 60_000;
export const MAIL_AGAIN_LONGEST_MS = 3_600_000;
/** Time after which a mail is not useful any more. */
export const MAIL_GIVEN_UP_MS = 86_400_000;
/** Maximum number of waiting mails, some megabytes; more means that no mail can be sent. */
export const MAILS_WAITING_MAX = 10_000;
/**
 * Maximum number of waiting mails when an invitation is added: otherwise invitations of all accounts could use all places, and no sign-in
 * link could be sent.
 */
export const INVITATION_MAILS_WAITING_MAX = 5_000;
