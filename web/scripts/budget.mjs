// SPDX-License-Identifier: MIT
// What a browser has to load before each page is there: scripts and styles, gzip. Fails above the limit.
// Charts and editors are loaded behind it, by import(): they are not counted. `--all` lists every page.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'

/** What opens first, and what any other page may need when it is opened first by a link. */
const FIRST_KB = 200
const OTHER_KB = 215
const FIRST = ['dashboard/DashboardPage.vue', 'login/LoginPage.vue']
const folder = process.argv.slice(2).find((a) => !a.startsWith('--'))
const built = folder ? pathToFileURL(`${folder}/`) : new URL('../../build/web/', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('.vite/manifest.json', built), 'utf8'))
const sizes = new Map()

function sizeOf(file) {
  if (!sizes.has(file)) sizes.set(file, gzipSync(readFileSync(new URL(file, built)), { level: 9 }).length)
  return sizes.get(file)
}

function collect(key, files) {
  const chunk = manifest[key]
  if (!chunk || files.has(chunk.file)) return
  files.add(chunk.file)
  for (const css of chunk.css ?? []) files.add(css)
  for (const other of chunk.imports ?? []) collect(other, files)
}

const rows = []
for (const key of Object.keys(manifest)) {
  if (!/^src\/pages\/.*Page\.vue$/.test(key)) continue
  const files = new Set()
  for (const start of ['index.html', 'src/i18n/zh-CN/index.ts', key]) collect(start, files)
  const bytes = [...files].reduce((sum, file) => sum + sizeOf(file), 0)
  rows.push([key.replace(/^src\/pages\//, ''), bytes / 1000])
}
if (rows.length === 0) throw new Error('no page found in the manifest')
rows.sort((a, b) => b[1] - a[1])
if (process.argv.includes('--all')) for (const [page, kb] of rows) console.log(`${kb.toFixed(1).padStart(7)} kB  ${page}`)
for (const [page, kb] of rows) {
  const limit = FIRST.includes(page) ? FIRST_KB : OTHER_KB
  if (kb <= limit) continue
  console.error(`${page} needs ${kb.toFixed(1)} kB before it is there; the limit is ${limit} kB`)
  process.exitCode = 1
}
