// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { closeBrowser, doTask, Person } from '../person'
import { getJob, openSection, row } from '../rows'
import { stage, word } from '../stage'

afterAll(closeBrowser)

async function findJob(p: Person, text: string): Promise<void> {
  await p.get('filter-text').fill(text)
  await expect.poll(() => p.get('job-row').count()).toBe(1)
}

test('add a cron job', () =>
  doTask('add a cron job', { user: 'admin' }, async (p) => {
    await p.go('/jobs')
    await p.click(p.get('add-job'))
    await p.see(p.get('editor'))
    await p.get('editor-name').fill('made in a browser')
    await p.click(p.get('editor-group'))
    await p.click(p.page.getByRole('option', { name: stage.group.appname }))
    const offered = () =>
      p.page.locator('#editor-handlers option').evaluateAll((all) => all.map((o) => (o as HTMLOptionElement).value))
    await expect.poll(async () => (await offered())[0]).toBe('demoJobHandler') // most jobs of the group have it
    expect(await offered()).toContain('sleepingJobHandler')
    await p.get('editor-handler').fill('demoJobHandler')
    await p.get('editor-cron').fill('0 0/5 * * * ?')
    await expect.poll(() => p.get('editor-next').locator('li').count()).toBe(10)
    // All else is closed, and says what is set.
    const said = (section: string) => p.get('editor').locator(`[data-section="${section}"] [data-test="section-said"]`)
    expect(await said('fail').textContent()).toBe(p.w('editor.nothingSet'))
    expect(await p.get('editor-author').isVisible()).toBe(false)
    await openSection(p, 'fail')
    await p.get('editor').locator('[data-field="executorTimeout"] input').fill('ninety')
    await p.click(p.get('editor').locator('[data-section="fail"] summary'))
    await p.click(p.get('editor-save')) // to what is wrong, in a section that is closed
    await p.see(p.get('editor').locator('[data-field="executorTimeout"] [role=alert]'))
    await p.get('editor').locator('[data-field="executorTimeout"] input').fill('90')
    expect(await said('fail').textContent()).toContain('90')
    await openSection(p, 'told')
    await p.get('editor-author').fill('ann')
    await p.click(p.get('editor-save'))
    await p.see('made in a browser')
    const answer = await p.context.request.get(`${p.url}/api/v1/jobs?name=made%20in%20a%20browser`)
    const { items } = (await answer.json()) as { items: { scheduleConf: string; executorHandler: string }[] }
    expect(items.map((j) => [j.scheduleConf, j.executorHandler])).toEqual([['0 0/5 * * * ?', 'demoJobHandler']])
  }))

test('add a job that the filters hide', () =>
  doTask('add a job that the filters hide', { user: 'admin' }, async (p) => {
    await p.go('/jobs?text=order-sync')
    const forms = word('jobs.matching', { n: 1 }).split(' | ')
    await p.see(p.get('matching').filter({ hasText: forms[1] ?? forms[0] }))
    await p.click(p.get('add-job'))
    await p.get('editor-name').fill('hidden by filters')
    await p.click(p.get('editor-group'))
    await p.click(p.page.getByRole('option', { name: stage.group.appname }))
    await p.get('editor-handler').fill('demoJobHandler')
    await p.get('editor-cron').fill('0 0/5 * * * ?')
    await p.click(p.get('editor-save'))
    await p.click(p.get('added-hidden').getByRole('link'))
    await p.see(p.page.getByRole('heading', { name: 'hidden by filters' }))
  }))

test('edit a schedule', () =>
  doTask('edit a schedule', { user: 'admin' }, async (p) => {
    const id = stage.jobs.edited!
    await p.go(`/jobs?text=price-import`)
    await p.click(row(p, id).locator('[data-test="row-edit"]'))
    await p.get('editor-cron').fill('0 0 25 * * ?')
    await p.click(p.get('editor-save'))
    await p.see(p.get('editor').locator('[role=alert], .el-form-item__error'))
    expect((await getJob(p, id)).scheduleConf).toBe('0 0 3 * * ?')
    p.clicks -= 1
    await p.get('editor-cron').fill('0 15 3 * * ?')
    await p.click(p.get('editor-save'))
    await p.get('editor').waitFor({ state: 'hidden' })
    expect((await getJob(p, id)).scheduleConf).toBe('0 15 3 * * ?')
    await p.see('0 15 3 * * ?')
  }))

test('copy a job', () =>
  doTask('copy a job', { user: 'admin' }, async (p) => {
    await p.go('/jobs?text=nightly-close')
    await p.click(row(p, stage.jobs.stopped!).locator('[data-test="row-more"]'))
    await p.click(p.get('row-copy').last())
    await p.see(p.get('editor'))
    expect(await p.get('editor-cron').inputValue()).toBe('0 30 2 * * ?')
    await p.get('editor-name').fill('nightly-copy')
    await p.click(p.get('editor-save'))
    await p.get('editor').waitFor({ state: 'hidden' })
    const answer = await p.context.request.get(`${p.url}/api/v1/jobs?name=nightly-copy`)
    const { items } = (await answer.json()) as { items: { scheduleConf: string; running: boolean }[] }
    expect(items.map((j) => [j.scheduleConf, j.running])).toEqual([['0 30 2 * * ?', false]])
  }))

