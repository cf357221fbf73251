// SPDX-License-Identifier: MIT
// Figures that are what their lists are, and a footer that says at once what the rest of the page meets.
import { afterAll, expect, test } from 'vitest'
import { closeBrowser, doTask, type Person } from '../person'
import { stage } from '../stage'

afterAll(closeBrowser)

const digits = (text: string | null) => Number((text ?? '').replace(/\D/g, ''))

/** What a figure says, and how many rows the list behind it has. */
async function follow(p: Person, figure: string): Promise<[number, number]> {
  await p.go('/')
  const link = p.get(figure).locator('a')
  await p.see(link)
  const said = digits(await link.textContent())
  await p.click(link)
  await p.click(p.get('count'))
  await p.see(p.get('total'))
  return [said, digits(await p.get('total').textContent())]
}

test('a figure is what the list behind it counts', { timeout: 120_000 }, () =>
  doTask('follow figures of the dashboard', { user: 'admin' }, async (p) => {
    for (const id of [stage.jobs.failing, stage.jobs.nobody]) // nothing moves meanwhile
      expect((await p.context.request.post(`${p.url}/api/v1/jobs/${id}/stop`)).ok()).toBe(true)
    try {
      await expect
        .poll(async () => {
          const [said, listed] = await follow(p, 'figure-failed')
          return said > 0 && said === listed
        })
        .toBe(true)
      await p.go('/')
      const says = p.get('figure-says')
      await p.see(says)
      expect(await says.allTextContents()).toEqual([
        expect.stringContaining(p.w('dashboard.saysFires')),
        p.w('dashboard.saysWrong'),
        expect.stringContaining(p.w('dashboard.saysLate')),
      ])
    } finally {
      for (const id of [stage.jobs.failing, stage.jobs.nobody])
        await p.context.request.post(`${p.url}/api/v1/jobs/${id}/start`)
    }
  }))

test('the footer says at once that the server is there again', () =>
  doTask('an outage ends', { user: 'admin' }, async (p) => {
    const { clock } = p.page
    const away = p.page.locator('footer').getByText(p.w('frame.unreachable'))
    await clock.install()
    await p.go('/jobs')
    await p.see(p.get('job-row'))
    await p.see(p.page.locator('footer .facts'))
    await p.page.route('**/api/v1/**', (route) => route.abort())
    await p.see(away, 60_000)
    // It asks by itself every 2 s: as soon as it has done so the clock stands, and only what it is told counts.
    await p.page.waitForEvent('requestfailed', (r) => r.url().endsWith('/health'))
    await clock.pauseAt((await p.page.evaluate(() => Date.now())) + 200)
    await p.page.unroute('**/api/v1/**')
    await p.get('rail-runs').click()
    let ms = 0
    await expect
      .poll(async () => {
        await clock.runFor(ms < 1500 ? 10 : 0)
        ms += 10
        return away.count()
      })
      .toBe(0)
  }))
