// The curl command that does what a page does. The key is never in it: it stands in a variable of the shell.

/** A curl command for an address of the integration API, which takes the key in `token`. */
export function curlCommand(origin: string, path: string, method = "GET", body?: unknown): string {
  const address = `${origin}${path}`;
  const parts = ["curl -sS"];
  if (method !== "GET") parts.push(`-X ${method}`);
  if (body !== undefined) parts.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`);
  parts.push(`${quoted(address + (path.includes("?") ? "&" : "?") + "token=")}"$PULSEWARD_API_KEY"`);
  return parts.join(" ");
}

/** A word for the shell, in single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
