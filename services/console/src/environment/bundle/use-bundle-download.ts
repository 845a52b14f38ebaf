/** The entry of the menu of an invocation that downloads its bundle. The server redacts it. */
import type { MenuAction } from "../../kit/index.js";
import { useChange } from "../request.js";
import { bundleBlob, bundleFileName } from "./bundle-file.js";

export function useBundleDownload(id: string): MenuAction {
  const download = useChange<void, Blob>(async ({ admin }) => bundleBlob(await admin.invocations.bundle(id)), {
    done: () => "Bundle downloaded. Its secrets were replaced; read it before you pass it on.",
    failed: "The bundle was not downloaded",
    onDone: (blob) => save(bundleFileName(id), blob),
  });
  return { label: "Download bundle", icon: "export", onSelect: () => download.mutate() };
}

function save(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
