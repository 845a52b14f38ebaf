/** The entry of the menu of an invocation that downloads its bundle. The server redacts it. */
import { download, type MenuAction } from "../../kit/index.js";
import { useChange } from "../request.js";
import { bundleBlob, bundleFileName } from "./bundle-file.js";

export function useBundleDownload(id: string): MenuAction {
  const change = useChange<void, Blob>(async ({ admin }) => bundleBlob(await admin.invocations.bundle(id)), {
    done: () => "Bundle downloaded. Its secrets were replaced; read it before you pass it on.",
    failed: "The bundle was not downloaded",
    onDone: (blob) => download(blob, bundleFileName(id)),
  });
  return { label: "Download bundle", icon: "export", onSelect: () => change.mutate() };
}
