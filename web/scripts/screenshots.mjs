// SPDX-License-Identifier: MIT
// Takes the pictures for tools/screenshots, which says in SW_SCENE what is where.
import { chromium } from 'playwright-core'

const scene = JSON.parse(process.env.SW_SCENE)
const { jobs, flow } = scene
const get = (page, test) => page.locator(`[data-test="${test}"]`).first()
const instant = (seconds) => new Date(seconds * 1000).toISOString().replace('.000', '')

async function openMap(page) {
  await page.locator('[data-step="shops"]').click()
  await get(page, 'step-form').waitFor()
}

/** Until it waits for a person alone. */
async function waitForPerson(page) {
  await page.locator('[data-step="agree"][data-state="running"]').waitFor({ timeout: 60_000 })
  await page.locator('[data-step="invoices-later"][data-state="success"]').waitFor({ timeout: 60_000 })
}

const shots = [
  { name: 'dashboard', path: '/' },
  { name: 'jobs', path: '/jobs' },
  {
    name: 'editor-new',
    path: '/jobs',
    then: async (page) => {
      await get(page, 'add-job').click()
      await get(page, 'editor-group').waitFor()
    },
  },
  { name: 'job', path: `/jobs/${jobs.sync}`, themes: ['light', 'dark'] },
  { name: 'why', path: `/jobs/${jobs.sync}/why?at=${instant(scene.skippedAt)}` },
  { name: 'flow-editor', path: `/flows/${flow.id}/edit`, then: openMap },
  { name: 'flow-run', path: `/flow-runs/${flow.run}?step=agree`, then: waitForPerson },
  { name: 'cluster', path: '/cluster' },
  { name: 'alarms', path: '/alarms', themes: ['light', 'dark'] },
  { name: 'users', path: '/users', themes: ['light', 'dark'] },
].filter((shot) => !scene.only.length || scene.only.includes(shot.name))

const browser = await chromium.launch({
  executablePath: process.env.SW_CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
})

/** One login for all pictures, which the audit shows. */
async function logIn() {
  const context = await browser.newContext()
  const data = { username: scene.user, password: scene.password, remember: false }
  const answer = await context.request.post(`${scene.url}/api/v1/session`, { data })
  if (!answer.ok()) throw new Error(`login: HTTP ${answer.status()}`)
  const state = await context.storageState()
  await context.close()
  return state
}
const storageState = await logIn()

async function take(shot, theme) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: 'en',
    colorScheme: theme,
    timezoneId: 'Asia/Shanghai',
    reducedMotion: 'reduce',
    storageState,
  })
  try {
    const page = await context.newPage()
    await page.goto(scene.url + shot.path)
    await page.locator('h1').first().waitFor()
    await page.waitForFunction(() => !document.querySelector('[data-test="state-loading"]'))
    await shot.then?.(page)
    await page.waitForLoadState('networkidle', { timeout: 3000 }).catch(() => undefined)
    await page.waitForTimeout(500) // the last poll is painted
    await page.screenshot({ path: `${scene.out}/${shot.name}-${theme}.png` })
  } finally {
    await context.close()
  }
}

for (const shot of shots) {
  for (const theme of shot.themes ?? ['light']) {
    await take(shot, theme).catch((e) => {
      console.error(`${shot.name}-${theme}: ${e.message}`)
      process.exitCode = 1
    })
  }
}
await browser.close()
