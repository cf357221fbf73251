// SPDX-License-Identifier: MIT
// Two people at one job, a session that ends in the middle, a node that restarts under the page.
import { existsSync, writeFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { closeBrowser, doTask, Person } from '../person'
import { getJob, row } from '../rows'
import { stage } from '../stage'

afterAll(closeBrowser)

test('two people edit the same job', () =>
  doTask('two people edit the same job', { user: 'admin' }, async (ann) => {
    const id = stage.jobs.shared!
    const bob = await Person.arrive({ user: 'groupie', node: 1 })
    for (const p of [ann, bob]) {
      await p.go('/jobs?text=two-editors')
      await p.click(row(p, id).locator('[data-test="row-edit"]'))
      await p.see(p.get('editor'))
    }
    await bob.get('editor-cron').fill('0 0 6 * * ?')
    await bob.click(bob.get('editor-save'))
    await bob.get('editor').waitFor({ state: 'hidden' })
    await ann.get('editor-param').fill('of ann')
    await ann.see(ann.get('editor-theirs'), 30_000)
    await ann.click(ann.get('editor-save'))
    await ann.get('editor').waitFor({ state: 'hidden' })
    const job = (await getJob(ann, id)) as unknown as { scheduleConf: string; executorParam: string }
    expect([job.scheduleConf, job.executorParam]).toEqual(['0 0 6 * * ?', 'of ann'])
    await bob.leave()
  }))

test('a session that ends in the middle of an edit loses nothing', () =>
  doTask('session ends in an edit', { user: 'admin' }, async (p) => {
    const id = stage.jobs.stopped!
    await p.go('/jobs?text=nightly-close')
    await p.click(row(p, id).locator('[data-test="row-edit"]'))
    await p.get('editor-param').fill('written before the session ended')
    await p.context.clearCookies()
    await p.click(p.get('editor-save'))
    await p.page.locator('input[name=password]').fill(stage.password)
    await p.click(p.get('login'))
    await p.get('editor').waitFor({ state: 'hidden' })
    const job = (await getJob(p, id)) as unknown as { executorParam: string }
    expect(job.executorParam).toBe('written before the session ended')
  }))

test('the node restarts under the page', { timeout: 120_000 }, () =>
  doTask('node restarts', { user: 'admin' }, async (p) => {
    await p.go('/runs')
    await p.see(p.get('run-row'))
    writeFileSync(`${stage.out}/restart`, '')
    await p.see(p.w('common.stale'), 60_000)
    expect(await p.get('run-row').count()).toBeGreaterThan(0)
    await p.see(p.page.locator('footer').getByText(p.w('frame.unreachable')))
    writeFileSync(`${stage.out}/start`, '')
    await expect.poll(() => existsSync(`${stage.out}/restarted`), { timeout: 60_000 }).toBe(true)
    await expect.poll(() => p.page.getByText(p.w('common.stale')).count(), { timeout: 60_000 }).toBe(0)
    await expect.poll(() => p.page.locator('footer').getByText(p.w('frame.unreachable')).count()).toBe(0)
    await p.click(p.get('rail-jobs'))
    await p.see(p.get('job-row'))
  }))

test('on a phone', () =>
  doTask('on a phone', { user: 'admin', width: 390, height: 844 }, async (p) => {
    await p.go('/jobs?text=order-sync')
    const steady = row(p, stage.jobs.steady!)
    const second = steady.locator('.last .second')
    await p.see(second)
    await second.evaluate((e) => e.append(' ·'.repeat(60))) // however long ago it was
    const ticks = (await steady.locator('div.ticks').boundingBox())!
    const ago = (await second.boundingBox())!
    expect(ago.x).toBeGreaterThanOrEqual(ticks.x + ticks.width) // beside the ticks, not below them
    await p.click(steady.getByRole('link', { name: 'order-sync' }))
    await p.click(p.get('job-run'))
    await p.get('run-param').fill('by thumb')
    await p.click(p.get('run-submit'))
    await p.click(p.get('run-started'))
    await p.see('param=by thumb')
  }))
