// SPDX-License-Identifier: MIT
// Logins by a provider, as test_logins_in_a_browser.py has started one: its own pages are part of the way.
import { afterAll, expect, test } from 'vitest'
import { findViolations, findWide } from '../look'
import { closeBrowser, doTask, type Person } from '../person'
import { stage } from '../stage'

afterAll(closeBrowser)

/** On the pages of the provider, which asks for a name, and whether that console may know it. */
async function passProvider(p: Person, name: string): Promise<void> {
  await p.page.waitForURL(`${stage.provider}/**`)
  await p.page.locator('input[name=login]').fill(name)
  await p.page.locator('input[name=password]').fill('any')
  await p.page.locator('button[type=submit]').click()
  await p.page.locator('input[name=prompt][value=consent]').waitFor({ state: 'attached' })
  await p.page.locator('button[type=submit]').click()
}

test('log in by the provider, to the page that was asked for', () =>
  doTask('log in by a provider', {}, async (p) => {
    await p.go('/jobs?text=x')
    await p.click(p.get('login-outside'))
    await passProvider(p, 'ann')
    await p.see(p.get('rail-jobs'))
    expect(new URL(p.page.url()).pathname).toMatch(/\/jobs$/)
    expect(new URL(p.page.url()).search).toBe('?text=x')
    await p.go('/account')
    await p.see(p.w('people.users.sourceNote', { source: 'OpenID Connect' }))
    await p.go('/users')
    await p.see(p.w('people.users.source', { source: 'OpenID Connect' }))
    await p.click(p.get('account'))
    await p.click(p.get('account-logout'))
    await p.page.waitForURL(`${stage.provider}/**`)
    await p.page.locator('button[name=logout]').click()
    await p.page.waitForURL(`${p.url}/login`)
    await p.see(p.get('login-outside'))
  }))

for (const theme of ['light', 'dark'] as const)
  test(`who comes from outside is changed there alone: ${theme}`, () =>
    doTask(`users from outside (${theme})`, { theme }, async (p) => {
      await p.go('/users')
      await p.click(p.get('login-outside'))
      await passProvider(p, 'ann')
      const row = p.get('user-row').filter({ hasText: p.w('people.users.source', { source: 'OpenID Connect' }) })
      await p.see(row)
      const edit = row.getByRole('button', { name: p.w('common.edit') })
      expect(await edit.getAttribute('aria-disabled')).toBe('true')
      expect(await edit.getAttribute('title')).toContain(p.w('people.users.sourceNote', { source: 'OpenID Connect' }))
      expect(await findViolations(p)).toEqual([])
      await p.go('/account')
      await p.see(p.w('people.users.sourceNote', { source: 'OpenID Connect' }))
      expect(await p.page.locator('input[type=password]').count()).toBe(0) // it has no password here
      expect(await findViolations(p)).toEqual([])
      await p.go('/settings?text=shardwheel.oidc')
      await p.see('shardwheel.oidc.issuer')
      expect(await findViolations(p)).toEqual([])
      await p.go('/settings?text=shardwheel.login.mapping')
      await p.see('ops -> admin')
    }))

test('somebody without a group is told so', () =>
  doTask('refused by the mapping', {}, async (p) => {
    await p.go('/')
    await p.click(p.get('login-outside'))
    await passProvider(p, 'eve')
    await p.see(p.w('login.refused.nobody'))
    await p.see(p.page.locator('input[name=username]'))
  }))

test('words of an address are not shown', () =>
  doTask('words of strangers', {}, async (p) => {
    await p.go('/login?refused=call-555-1234')
    await p.see(p.w('login.refused.broken'))
    expect(await p.page.getByText('555').count()).toBe(0)
  }))

for (const theme of ['light', 'dark'] as const)
  for (const width of [1280, 380])
    test(`the login page has no faults: ${theme}, ${width}`, () =>
      doTask(`login page ${theme} ${width}`, { theme, width }, async (p) => {
        await p.go('/login?refused=away')
        await p.see(p.get('login-outside'))
        await p.see(p.get('login-refused'))
        expect(await findViolations(p)).toEqual([])
        expect(await p.page.evaluate(findWide)).toEqual([])
      }))

test('a session that has ended goes on from another tab', () =>
  doTask('ended session', {}, async (p) => {
    await p.go('/')
    await p.click(p.get('login-outside'))
    await passProvider(p, 'ann')
    await p.see(p.get('rail-jobs'))
    await p.go('/jobs')
    await p.see(p.get('rail-jobs'))
    const kept = (await p.context.cookies()).filter((c) => c.name === 'xxl_job_login_token')
    await p.context.clearCookies({ name: 'xxl_job_login_token' })
    await p.get('rail-runs').dispatchEvent('click') // the dialog may be over it already
    await p.see(p.w('login.aside'))
    expect(await p.page.locator('.el-dialog [data-test=login-outside]').getAttribute('target')).toBe('_blank')
    await p.context.addCookies(kept) // what the other tab does
    await p.page.evaluate(() => window.dispatchEvent(new Event('focus')))
    await expect.poll(() => p.page.getByText(p.w('login.aside')).isVisible()).toBe(false)
  }))
