/** Made from the server's own description of its API by `make contract`: mend the Rust type, and not this file. */

/** Values that JSON can hold. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
