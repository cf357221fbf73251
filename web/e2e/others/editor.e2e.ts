// SPDX-License-Identifier: MIT
// The editor of a job: what two changed, edits that a slip does not lose, expressions by keys alone.
import { afterAll, expect, test } from 'vitest'
import { closeBrowser, doTask, type Person } from '../person'
import { getJob, openSection, row } from '../rows'
import { stage } from '../stage'

afterAll(closeBrowser)

async function openEditor(p: Person, id: number): Promise<void> {
  await p.go('/jobs?text=two-editors')
  await p.click(row(p, id).locator('[data-test="row-edit"]'))
  await p.see(p.get('editor-cron'))
}

async function patch(p: Person, id: number, data: object): Promise<void> {
  const answer = await p.context.request.patch(`${p.url}/api/v1/jobs/${id}`, { data })
  expect(answer.status()).toBe(200)
}

test('what both have changed is chosen setting by setting', () =>
  doTask('two people edit the same setting', { user: 'admin' }, async (p) => {
    const id = stage.jobs.shared!
    await openEditor(p, id)
    await p.get('editor-name').fill('two-editors mine')
    await openSection(p, 'fail')
    await p.get('editor').locator('[data-field="executorTimeout"] input').fill('90')
    await patch(p, id, { executorTimeout: 60, name: 'two-editors theirs', author: 'bob' })
    await p.click(p.get('editor-save'))
    const notice = p.get('editor-theirs')
    await p.see(notice)
    expect((await getJob(p, id)).name).toBe('two-editors theirs')
    await p.click(notice.locator('[data-field="executorTimeout"] [data-test="take-theirs"]'))
    await p.click(p.get('accept-theirs'))
    await notice.waitFor({ state: 'hidden' })
    expect(await p.get('editor-author').inputValue()).toBe('bob')
    await p.click(p.get('editor-save'))
    await p.get('editor').waitFor({ state: 'hidden' })
    const { name, executorTimeout } = await getJob(p, id)
    expect([name, executorTimeout]).toEqual(['two-editors mine', 60])
    await patch(p, id, { name: 'two-editors' })
  }))

test('a slip does not lose edits', () =>
  doTask('leave an edit', { user: 'admin' }, async (p) => {
    const id = stage.jobs.shared!
    await p.go('/jobs?text=two-editors')
    await p.see(row(p, id))
    await p.click(p.get('rail-runs'))
    await p.click(p.get('rail-jobs')) // with the filter that was left
    await p.click(row(p, id).locator('[data-test="row-edit"]'))
    await p.get('editor-param').fill('not saved')
    await p.press('Escape')
    await p.click(p.button(p.w('common.stay')))
    expect(await p.get('editor-param').inputValue()).toBe('not saved')
    await p.page.evaluate(() => history.back())
    await p.click(p.button(p.w('common.leave')))
    await p.get('editor').waitFor({ state: 'hidden' })
    expect(await getJob(p, id)).not.toMatchObject({ executorParam: 'not saved' })
  }))

test('an expression is built by keys alone', () =>
  doTask('build an expression', { user: 'admin' }, async (p) => {
    await openEditor(p, stage.jobs.shared!)
    await p.get('editor-cron').fill('0 30 2 * * ?')
    await p.get('cron-open').focus()
    await p.press('Enter')
    const tab = (name: string) => p.get(`cron-${name}`)
    expect(await tab('hour').locator('code').textContent()).toBe('2')
    await tab('minute').focus()
    for (let i = 0; i < 4; i++) await p.press('ArrowRight')
    expect(await tab('weekday').getAttribute('aria-selected')).toBe('true')
    await p.get('cron-kind-every').focus()
    await p.get('cron-kind-list').press('Space')
    await p.get('editor').locator('[data-value="6"]').press('Space')
    expect(await p.get('editor-cron').inputValue()).toBe('0 30 2 ? * MON,FRI')
    await expect.poll(() => p.get('editor-next').locator('li').count()).toBe(10)
    await p.press('Escape')
    await p.click(p.button(p.w('common.leave')))
    await p.get('editor').waitFor({ state: 'hidden' })
  }))

test('a job that is deleted while it is edited is made anew only by who asks for it', () =>
  doTask('edit a deleted job', { user: 'admin' }, async (p) => {
    const made = await p.context.request.post(`${p.url}/api/v1/jobs`, {
      data: {
        jobGroup: stage.group.id,
        name: 'soon-gone',
        author: 'ann',
        glueType: 'BEAN',
        executorHandler: 'demoJobHandler',
        scheduleType: 'NONE',
        scheduleConf: '',
      },
    })
    expect(made.status(), await made.text()).toBe(201)
    const { id } = (await made.json()) as { id: number }
    const named = async () => {
      const found = await p.context.request.get(`${p.url}/api/v1/jobs?text=soon-gone`)
      return ((await found.json()) as { items: { name: string; executorParam: string | null }[] }).items.map((j) => [
        j.name,
        j.executorParam,
      ])
    }
    await p.go('/jobs?text=soon-gone')
    await p.click(row(p, id).locator('[data-test="row-edit"]'))
    await p.get('editor-param').fill('typed')
    expect((await p.context.request.delete(`${p.url}/api/v1/jobs/${id}`)).ok()).toBe(true)
    await p.click(p.get('editor-save'))
    await p.see(p.get('editor').getByText(p.w('editor.changed.removed')))
    expect(await named()).toEqual([])
    await p.click(p.get('editor-as-new'))
    await p.see(p.get('editor').getByText(p.w('editor.title.new')))
    await p.click(p.get('editor-save'))
    await p.get('editor').waitFor({ state: 'hidden' })
    expect(await named()).toEqual([['soon-gone', 'typed']])
    // What is known of the first one is shown; of one that never was there is nothing.
    await p.go(`/jobs/${id}`)
    await p.see(p.get('job-gone').getByText(p.w('job.isGone')))
    await p.see(p.get('tab-history'))
    await p.go('/jobs/99999')
    await p.see(p.get('job-gone').getByText(p.w('job.neverWas', { id: 99999 })))
    expect(await p.get('tab-history').count()).toBe(0)
  }))

test('who has one group need not choose it', () =>
  doTask('a new job of the only group', { user: 'groupie' }, async (p) => {
    await p.go('/jobs')
    await p.click(p.get('add-job'))
    await p.see(p.get('editor-group').getByText(stage.group.appname))
  }))
