// SPDX-License-Identifier: MIT
// Somebody who uses the console for hours: `tools/web node web/e2e/measure/wander.ts URL USER PASSWORD SECONDS`. Goes from
// page to page by their addresses and by links, in a new browser window every few minutes. Servers that are away for a
// moment are part of it; an exception in a page is not: it is told at the end, and the status is 1. Ends when its
// standard input does.
import { chromium, type Browser } from 'playwright-core'

const given = process.argv.slice(2)
if (given.length !== 4) throw new Error('usage: wander.ts URL USER PASSWORD SECONDS')
const [url, user, password, seconds] = given as [string, string, string, string]
const pages = ['/', '/jobs', '/runs', '/executors', '/cluster', '/alarms', '/users', '/audit', '/settings', '/help']
const VIEWS_PER_WINDOW = 40
const exceptions: string[] = []
let views = 0
let refused = 0
let ended = false

const end = Date.now() + Number(seconds) * 1000
process.stdin.on('end', () => (ended = true)).resume()

async function wander(browser: Browser): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en' })
  try {
    await context.request.post(`${url}/api/v1/session`, { data: { username: user, password } })
    const page = await context.newPage()
    page.on('pageerror', (error) => exceptions.push(`${page.url()}: ${error.message}`))
    for (let i = 0; i < VIEWS_PER_WINDOW && !ended && Date.now() < end; i++) {
      await page.goto(url + pages[i % pages.length]!, { timeout: 15_000 })
      await page.waitForSelector('main h1', { timeout: 15_000 })
      const links = await page.locator('main a[href*="/jobs/"], main a[href*="/runs/"]').all()
      if (links.length) await links[i % links.length]!.click({ timeout: 5_000 })
      await page.waitForTimeout(4_000)
      views++
    }
  } catch {
    refused++
    await new Promise((resolve) => setTimeout(resolve, 2_000))
  } finally {
    await context.close()
  }
}

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium-headless-shell', args: ['--no-sandbox', '--disable-gpu'] })
while (!ended && Date.now() < end) await wander(browser)
await browser.close()
console.log(`${views} pages seen, ${refused} windows ended early, ${exceptions.length} exceptions`)
for (const text of new Set(exceptions)) console.log(text)
process.exit(exceptions.length ? 1 : 0)
