/** Messages about completed actions, over the page. Read out by screen readers. */
import { Toast } from "@base-ui/react/toast";
import type { ReactNode } from "react";
import { Icon } from "./icon.js";
import { messageOf } from "./problem.js";
import "./toast.css";

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  return (
    <Toast.Provider limit={4} timeout={6_000}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <Toasts />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function Toasts() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={`toast toast--${toast.type ?? "done"}`} swipeDirection={[]}>
      <div>
        {/* No heading: it is not part of the page, and appears and disappears. */}
        <Toast.Title className="toast__title" render={<p />} />
        <Toast.Description className="small" />
      </div>
      <Toast.Close className="button button--bare button--small" aria-label="Dismiss">
        <Icon name="clear" />
      </Toast.Close>
    </Toast.Root>
  ));
}

interface Toaster {
  done(title: string, more?: string): void;
  /** Shows an error of any kind. */
  failed(title: string, cause: unknown): void;
}

export function useToast(): Toaster {
  const { add } = Toast.useToastManager();
  return {
    done: (title, description) => void add({ title, description, type: "done" }),
    failed: (title, cause) => void add({ title, description: messageOf(cause), type: "failed", timeout: 15_000 }),
  };
}
