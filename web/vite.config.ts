import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

/**
 * Empties `dist` but for its `.gitignore`, which is tracked so that the folder exists in a fresh clone and the server
 * compiles without a UI. Vite itself would remove that too.
 */
function emptyDist(): Plugin {
  const dist = new URL('./dist/', import.meta.url);
  return {
    name: 'empty-dist',
    apply: 'build',
    buildStart() {
      mkdirSync(dist, { recursive: true });
      for (const name of readdirSync(dist)) {
        if (name !== '.gitignore') rmSync(new URL(name, dist), { recursive: true });
      }
    },
  };
}

/** Where `npm run dev` finds a running `whycrash-server`. */
const server = process.env['WHYCRASH_SERVER'] ?? 'http://127.0.0.1:7311';

export default defineConfig({
  plugins: [svelte(), emptyDist()],
  build: {
    emptyOutDir: false,
    target: 'es2023',
    // The server's policy allows nothing inline, data: addresses included.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/api': server } },
});
