/** Requests to the server. Every failure is an {@link ApiError} that says what to do about it. */
import { headers } from '../lib/access';
import { safeJson } from '../lib/safetext';
import type {
  Accepted,
  CausePage,
  Causes,
  ChangedReports,
  Compared,
  Diagnoses,
  Evidence,
  FacetValue,
  Found,
  Group,
  Lines,
  Pages,
  Plugins,
  PreviewChanges,
  Previews,
  ProblemDocument,
  Progress,
  RenewalStatus,
  ReportDocument,
  Reports,
  ReportState,
  Summary,
} from './types';

/** A row of a list of reports, also of one that is still being read. */
export type Row = Summary & { state?: ReportState; count?: number | null };

/** A list of reports, from the store or from a search. */
export interface Listing {
  total?: number;
  hits?: Row[];
  /** What the next page is asked for with; none on the last. */
  next?: string | null;
  facets?: { [field: string]: FacetValue[] };
}

/** A request that did not work, in the words of the server's problem document (RFC 9457) where there is one. */
export class ApiError extends Error {
  /** HTTP status; 0 when there was no answer at all. */
  readonly status: number;
  /** The server's name for this kind of problem. */
  readonly code: string | undefined;
  readonly hint: string | undefined;

  constructor(message: string, status: number, code?: string, hint?: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

const BASE = '/api/v1';

export function searchPath(query: string, limit: number, after: string): string {
  return `${BASE}/search?${page({ q: query }, limit, after)}`;
}

/** Asks for a page of a list: the first one, or the one behind where another ended. */
function page(params: Record<string, string>, limit: number, after: string): string {
  return new URLSearchParams({ ...params, limit: String(limit), ...(after && { after }) }).toString();
}

export function reportPath(id: string): string {
  return `${BASE}/reports/${encodeURIComponent(id)}`;
}

export function artifactPath(id: string, name: string): string {
  return `${reportPath(id)}/artifacts/${encodeURIComponent(name)}`;
}

export function linesPath(id: string, name: string, from: number, to: number): string {
  return `${artifactPath(id, name)}/lines?from=${from}&to=${to}`;
}

/** Where the server tells how far a report or a preview has come. */
export function eventsPath(of: 'reports' | 'previews', id: string): string {
  return `${BASE}/${of}/${encodeURIComponent(id)}/events`;
}

function previewPath(number: string): string {
  return `${BASE}/previews/${encodeURIComponent(number)}`;
}

export const api = {
  search: (query: string, limit: number, after: string) => get<Found>(searchPath(query, limit, after)),
  recent,
  report: (id: string) => get<ReportDocument>(reportPath(id)),
  /** Lists of the evidence, whole. */
  part: (id: string, path: string) => get<Evidence>(`${reportPath(id)}/${path}`),
  /** The versions of a report's diagnosis, the last one first. */
  diagnoses: (id: string) => get<Diagnoses>(`${reportPath(id)}/diagnoses`),
  /** Deletes a report for good. */
  remove: (id: string) => ask('DELETE', reportPath(id)),
  state: (id: string) => get<Progress>(`${reportPath(id)}/state`),
  lines: (id: string, name: string, from: number, to: number, signal: AbortSignal) => get<Lines>(linesPath(id, name, from, to), signal),
  group: (signature: string) => get<Group>(`${BASE}/groups/${encodeURIComponent(signature)}`),
  causes: () => get<Causes>(`${BASE}/causes`),
  cause: (id: string) => get<CausePage>(`${BASE}/causes/${encodeURIComponent(id)}`),
  plugins: () => get<Plugins>(`${BASE}/plugins`),
  /** Pages of causes that were published. */
  pages: () => get<Pages>(`${BASE}/pages`),
  removePage: (id: string) => ask('DELETE', `${BASE}/pages/${encodeURIComponent(id)}`),
  /** How far diagnosing stored reports anew has come. */
  renewal: () => get<RenewalStatus>(`${BASE}/diagnoses`),
  previews: () => get<Previews>(`${BASE}/previews`),
  preview: (number: string) => get<PreviewChanges>(previewPath(number)),
  /** Reports that a preview changes, or those that it changes in one way. */
  previewReports: (number: string, way: { change: string; cause: string } | undefined, limit: number, after: string) =>
    get<ChangedReports>(`${previewPath(number)}/reports?${page({ ...way }, limit, after)}`),
  previewReport: (number: string, id: string) => get<Compared>(`${previewPath(number)}/reports/${encodeURIComponent(id)}`),
  /** Does `apply`, `undo` or `cancel`. */
  actOnPreview: (number: string, action: string) => ask('POST', `${previewPath(number)}/${action}`),
};

/**
 * All reports in the order they came, those that are still being read among them, with the facets of all of them. The
 * list comes from the store: it is shown although the index, which has the facets, can not be asked now.
 */
async function recent(limit: number, after: string): Promise<Listing> {
  const [list, found] = await Promise.all([
    get<Reports>(`${BASE}/reports?${page({}, limit, after)}`),
    get<Partial<Found>>(`${searchPath('', 1, '')}&sort=newest`).catch((): Partial<Found> => ({})),
  ]);
  const hits = list.reports ?? [];
  const before = lastRecent;
  // What did not change is the very same object, so that nothing is drawn anew for it.
  if (before?.hits === hits && before.facets === found.facets) return before;
  lastRecent = { total: list.total ?? hits.length, hits, next: list.next ?? null, facets: found.facets ?? {} };
  return lastRecent;
}

let lastRecent: Listing | undefined;

/** Answers that the server gave a tag, by address: an unchanged one is not sent, parsed and drawn again. */
const TAGGED = 12;
const tagged = new Map<string, { tag: string; value: unknown }>();

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const known = tagged.get(path);
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, {
      headers: { ...headers(), ...(known && { 'if-none-match': known.tag }) },
      // The tags are ours: the browser's own cache would answer 200 in place of 304, and keep crashes on the disk.
      cache: 'no-store',
      ...(signal && { signal }),
    });
    if (response.status === 304 && known) return known.value as T;
    text = await response.text();
  } catch {
    throw unreachable();
  }
  if (!response.ok) throw problem(response.status, text);
  const value = parse<T>(text);
  const tag = response.headers.get('etag');
  if (tag !== null) keep(path, tag, value);
  return value;
}

