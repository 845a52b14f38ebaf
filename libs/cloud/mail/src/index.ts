/** Sends the e-mails of the cloud: their texts, a durable outbox, and SMTP. */

export { INVITATION_MAILS_WAITING_MAX, MAILS_WAITING_MAX } from "./limits.js";
export { logMailer, type Mail, type Mailer, smtpMailer } from "./mailer.js";
export { MailOutbox, putInvitationMail, putMail, sendDue } from "./outbox.js";
export {
  existingAccountText,
  idleText,
  invitationText,
  passwordChangedText,
  quotaSuspendedText,
  quotaWarningText,
  resetText,
  verifyText,
} from "./texts.js";
