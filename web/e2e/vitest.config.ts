// SPDX-License-Identifier: MIT
// The browser tests: run by tests/integration/test_browser.py, which starts the servers and says in SW_STAGE where.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  resolve: { alias: { '@': fileURLToPath(new URL('../src', import.meta.url)) } },
  test: {
    include: ['**/*.e2e.ts'],
    fileParallelism: false,
    isolate: false,
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000, interval: 100 } },
    sequence: { concurrent: false },
    reporters: process.env.SW_JUNIT ? ['default', ['junit', { outputFile: process.env.SW_JUNIT }]] : ['default'],
  },
})
