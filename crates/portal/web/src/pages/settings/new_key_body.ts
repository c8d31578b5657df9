// What a form for a new API key sends.

/** The request's body; an end of "" days is none. */
export function newKeyBody(name: string, days: string, codes: string[], now: number) {
  return {
    name: name.trim(),
    ...(codes.length > 0 ? { groups: codes } : {}),
    ...(days !== "" ? { expires_at: new Date(now + Number(days) * 86_400_000).toISOString() } : {}),
  };
}
