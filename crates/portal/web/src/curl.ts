// The curl command that does what a page does. The key is never in it: it is in a variable of the shell, and goes in a
// header, because addresses end up in logs.

/** A curl command for an address of the integration API. `{a,b}` in it represents one address each, as curl has it. */
export function curlCommand(origin: string, path: string, method = "GET", body?: unknown): string {
  const parts = ["curl -sS"];
  // Brackets are a list to curl unless it is instructed otherwise; ours belong to the address.
  if (path.includes("[")) parts.push("-g");
  // Many addresses can be more than a minute allows: curl waits as long as the answer says.
  if (path.includes("{")) parts.push("--retry 3");
  if (method !== "GET") parts.push(`-X ${method}`);
  parts.push(`-H "X-Api-Key: $PULSEWARD_API_KEY"`);
  if (body !== undefined) parts.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`);
  parts.push(quoted(origin + path));
  return parts.join(" ");
}

/** A word for the shell, in single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
