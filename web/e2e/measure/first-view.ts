// SPDX-License-Identifier: MIT
// How soon pages can be used, on a processor four times as slow: `npm run measure -- URL USER PASSWORD`. Interactive is
// when the page's head is there and the last long task has ended. Cold: nothing in the cache.
import { chromium } from 'playwright-core'

const [url, user, password] = process.argv.slice(2)
if (!url || !user || !password) throw new Error('usage: npm run measure -- URL USER PASSWORD')
const pages = ['/', '/jobs', '/runs', '/executors', '/cluster']
const ROUNDS = 5

interface Seen {
  head: number
  busyUntil: number
}

const watch = `
  window.__seen = { head: 0, busyUntil: 0 };
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) window.__seen.busyUntil = Math.max(window.__seen.busyUntil, e.startTime + e.duration);
  }).observe({ type: 'longtask', buffered: true });
  new MutationObserver(() => {
    if (!window.__seen.head && document.querySelector('main h1')) window.__seen.head = performance.now();
  }).observe(document, { childList: true, subtree: true });
`

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium-headless-shell', args: ['--no-sandbox', '--disable-gpu'] })

async function open(path: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'zh-CN' })
  await context.request.post(`${url}/api/v1/session`, { data: { username: user, password } })
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 })
  await page.addInitScript(watch)
  await page.goto(url + path)
  await page.waitForSelector('main h1')
  await page.waitForLoadState('networkidle')
  const seen = await page.evaluate(() => (window as unknown as { __seen: Seen }).__seen)
  await context.close()
  return Math.max(seen.head, seen.busyUntil)
}

for (const path of pages) {
  const times: number[] = []
  for (let i = 0; i < ROUNDS; i++) times.push(await open(path))
  times.sort((a, b) => a - b)
  console.log(`${path.padEnd(12)} median ${Math.round(times[ROUNDS >> 1]!)} ms, ${Math.round(times[0]!)}-${Math.round(times[ROUNDS - 1]!)}`)
}
await browser.close()