test('stop and start twenty jobs', () =>
  doTask('stop and start twenty jobs', { user: 'admin' }, async (p) => {
    const running = async (): Promise<number> => {
      const answer = await p.context.request.get(`${p.url}/api/v1/jobs?text=batch&running=true&count=true&limit=1`)
      return ((await answer.json()) as { total: number }).total
    }
    await p.go('/jobs?text=batch')
    await p.see(p.get('job-row').filter({ hasText: 'batch 24' }))
    await p.click(p.get('select-all'))
    await p.click(p.get('batch-stop'))
    await p.see(p.get('batch-count').filter({ hasText: '24' }))
    await p.click(p.get('batch-go'))
    await p.see(p.get('batch-result').filter({ hasText: '24' }))
    expect(await running()).toBe(0)
    await p.press('Escape')
    await p.click(p.get('select-all'))
    await p.click(p.get('batch-start'))
    await p.see(p.get('batch-count').filter({ hasText: '24' }))
    await p.click(p.get('batch-go'))
    await expect.poll(running).toBe(24)
  }))

test('tags come and go for many jobs', () =>
  doTask('tag many jobs', { user: 'admin' }, async (p) => {
    const tagged = async (tag: string): Promise<number> => {
      const answer = await p.context.request.get(`${p.url}/api/v1/jobs?tag=${tag}&count=true&limit=1`)
      return ((await answer.json()) as { total: number }).total
    }
    const edit = async (fields: Record<string, string>): Promise<void> => {
      await p.go('/jobs?text=batch')
      await p.see(p.get('job-row').filter({ hasText: 'batch 24' }))
      await p.click(p.get('select-all'))
      await p.click(p.get('batch-edit'))
      for (const [name, tags] of Object.entries(fields)) await p.get(`batch-value-${name}`).fill(tags)
      await p.click(p.get('batch-next'))
      await p.click(p.get('batch-go'))
      await p.see(p.get('batch-result').filter({ hasText: '24' }))
    }
    await edit({ addTags: 'night, eu' })
    expect([await tagged('night'), await tagged('eu')]).toEqual([24, 24])
    await edit({ addTags: 'us', removeTags: 'eu' })
    expect([await tagged('night'), await tagged('eu'), await tagged('us')]).toEqual([24, 0, 24])
    await edit({ removeTags: 'night, us' })
    expect([await tagged('night'), await tagged('us')]).toEqual([0, 0])
  }))

test('the jobs that fail most come first, also for who gets the link', () =>
  doTask('sort jobs by failures', { user: 'admin' }, async (p) => {
    await p.go('/jobs')
    await p.click(p.get('sort-failures'))
    await expect.poll(() => p.page.url()).toContain('sort=failures')
    const first = p.get('job-row').first()
    await expect.poll(() => first.getAttribute('data-id')).toBe(String(stage.jobs.failing))
    await p.see(first.locator('[data-test="row-failures"]'))
    const shared = p.page.url().replace(p.url, '')
    const other = await Person.arrive({ user: 'groupie' })
    await other.go(shared)
    await expect.poll(() => other.get('job-row').first().getAttribute('data-id')).toBe(String(stage.jobs.failing))
    await other.leave()
    await p.click(first.locator('[data-test="row-failures"]'))
    await p.see(p.get('run-row'))
    expect(p.page.url()).toContain(`jobId=${stage.jobs.failing}`)
  }))

test('export and import', () =>
  doTask('export and import', { user: 'admin' }, async (p) => {
    await p.go('/jobs?text=two-editors')
    await p.click(row(p, stage.jobs.shared!).locator('[data-test="row-select"]'))
    const download = p.page.waitForEvent('download')
    await p.click(p.get('batch-export'))
    const path = await (await download).path()
    const text = readFileSync(path, 'utf8')
    expect(text).toContain('two-editors')
    await p.go('/jobs')
    await p.click(p.get('import-jobs'))
    const changed = text.replaceAll('two-editors', 'from a file')
    await p.get('import-file').setInputFiles({ name: 'jobs.json', mimeType: 'application/json', buffer: Buffer.from(changed) })
    await p.see(p.get('import-diff').getByText('from a file'))
    await p.click(p.get('import-go'))
    await p.see(p.get('import-result'))
    const answer = await p.context.request.get(`${p.url}/api/v1/jobs?name=from%20a%20file`)
    expect(((await answer.json()) as { items: unknown[] }).items).toHaveLength(1)
  }))

test('see which node owns a job', () =>
  doTask('see which node owns a job', { user: 'admin' }, async (p) => {
    await p.go('/jobs')
    await findJob(p, 'order-sync')
    await p.click(row(p, stage.jobs.steady!).getByRole('link', { name: 'order-sync' }))
    await p.click(p.get('tab-settings'))
    await p.see(p.get('job-owner').filter({ hasText: /node-[ab]/ }))
  }))
