/** Time after which the browser has begun to write a file; until then its URL must exist. */
const REVOKE_URL_AFTER_MS = 60_000;

/** Downloads the file under this name, as a click on a link would. */
export function download(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_URL_AFTER_MS);
}