/** Has the server do something; its answer says no more than that it did. */
async function ask(method: string, path: string): Promise<void> {
  let response: Response;
  try {
    response = await fetch(path, { method, headers: headers() });
  } catch {
    throw unreachable();
  }
  if (!response.ok) throw problem(response.status, await response.text());
}

function keep(path: string, tag: string, value: unknown): void {
  tagged.delete(path);
  tagged.set(path, { tag, value });
  const oldest = tagged.keys().next();
  if (tagged.size > TAGGED && !oldest.done) tagged.delete(oldest.value);
}

/**
 * Sends files as one new report. `fetch` can not tell how far an upload is, and cores are large: hence the older
 * interface.
 */
export function upload(files: readonly File[], onProgress: (fraction: number) => void): Promise<Accepted> {
  const form = new FormData();
  for (const file of files) form.append('artifact', file, file.name);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', `${BASE}/reports`);
    for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => onProgress(event.lengthComputable ? event.loaded / event.total : 0);
    request.onerror = () => reject(unreachable());
    request.onload = () => {
      if (request.status < 200 || request.status >= 300) reject(problem(request.status, request.responseText));
      else resolve(parse<Accepted>(request.responseText));
    };
    request.send(form);
  });
}

/** The server's word is taken for the form of its answers: every field is optional to a reader. */
function parse<T>(text: string): T {
  try {
    return JSON.parse(safeJson(text)) as T;
  } catch {
    throw new ApiError(
      'the server answered something that is not JSON',
      200,
      'not-json',
      'check that the address is that of whycrash-server, and not of a proxy that wants a login',
    );
  }
}

function unreachable(): ApiError {
  return new ApiError(
    'the server does not answer',
    0,
    'unreachable',
    'check that whycrash-server is running and that this machine can reach it; this page tries again when you ask it to',
  );
}

function problem(status: number, text: string): ApiError {
  let body: Partial<ProblemDocument> = {};
  try {
    body = JSON.parse(safeJson(text)) as Partial<ProblemDocument>;
  } catch {
    // An answer of something in between, such as a proxy: the status is all there is to tell.
  }
  return new ApiError(body.detail ?? body.title ?? `the server answered with status ${status}`, status, body.code ?? body.type, body.hint);
}
