// SPDX-License-Identifier: MIT
// How the console is built. `base` is relative: where the console is served is known to the server alone, which writes
// <base href> into the page. `npm run dev` hands what is not the console's to a node at SHARDWHEEL_URL.
import { fileURLToPath } from 'node:url'
import vue from '@vitejs/plugin-vue'
import Components from 'unplugin-vue-components/vite'
import { ElementPlusResolver } from 'unplugin-vue-components/resolvers'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

const node = process.env.SHARDWHEEL_URL ?? 'http://127.0.0.1:8080'

const inPackages = (path: string) => fileURLToPath(new URL(`./node_modules/${path}`, import.meta.url))

/** What the server writes into the page, for `npm run dev`. */
const placeholders: Plugin = {
  name: 'placeholders',
  apply: 'serve',
  transformIndexHtml: (html) => html.replace('%BASE%', '/').replace('%NONCE%', ''),
}

export default defineConfig({
  base: './',
  plugins: [
    vue(),
    Components({ dirs: [], dts: 'src/components.d.ts', resolvers: [ElementPlusResolver({ importStyle: 'css' })] }),
    placeholders,
  ],
  resolve: {
    alias: {
      'vue-i18n': inPackages('vue-i18n/dist/vue-i18n.runtime.mjs'), // without its compiler: src/i18n/compile.ts
      '@ctrl/tinycolor': fileURLToPath(new URL('./src/theme/no-tinycolor.ts', import.meta.url)),
      '@': fileURLToPath(new URL('./src', import.meta.url)),
    },
  },
  define: { __VUE_I18N_FULL_INSTALL__: false, __VUE_I18N_LEGACY_API__: false, __INTLIFY_PROD_DEVTOOLS__: false },
  build: {
    outDir: fileURLToPath(new URL('../build/web', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    manifest: true,
  },
  server: { proxy: { '/api': node, '/openapi.json': node, '/docs': node } },
  test: { include: ['src/**/*.test.ts', 'tests/unit/**/*.test.ts'], environment: 'node', testTimeout: 30_000 },
})
