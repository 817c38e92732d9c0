/**
 * What the server answers, as JSON. Made from the server's own description of its API by `make contract`: mend the Rust
 * type, and not these files.
 *
 * Enums may grow: unknown values are shown as they are. Addresses and 64-bit identifiers are hex strings, because a
 * JavaScript number holds 53 bits.
 */

export type * from './collectives';
export type * from './diagnosis';
export type * from './events';
export type * from './evidence';
export type * from './gpu';
export type * from './json';
export type * from './memory';
export type * from './plugins';
export type * from './requests';
export type * from './search';
export type * from './shared';
