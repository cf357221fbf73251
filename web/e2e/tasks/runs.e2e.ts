// SPDX-License-Identifier: MIT
import { afterAll, expect, test } from 'vitest'
import { closeBrowser, doTask, type Person } from '../person'
import { row } from '../rows'
import { stage } from '../stage'

afterAll(closeBrowser)

async function fire(p: Person, job: string, param?: string): Promise<void> {
  const id = stage.jobs[job]!
  await p.go(`/jobs/${id}`)
  await p.click(p.get('job-run'))
  if (param !== undefined) await p.get('run-param').fill(param)
  await p.click(p.get('run-submit'))
  await p.click(p.get('run-started'))
}

test('run it with a parameter', () =>
  doTask('run it with a parameter', { user: 'admin' }, async (p) => {
    await p.go('/jobs?text=order-sync')
    await p.click(row(p, stage.jobs.steady!).locator('[data-test="row-run"]'))
    expect(await p.get('run-param').inputValue()).toBe('region=cn')
    await p.get('run-param').fill('region=eu')
    await p.click(p.get('run-submit'))
    await p.click(p.get('run-started'))
    await p.see('param=region=eu')
  }))

test('see its log live', () =>
  doTask('see its log live', { user: 'admin' }, async (p) => {
    await fire(p, 'talking', '60')
    p.clicks = 1 // from the runs list it is one click
    await p.see(p.get('log-line').filter({ hasText: 'word 1' }))
    expect(await p.get('log-end').count()).toBe(0)
    await p.see(p.get('log-line').filter({ hasText: 'word 20' }))
    await p.see(p.get('log-end'), 40_000)
    await p.see(p.get('log-line').filter({ hasText: 'word 60' }))
    expect(await p.get('log').textContent()).not.toContain('\u001b')
  }))

test('stop a long run', () =>
  doTask('stop a long run', { user: 'admin' }, async (p) => {
    await fire(p, 'sleeping')
    p.clicks = 0
    await p.click(p.get('kill'))
    await p.click(p.get('kill-go'))
    await p.see(p.get('run-sentence').locator('[data-state="failed"], [data-state="skipped"]'))
  }))

test('find why a fire did not go', () =>
  doTask('find why a fire did not go', { user: 'admin' }, async (p) => {
    const id = stage.jobs.nobody!
    await p.go('/jobs?text=has%20no%20executor')
    await p.click(row(p, id).getByRole('link', { name: 'has no executor' }))
    await p.click(p.get('tab-why'))
    await p.see(p.get('why-answer').filter({ hasText: '127.0.0.1:1' }))
  }))

test('find all failures of the last hour', () =>
  doTask('find all failures of the last hour', { user: 'admin' }, async (p) => {
    await p.go('/')
    await p.click(p.get('rail-runs'))
    await p.click(p.get('failed-hour'))
    await p.see(p.get('run-row').filter({ hasText: 'invoice-export' }))
    expect(p.page.url()).toContain('result=failed')
    await expect.poll(() => p.get('run-row').locator('[data-state="success"]').count()).toBe(0)
  }))

test('clear old runs', () =>
  doTask('clear old runs', { user: 'admin' }, async (p) => {
    await p.go(`/runs?jobId=${stage.jobs.steady}`)
    await p.see(p.get('run-row'))
    await p.click(p.get('runs-clear'))
    await p.see(p.get('clear-count'))
    await p.click(p.get('clear-go'))
    await p.see(p.get('clear-result'))
  }))
