/** Makes form fields with their label, the attributes that password managers need, and the error, also for screen readers. */
import { PASSWORD_CHARS_MIN } from "@perdure/identity";
import { type Html, html, PROBLEM_ID } from "./html.js";

interface FieldOptions {
  readonly name: string;
  readonly label: string;
  readonly type?: "text" | "email" | "password";
  readonly autocomplete: string;
  readonly value?: string | undefined;
  readonly hint?: string | undefined;
  readonly charsMax?: number;
  readonly isOptional?: boolean;
  readonly isReadOnly?: boolean;
  /** The error of the page is about this field. */
  readonly isWrong?: boolean;
  /** Whether the field gets the focus. */
  readonly isFirst?: boolean;
}

export function field({ name, label, type = "text", autocomplete, value, hint, ...rest }: FieldOptions): Html {
  const { charsMax, isOptional, isReadOnly, isWrong, isFirst } = rest;
  const described = [...(isWrong === true ? [PROBLEM_ID] : []), ...(hint === undefined ? [] : [`${name}-hint`])].join(" ");
  return html`<div class="field"><label for="${name}">${label}</label><input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"${
    value === undefined || value === "" ? undefined : html` value="${value}"`
  }${charsMax === undefined ? undefined : html` maxlength="${charsMax}"`}${isOptional === true ? undefined : html` required`}${isReadOnly === true ? html` readonly` : undefined}${
    described === "" ? undefined : html` aria-describedby="${described}"`
  }${isWrong === true ? html` aria-invalid="true"` : undefined}${isFirst === true ? html` autofocus` : undefined}${
    type === "text" ? html` spellcheck="false"` : undefined
  }>${hint === undefined ? undefined : html`<p class="hint" id="${name}-hint">${hint}</p>`}</div>`;
}

type Some = Pick<FieldOptions, "value" | "isWrong" | "isFirst">;

export function emailField(options: Some = {}): Html {
  return field({ name: "email", label: "E-mail", type: "email", autocomplete: "username", charsMax: 254, ...options });
}

export function passwordField(options: Some = {}): Html {
  return field({ name: "password", label: "Password", type: "password", autocomplete: "current-password", ...options });
}

export function newPasswordField(options: Some & { readonly label?: string } = {}): Html {
  const hint = `At least ${PASSWORD_CHARS_MIN} characters. A few words are easier to remember than symbols.`;
  return field({ name: "password", label: "Password", type: "password", autocomplete: "new-password", hint, ...options });
}
