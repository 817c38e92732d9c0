/**
 * Text that came from a crash, made safe to show: a host named with a right-to-left override would make the words around
 * it lie, and control characters vanish or break lines.
 *
 * This works on the JSON of an answer before it is parsed, so that no component can forget it. Names that go back to
 * the server (report ids, signatures, names of artifacts) never hold such characters: it cleans or makes them itself.
 */

/** Colours and cursor movements of terminals, which say nothing about the crash: `ESC [ … letter`, written in JSON. */
const COLOURS = /\\u001b\[[0-9;?]*[A-Za-z]/gi;

/** An escape of a JSON string. Taking all of them keeps an escaped backslash from being read as the start of one. */
const ESCAPES = /\\(?:u([0-9a-f]{4})|.)/gis;

/** What is invisible or turns the direction of text: U+061C, zero widths, bidirectional marks, tags, DEL and C1. */
const INVISIBLE =
  /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** The text with a visible sign in place of each such character. Line ends and tabs stay. */
export function safeText(text: string): string {
  return text.replaceAll(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, (c) => sign(c.charCodeAt(0))).replaceAll(INVISIBLE, named);
}

/** The same for the strings of a JSON text. */
export function safeJson(json: string): string {
  // Most answers have nothing of the kind, and documents can have megabytes.
  if (!/\\[bfu]/.test(json) && json.search(INVISIBLE) < 0) return json;
  return json
    .replaceAll(COLOURS, '')
    .replaceAll(ESCAPES, (escape, hex: string | undefined) => {
      if (hex === undefined) return escape === '\\b' ? sign(8) : escape === '\\f' ? sign(12) : escape;
      const code = Number.parseInt(hex, 16);
      if (code < 0x20) return [9, 10, 13].includes(code) ? escape : sign(code);
      const character = String.fromCharCode(code);
      return character.replace(INVISIBLE, named) === character ? escape : named(character);
    })
    .replaceAll(INVISIBLE, named);
}

/** The picture that Unicode has for a control character. */
function sign(code: number): string {
  return String.fromCharCode(0x2400 + code);
}

function named(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
