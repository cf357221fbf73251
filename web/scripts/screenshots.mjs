// SPDX-License-Identifier: MIT
// Takes the pictures for tools/screenshots, which says in SW_SCENE what is where.
import { chromium } from 'playwright-core'

const scene = JSON.parse(process.env.SW_SCENE)
const { jobs, groups, run, flow } = scene
const get = (page, test) => page.locator(`[data-test="${test}"]`).first()
const instant = (seconds) => new Date(seconds * 1000).toISOString().replace('.000', '')

async function openCron(page) {
  await get(page, 'job-edit').click()
  await get(page, 'editor-cron').waitFor()
  await get(page, 'cron-open').click()
  await get(page, 'cron-builder').waitFor()
}

async function compare(page) {
  await get(page, 'glue-version').waitFor()
  await page.locator('[data-test="glue-version"]').last().click()
  await get(page, 'glue-diff').waitFor()
}

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
  { name: 'dashboard-zh', path: '/', language: 'zh-CN' },
  { name: 'jobs', path: '/jobs' },
  { name: 'jobs-zh', path: '/jobs', language: 'zh-CN', themes: ['light'] },
  {
    name: 'editor-new',
    path: '/jobs',
    then: async (page) => {
      await get(page, 'add-job').click()
      await get(page, 'editor-group').waitFor()
    },
  },
  { name: 'editor', path: `/jobs/${jobs.sync}`, then: openCron },
  { name: 'job', path: `/jobs/${jobs.sync}` },
  { name: 'job-zh', path: `/jobs/${jobs.sync}`, language: 'zh-CN', themes: ['light'] },
  { name: 'why', path: `/jobs/${jobs.sync}/why?at=${instant(scene.skippedAt)}` },
  { name: 'children', path: `/jobs/${jobs.export}/children`, themes: ['light'] },
  { name: 'flows', path: '/flows' },
  { name: 'flow-editor', path: `/flows/${flow.id}/edit`, then: openMap },
  { name: 'flow-run', path: `/flow-runs/${flow.run}?step=agree`, then: waitForPerson },
  {
    name: 'flow-run-zh',
    path: `/flow-runs/${flow.run}?step=shops`,
    then: waitForPerson,
    language: 'zh-CN',
    themes: ['light'],
  },
  {
    name: 'flow-phone',
    path: `/flow-runs/${flow.run}?step=agree`,
    then: waitForPerson,
    width: 390,
    height: 844,
    themes: ['light'],
  },
  { name: 'runs', path: '/runs' },
  { name: 'run', path: `/runs/${run}` },
  { name: 'executors', path: '/executors' },
  { name: 'executor', path: `/executors/${groups.orders}` },
  { name: 'glue', path: `/jobs/${jobs.cleanup}/glue`, then: compare },
  { name: 'cluster', path: '/cluster' },
  { name: 'alarms', path: '/alarms' },
  { name: 'users', path: '/users' },
  { name: 'tokens', path: '/tokens?of=all' },
  { name: 'audit', path: '/audit' },
  { name: 'settings', path: '/settings' },
  { name: 'help', path: '/help' },
  { name: 'login', path: '/login', nobody: true },
  { name: 'phone', path: '/jobs', width: 390, height: 844 },
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
    viewport: { width: shot.width ?? 1280, height: shot.height ?? 800 },
    locale: shot.language ?? 'en',
    colorScheme: theme,
    timezoneId: 'Asia/Shanghai',
    reducedMotion: 'reduce',
    storageState: shot.nobody ? undefined : storageState,
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
  for (const theme of shot.themes ?? ['light', 'dark']) {
    await take(shot, theme).catch((e) => {
      console.error(`${shot.name}-${theme}: ${e.message}`)
      process.exitCode = 1
    })
  }
}
await browser.close()
