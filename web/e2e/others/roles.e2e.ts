// SPDX-License-Identifier: MIT
// What readers, runners and users of one group see: nothing that would fail.
import { afterAll, describe, expect, test } from 'vitest'
import { places } from '../pages/places'
import { closeBrowser, doTask } from '../person'
import { row } from '../rows'
import { stage } from '../stage'

afterAll(closeBrowser)

/** What changes something, by who may do it at least. */
const WRITES = ['add-job', 'import-jobs', 'row-toggle', 'row-edit', 'job-edit', 'job-toggle', 'batch-start', 'batch-stop', 'batch-edit', 'batch-delete', 'glue-save', 'runs-clear']
const RUNS = ['row-run', 'job-run', 'kill', 'run-again']
const ADMINS = [
  'add-group', 'group-save', 'node-drain', 'reshard', 'add-user', 'webhook-add', 'alarm-test', 'hook-add', 'hook-test',
  'delivery-resend', 'alarms-events',
]

const people = [
  { user: 'reader', never: [...WRITES, ...RUNS, ...ADMINS] },
  { user: 'runner', never: [...WRITES, ...ADMINS] },
  { user: 'groupie', never: ADMINS },
]

describe.each(people)('$user', ({ user, never }) => {
  test('sees no button that will fail, and no page that does', { timeout: 120_000 }, () =>
    doTask(`every page as ${user}`, { user }, async (p) => {
      const wrong: string[] = []
      p.page.on('response', (r) => {
        if (r.url().includes('/api/v1/') && r.status() === 403) wrong.push(`${p.page.url()}: 403 of ${r.url()}`)
      })
      const latest = await p.context.request.get(`${p.url}/api/v1/runs?jobId=${stage.jobs.steady}&limit=1`)
      const run = ((await latest.json()) as { items: { id: number }[] }).items[0]?.id ?? 1
      for (const place of places(run)) {
        await p.go(place.path)
        await p.see(p.page.locator('h1'))
        await expect.poll(() => p.get('state-loading').count()).toBe(0)
        for (const name of never) if (await p.get(name).count()) wrong.push(`${place.name}: ${name}`)
      }
      expect(wrong).toEqual([])
    }))
})

test('a user of one group sees its jobs alone', () =>
  doTask('jobs of one group', { user: 'groupie' }, async (p) => {
    await p.go('/jobs?text=order-sync')
    await p.see(row(p, stage.jobs.steady!))
    await p.get('filter-text').fill('has no executor')
    await expect.poll(() => p.get('job-row').count()).toBe(0)
    await p.go(`/jobs/${stage.jobs.nobody}`)
    await p.see(p.get('state-error'))
  }))

test('a runner fires a job', () =>
  doTask('fire as a runner', { user: 'runner' }, async (p) => {
    await p.go('/jobs?text=order-sync')
    await p.click(row(p, stage.jobs.steady!).locator('[data-test="row-run"]'))
    await p.click(p.get('run-submit'))
    await p.click(p.get('run-started'))
    await p.see('param=region=cn')
  }))
