/** The access token of a server that wants one. It is kept for as long as the tab is open, and sent to no one else. */

const KEY = 'whycrash.token';

export function token(): string | null {
  return sessionStorage.getItem(KEY);
}

export function remember(secret: string): void {
  sessionStorage.setItem(KEY, secret.trim());
}

/** Headers for every request to the server. */
export function headers(): Record<string, string> {
  const secret = token();
  return { accept: 'application/json', ...(secret !== null && { authorization: `Bearer ${secret}` }) };
}
