/**
 * Pages where users sign up and in, confirm their address, replace a lost password, list their sessions, approve devices and accept
 * invitations. Plain forms: every change is posted, with a proof that this server made the form.
 */
import { type Request, type Response, Router } from "express";
import { ConfirmationPages } from "./confirmation.js";
import { DevicePages } from "./devices.js";
import { InvitationPages } from "./invitations.js";
import type { PageSessions } from "./page-sessions.js";
import { ProfilePages } from "./profile.js";
import { ProviderPages } from "./provider.js";
import { SignInPages } from "./sign-in.js";
import { VerificationPages } from "./verification.js";

export type { PagesPorts } from "./page-sessions.js";

type PageHandler = (req: Request, res: Response) => Promise<void>;

export function pageRoutes(pageSessions: PageSessions): Router {
  const { browser } = pageSessions;
  const signIn = new SignInPages(pageSessions);
  const confirmation = new ConfirmationPages(pageSessions);
  const verification = new VerificationPages(pageSessions);
  const profile = new ProfilePages(pageSessions);
  const devices = new DevicePages(pageSessions);
  const invitations = new InvitationPages(pageSessions);
  const provider = new ProviderPages(pageSessions);
  const table: readonly (readonly ["get" | "post", string, PageHandler])[] = [
    ["get", "/login", (req, res) => signIn.form(req, res)],
    ["post", "/login", (req, res) => signIn.signIn(req, res)],
    ["get", "/login/confirm", (req, res) => confirmation.form(req, res)],
    ["post", "/login/confirm", (req, res) => confirmation.confirm(req, res)],
    ["get", "/sign-up", (req, res) => signIn.signUpForm(req, res)],
    ["post", "/sign-up", (req, res) => signIn.signUp(req, res)],
    ["post", "/sign-out", (req, res) => signIn.signOut(req, res)],
    ["get", "/verify", (req, res) => verification.verifyForm(req, res)],
    ["post", "/verify", (req, res) => verification.verify(req, res)],
    ["get", "/password/forgot", (req, res) => verification.forgotForm(req, res)],
    ["post", "/password/forgot", (req, res) => verification.forgot(req, res)],
    ["get", "/password/reset", (req, res) => verification.resetForm(req, res)],
    ["post", "/password/reset", (req, res) => verification.reset(req, res)],
    ["get", "/profile", (req, res) => profile.show(req, res)],
    ["post", "/sessions/end", (req, res) => profile.endSession(req, res)],
    ["get", "/device", (req, res) => devices.form(req, res)],
    ["post", "/device", (req, res) => devices.entered(req, res)],
    ["post", "/device/decide", (req, res) => devices.decide(req, res)],
    ["get", "/invitation", (req, res) => invitations.form(req, res)],
    ["post", "/invitation", (req, res) => invitations.accept(req, res)],
    ["get", "/login/provider", (req, res) => provider.leave(req, res)],
    ["get", "/login/callback", (req, res) => provider.comeBack(req, res)],
  ];
  const router = Router({ caseSensitive: true, strict: true });
  for (const [method, path, answer] of table) router[method](path, browser.handles(answer));
  return router;
}
